/* The files that the operands of --merge name. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/sweep/internal.h"

void tide_sweep_paths_fini(tide_sweep_paths *files) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < files->n; i++) {
        mem->release(mem->ctx, files->paths[i]);
    }
    mem->release(mem->ctx, files->paths);
}

static tide_status add_path(tide_sweep_paths *files, const char *path, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    char **grown =
        tide_hostmem_grow(mem, files->paths, &files->capacity, files->n + 1, sizeof(*grown));
    char *copy = tide_hostmem_text(mem, path);
    files->paths = grown != NULL ? grown : files->paths;
    if (grown == NULL || copy == NULL) {
        mem->release(mem->ctx, copy);
        return tide_fail(error, TIDE_NO_MEMORY, "there is no host memory for the names of files");
    }
    files->paths[files->n++] = copy;
    return TIDE_OK;
}

static int by_text(const void *a, const void *b) {
    const char *const *first = a;
    const char *const *second = b;
    return strcmp(*first, *second);
}

/* Adds the files of the folder whose names end in .jsonl, in the order of their names. */
static tide_status add_folder(tide_sweep_paths *files, const char *folder, tide_error *error) {
    static const char END[] = ".jsonl";
    tide_status status = TIDE_OK;
    size_t n_before = files->n;
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return tide_fail(error, TIDE_IO, "%s: %s", folder, strerror(errno));
    }
    const struct dirent *entry = NULL;
    while (status == TIDE_OK && (entry = readdir(entries)) != NULL) {
        char path[TIDE_PATH_BYTES];
        size_t n = strlen(entry->d_name);
        if (n < sizeof(END) || entry->d_name[0] == '.' ||
            strcmp(entry->d_name + n - strlen(END), END) != 0) {
            continue;
        }
        int n_written = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        status = n_written > 0 && n_written < TIDE_PATH_BYTES
                     ? add_path(files, path, error)
                     : tide_fail(error, TIDE_LIMIT, "%s: the path of a file is too long", folder);
    }
    (void)closedir(entries);
    if (status == TIDE_OK && files->n == n_before) {
        status =
            tide_fail(error, TIDE_INVALID, "%s has no files whose names end in %s", folder, END);
    }
    if (status == TIDE_OK && files->paths != NULL) {
        qsort(files->paths + n_before, files->n - n_before, sizeof(*files->paths), by_text);
    }
    return status;
}

tide_status tide_sweep_paths_init(const char *const *paths, size_t n_paths, tide_sweep_paths *ret,
                                  tide_error *error) {
    *ret = (tide_sweep_paths){.paths = NULL};
    for (size_t i = 0; i < n_paths; i++) {
        struct stat there;
        bool is_folder = stat(paths[i], &there) == 0 && S_ISDIR(there.st_mode);
        TIDE_TRY(is_folder ? add_folder(ret, paths[i], error) : add_path(ret, paths[i], error));
    }
    return TIDE_OK;
}
