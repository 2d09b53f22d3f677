/* verdicts: the program's verdict on many files, for the test that compares the page with it. The
 * standard input holds the files, each after its size (4 bytes, little-endian). The output has a
 * line for each: "ok", or the message. A file is read and summarised, as every command does first.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

static void print_verdict(const unsigned char *bytes, size_t n_bytes) {
    char path[32];
    char prefix[64];
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_error error = {""};
    int file = memfd_create("input", 0);
    if (file < 0 || write(file, bytes, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_status status = tide_snapshot_load(path, NULL, &snapshot, &error);
    if (status == TIDE_OK) {
        status = tide_summary_create(snapshot, &summary, &error);
    }
    snprintf(prefix, sizeof(prefix), "cannot read '%s': ", path);
    bool is_prefixed = strncmp(error.message, prefix, strlen(prefix)) == 0;
    puts(status == TIDE_OK ? "ok" : error.message + (is_prefixed ? strlen(prefix) : 0));
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    close(file);
}

int main(void) {
    unsigned char length[4];
    while (fread(length, 1, sizeof(length), stdin) == sizeof(length)) {
        size_t n_bytes =
            length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        unsigned char *bytes = malloc(n_bytes + 1);
        if (bytes == NULL || fread(bytes, 1, n_bytes, stdin) != n_bytes) {
            return 1;
        }
        print_verdict(bytes, n_bytes);
        free(bytes);
    }
    return 0;
}
