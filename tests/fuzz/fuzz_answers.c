/* fuzz_answers.c - any bytes are answered, read as a snapshot, or refused with a message, as a file
 * that people have (snapshot/kinds).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/kinds/file_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    tide_file_answer answer;
    tide_snapshot *snapshot = NULL;
    bool is_answered = false;
    tide_error error = {""};
    const int file = memfd_create("input", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_file_answer_init(&answer, tide_hostmem_default());
    tide_status status = tide_file_answer_read(path, &answer, &is_answered, &error);
    if (status == TIDE_OK && !is_answered) {
        status = tide_snapshot_load(path, NULL, &snapshot, &error);
    } else if (status == TIDE_OK && answer.n_sentences == 0) {
        abort();
    }
    if (status != TIDE_OK && error.message[0] == '\0') {
        abort();
    }
    tide_snapshot_destroy(snapshot);
    tide_file_answer_fini(&answer);
    (void)close(file);
    return 0;
}
