/* fuzz_digest.c - reading any bytes as a digest, or a list of digests, yields digests or an error
 * message, and every digest that is read can be made smaller and written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "snapshot/ranks/digests.h"

static void use(tide_digest *digest, tide_arena *arena) {
    const char *text = NULL;
    size_t n_bytes = 0;
    do {
        if (tide_digest_text(digest, arena, &text, &n_bytes) != TIDE_OK || text[0] != '{') {
            abort();
        }
    } while (tide_digest_shrink(digest));
}

static tide_status use_one_of_many(void *ctx, const tide_digest *digest) {
    const char *text = NULL;
    size_t n_bytes = 0;
    if (tide_digest_text(digest, ctx, &text, &n_bytes) != TIDE_OK || text[0] != '{') {
        abort();
    }
    return TIDE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    tide_arena arena;
    tide_digest *digest = NULL;
    tide_error error = {""};
    const int file = memfd_create("input", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_arena_init(&arena, tide_hostmem_default());
    (void)tide_digest_is(path);
    const tide_digests_sink sink = {use_one_of_many, &arena};
    tide_status status = tide_digests_load(path, arena.mem, &sink, &error);
    if (status != TIDE_OK && error.message[0] == '\0') {
        abort();
    }
    error.message[0] = '\0';
    status = tide_digest_load(path, &arena, &digest, &error);
    if (status == TIDE_OK) {
        use(digest, &arena);
    } else if (error.message[0] == '\0') {
        abort();
    }
    tide_arena_fini(&arena);
    (void)close(file);
    return 0;
}
