#include "snapshot/ranks/digests.h"

#include <inttypes.h>
#include <string.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/ranks/digest_reader_internal.h"

enum { WORD_BYTES = 32 };

static const char LIST[] = "tidemark-ranks";

/* What takes the digests of a list. */
typedef struct list {
    const tide_hostmem *mem;       /* borrowed */
    const tide_digests_sink *sink; /* borrowed */
} list;

static void read_format(tide_digest_reader *in, void *to) {
    char word[WORD_BYTES];
    size_t at = in->json.at;
    (void)to;
    if (strcmp(tide_json_get_short_text(&in->json, word, sizeof(word)), LIST) != 0) {
        tide_json_fail(&in->json, TIDE_FORMAT, at, "this is not a list of digests");
    }
}

static void read_version(tide_digest_reader *in, void *to) {
    size_t at = in->json.at;
    (void)to;
    int64_t version = tide_json_get_integer(&in->json, 1, INT64_MAX);
    if (version > TIDE_DIGESTS_VERSION) {
        tide_json_fail(&in->json, TIDE_UNSUPPORTED, at,
                       "the list has version %" PRId64 ", this tidemark reads up to %d", version,
                       (int)TIDE_DIGESTS_VERSION);
    }
}

static void read_digest(tide_digest_reader *in, const tide_digests_sink *sink) {
    tide_digest digest;
    in->limit_at = in->json.at + TIDE_DIGEST_READ_BYTES;
    tide_digest_read_whole(in, &digest);
    if (in->json.at > in->limit_at) {
        tide_digest_fail_length(in);
    }
    if (tide_json_status(&in->json) == TIDE_OK) {
        tide_status status = sink->take(sink->ctx, &digest);
        if (status != TIDE_OK) {
            tide_json_fail(&in->json, status, in->json.at, "no memory for this digest");
        }
    }
}

static void read_digests(tide_digest_reader *in, void *to) {
    const list *of = to;
    size_t n = 0;
    tide_json_enter_array(&in->json);
    while (tide_json_next_item(&in->json)) {
        tide_arena arena;
        if (n++ == TIDE_DIGESTS_MOST) {
            tide_json_fail(&in->json, TIDE_LIMIT, in->json.at, "more than the limit of %d of them",
                           (int)TIDE_DIGESTS_MOST);
            return;
        }
        tide_arena_init(&arena, of->mem);
        in->arena = &arena;
        read_digest(in, of->sink);
        tide_arena_fini(&arena);
    }
}

/* Its writer is viewer/ranks_report.c. */
static const tide_digest_readable_key KEYS[] = {{"format", 0, false, 0, true, read_format},
                                                {"version", 0, false, 0, true, read_version},
                                                {"digests", 0, false, 0, true, read_digests}};
static const tide_digest_readable READABLE = {KEYS, sizeof(KEYS) / sizeof(KEYS[0])};

static tide_status load_list(const char *path, const tide_hostmem *mem,
                             const tide_digests_sink *sink, tide_error *error) {
    tide_gzip_reader *file = NULL;
    tide_digest_reader in = {.arena = NULL};
    TIDE_TRY(tide_gzip_reader_open(path, mem, TIDE_DIGESTS_BYTES, &file, error));
    const tide_source source = {.read = tide_gzip_reader_read, .ctx = file};
    tide_json_open(&in.json, &source, mem, error);
    tide_digest_read_object(&in, &READABLE, &(list){mem, sink});
    tide_json_expect_end(&in.json);
    tide_status status = tide_json_status(&in.json);
    tide_json_close(&in.json);
    tide_gzip_reader_close(file);
    if (status != TIDE_OK) {
        tide_digest_name_file(error, path);
    }
    return status;
}

static tide_status load_digest(const char *path, const tide_hostmem *mem,
                               const tide_digests_sink *sink, tide_error *error) {
    tide_arena arena;
    tide_digest *digest = NULL;
    tide_arena_init(&arena, mem);
    tide_status status = tide_digest_load(path, &arena, &digest, error);
    if (status == TIDE_OK) {
        status = sink->take(sink->ctx, digest);
    }
    tide_arena_fini(&arena);
    return status;
}

tide_status tide_digests_load(const char *path, const tide_hostmem *mem,
                              const tide_digests_sink *sink, tide_error *error) {
    char word[WORD_BYTES];
    TIDE_TRY(tide_digest_format(path, mem, word, sizeof(word), error));
    return strcmp(word, LIST) == 0 ? load_list(path, mem, sink, error)
                                   : load_digest(path, mem, sink, error);
}
