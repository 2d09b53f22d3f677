/* folder.c - the files of an export in their folder. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/output_file.h"
#include "snapshot/export/parquet/tables_internal.h"

enum { PATH_BYTES = TIDE_TEMPORARY_PATH_BYTES, END_BYTES = 4096 };

/* ---- names ---- */

static tide_status take_path(char ret_path[PATH_BYTES], const char *path, tide_error *error) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    if (n == 0) {
        return tide_fail(error, TIDE_INVALID, "the folder to write has no name");
    }
    if (n + 32 >= PATH_BYTES) {
        return tide_fail(error, TIDE_INVALID, "the name of the folder is too long");
    }
    memcpy(ret_path, path, n);
    ret_path[n] = '\0';
    return TIDE_OK;
}

static void name_table(char ret_path[PATH_BYTES], const char *folder, tide_pq_table table) {
    (void)snprintf(ret_path, PATH_BYTES, "%.*s/%s.parquet", PATH_BYTES - 32, folder,
                   tide_pq_schema(table)->table);
}

static bool is_folder(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

/* ---- older files ---- */

/* Whether tidemark wrote the file, by its footer, which is at the end. */
static bool is_own(const char *path) {
    static const char WORD[] = "tidemark-parquet";
    char end[END_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    size_t n = 0;
    if (fseek(file, -END_BYTES, SEEK_END) == 0 || fseek(file, 0, SEEK_SET) == 0) {
        n = fread(end, 1, sizeof(end), file);
    }
    bool was_closed = fclose(file) == 0; /* no loss: it was only read */
    return was_closed && n > 4 && memcmp(end + n - 4, "PAR1", 4) == 0 &&
           memmem(end, n, WORD, sizeof(WORD) - 1) != NULL;
}

tide_status tide_parquet_export_check(const char *folder, tide_error *error) {
    char trimmed[PATH_BYTES];
    char path[PATH_BYTES];
    struct stat there;
    TIDE_TRY(take_path(trimmed, folder, error));
    if (stat(trimmed, &there) == 0 && !S_ISDIR(there.st_mode)) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is a file, and the tables go into a folder: name a folder with -o",
                         trimmed);
    }
    for (int i = 0; i < TIDE_PQ_N_TABLES; i++) {
        name_table(path, trimmed, (tide_pq_table)i);
        if (lstat(path, &there) == 0 && there.st_size > 0 && !is_own(path)) {
            return tide_fail(error, TIDE_INVALID,
                             "%s is there, and tidemark did not write it: name another folder with "
                             "-o, or move the file away",
                             path);
        }
    }
    return TIDE_OK;
}

/* ---- folders ---- */

/* Makes the folder and its parents. Counts the folders made. */
static tide_status make_folders(tide_pq_folder *folder, tide_error *error) {
    char *path = folder->path;
    size_t n = strlen(path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        char held = path[i];
        path[i] = '\0';
        int reason = is_folder(path) || mkdir(path, 0777) != 0 ? errno : 0;
        bool is_there = is_folder(path);
        folder->n_made += is_there && reason == 0 ? 1 : 0;
        if (!is_there) {
            return tide_fail(error, TIDE_IO,
                             "the folder %s cannot be made: %s: choose another place", path,
                             strerror(reason));
        }
        path[i] = held;
    }
    return TIDE_OK;
}

/* Removes the made folders that are empty, from the innermost on. */
static void remove_folders(tide_pq_folder *folder) {
    char path[PATH_BYTES];
    memcpy(path, folder->path, sizeof(path));
    for (size_t n = strlen(path); folder->n_made > 0 && n > 0; folder->n_made--) {
        if (rmdir(path) != 0) {
            return;
        }
        char *slash = strrchr(path, '/');
        n = slash != NULL ? (size_t)(slash - path) : 0;
        path[n] = '\0';
    }
}

/* ---- files ---- */

static void abandon(tide_pq_folder *folder) {
    for (int i = 0; i < TIDE_PQ_N_TABLES; i++) {
        tide_parquet_abandon(folder->files[i]);
        folder->files[i] = NULL;
    }
    remove_folders(folder);
}

tide_status tide_pq_folder_open(tide_pq_folder *folder, const char *path, const tide_hostmem *mem,
                                tide_error *error) {
    *folder = (tide_pq_folder){.n_made = 0};
    TIDE_TRY(take_path(folder->path, path, error));
    TIDE_TRY(tide_parquet_export_check(folder->path, error));
    tide_status status = make_folders(folder, error);
    for (int i = 0; i < TIDE_PQ_N_TABLES && status == TIDE_OK; i++) {
        char name[PATH_BYTES];
        name_table(name, folder->path, (tide_pq_table)i);
        status = tide_parquet_open(name, tide_pq_schema((tide_pq_table)i), mem, &folder->files[i],
                                   error);
    }
    if (status != TIDE_OK) {
        abandon(folder);
    }
    return status;
}

/* Reports the reason of the first write that failed. */
static void tell_failure(tide_pq_folder *folder, tide_error *error) {
    for (int i = 0; i < TIDE_PQ_N_TABLES; i++) {
        if (folder->files[i] != NULL && tide_parquet_has_failed(folder->files[i])) {
            tide_status told = tide_parquet_commit(folder->files[i], error); /* it fails */
            folder->files[i] = NULL;
            (void)told;
            return;
        }
    }
}

tide_status tide_pq_folder_end(tide_pq_folder *folder, tide_status status, tide_error *error) {
    for (int i = 0; i < TIDE_PQ_N_TABLES && status == TIDE_OK; i++) {
        status = tide_parquet_finish(folder->files[i]);
    }
    if (status != TIDE_OK) {
        tell_failure(folder, error);
    }
    if (status == TIDE_OK) { /* a reader of this table finds the others of the same export */
        char last[PATH_BYTES];
        name_table(last, folder->path, TIDE_PQ_DEVICES);
        (void)unlink(last); /* if it cannot be removed, the renaming fails */
    }
    for (int i = 0; i < TIDE_PQ_N_TABLES && status == TIDE_OK; i++) {
        status = tide_parquet_commit(folder->files[i], error);
        folder->files[i] = NULL;
    }
    if (status != TIDE_OK) {
        abandon(folder);
    }
    return status;
}
