/* replay.c - runs a fuzz target over files and folders without a fuzzer: seeds, and inputs that
 * once failed. Finding no file at all is a failure.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum { PATH_BYTES = 4096 };

static bool run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return false;
    }
    const long end = ftell(file);
    rewind(file);
    const size_t n_bytes = end > 0 ? (size_t)end : 0;
    uint8_t *data = malloc(n_bytes + 1); /* one byte too many: 0 bytes are also an input */
    const bool is_read = data != NULL && fread(data, 1, n_bytes, file) == n_bytes;
    if (is_read) {
        (void)LLVMFuzzerTestOneInput(data, n_bytes);
    }
    free(data);
    return fclose(file) == 0 && is_read;
}

/* Returns how many files were run, or -1. */
static long run_folder(const char *path) {
    long n_files = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return run_file(path) ? 1 : -1;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char inner[PATH_BYTES];
        (void)snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && !run_file(inner)) {
            (void)fprintf(stderr, "cannot read %s\n", inner);
            (void)closedir(folder);
            return -1;
        }
        n_files += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(folder);
    return n_files;
}

int main(int argc, char **argv) {
    long n_files = 0;
    for (int i = 1; i < argc; i++) {
        const long n = run_folder(argv[i]);
        if (n < 0) {
            (void)fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        n_files += n;
    }
    printf("%ld inputs\n", n_files);
    return n_files > 0 ? 0 : 1;
}
