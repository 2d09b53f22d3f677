/* Joins the parts of a sweep. What comes out does not depend on the order of the files. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/sweep/internal.h"
#include "common/plural.h"

/* ---- the files ---- */

/* The files that the operands name. */
typedef struct file_list {
    char **paths; /* owned, and so is each of them */
    size_t n;
    size_t capacity; /* of paths */
} file_list;

static void file_list_fini(file_list *files) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < files->n; i++) {
        mem->release(mem->ctx, files->paths[i]);
    }
    mem->release(mem->ctx, files->paths);
}

static tide_status add_path(file_list *files, const char *path, tide_error *error) {
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
static tide_status add_folder(file_list *files, const char *folder, tide_error *error) {
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

static tide_status list_files(const char *const *paths, size_t n_paths, file_list *ret,
                              tide_error *error) {
    for (size_t i = 0; i < n_paths; i++) {
        struct stat there;
        bool is_folder = stat(paths[i], &there) == 0 && S_ISDIR(there.st_mode);
        TIDE_TRY(is_folder ? add_folder(ret, paths[i], error) : add_path(ret, paths[i], error));
    }
    return TIDE_OK;
}

/* ---- the rows ---- */

/* A merge that goes on. */
typedef struct merger {
    tide_sweep *into;   /* borrowed */
    const char *first;  /* borrowed: the file whose grid it is */
    const char **paths; /* owned, n_cells: the file that each row comes from; NULL: no row yet */
    size_t n_again;     /* rows that were left out because their cell had an equal one */
} merger;

/* Whether the new row of a cell is kept instead of the one that is there; one rule for any order of
 * both. A row that failed gives way to one that did not, and an earlier failure to a later one; of
 * two that agree the earlier one stays. */
static bool is_preferred(const tide_sweep_row *row, const tide_sweep_row *there) {
    bool has_failed = tide_sweep_is_failed(row);
    if (has_failed != tide_sweep_is_failed(there)) {
        return !has_failed;
    }
    int64_t begin_us = row->result.started_unix_us;
    int64_t other_us = there->result.started_unix_us;
    if (begin_us != other_us) {
        return has_failed ? begin_us > other_us : begin_us < other_us;
    }
    if (row->result.host_peak_bytes != there->result.host_peak_bytes) {
        return row->result.host_peak_bytes < there->result.host_peak_bytes;
    }
    return strcmp(row->result.environment.host.name, there->result.environment.host.name) < 0;
}

/* Takes the row out of `from`, if it is kept. */
static tide_status move_row(merger *to, tide_sweep *from, size_t cell, const char *path,
                            tide_error *error) {
    tide_sweep *into = to->into;
    tide_sweep_row *row = from->rows[cell];
    tide_sweep_row *there = into->rows[cell];
    if (there != NULL) {
        bool some_failed = tide_sweep_is_failed(row) || tide_sweep_is_failed(there);
        if (!some_failed && !tide_sweep_row_agrees(row, there)) {
            return tide_fail(error, TIDE_INVALID,
                             "%s: the cell %s has another row in %s, with other figures: leave one "
                             "of the files out",
                             path, row->name, to->paths[cell]);
        }
        to->n_again++;
        if (!is_preferred(row, there)) {
            return TIDE_OK;
        }
        into->rows[cell] = NULL;
        into->n_rows--;
        tide_sweep_row_destroy(there);
    }
    TIDE_TRY(tide_sweep_add(into, row, error));
    from->rows[cell] = NULL;
    from->n_rows--;
    to->paths[cell] = path;
    return TIDE_OK;
}

/* The names of all cells, which not every file has. */
static tide_status take_names(tide_sweep *into, const tide_sweep *from, tide_error *error) {
    if (tide_sweep_has_names(into) || !tide_sweep_has_names(from)) {
        return TIDE_OK;
    }
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(from->header, "cells");
    return tide_sweep_set_names(into, cJSON_Duplicate(names, true), error);
}

/* A sweep of the whole grid with the header of the first file. */
static tide_status begin(merger *to, const tide_sweep *part, tide_error *error) {
    cJSON *header = cJSON_Duplicate(part->header, true);
    cJSON *shard = cJSON_GetObjectItemCaseSensitive(header, "shard");
    cJSON *shards = cJSON_GetObjectItemCaseSensitive(header, "shards");
    if (shard == NULL || shards == NULL) {
        cJSON_Delete(header);
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    (void)cJSON_SetNumberValue(shard, 1);
    (void)cJSON_SetNumberValue(shards, 1);
    TIDE_TRY(tide_sweep_init(to->into, header, error));
    to->paths = tide_hostmem_zeroed(tide_hostmem_default(), part->n_cells, sizeof(*to->paths));
    return TIDE_OK;
}

static tide_status add_rows(merger *to, tide_sweep *part, const char *path, tide_error *error) {
    if (to->paths == NULL) {
        to->first = path;
        TIDE_TRY(begin(to, part, error));
    }
    if (to->paths == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the grid");
    }
    tide_status status = tide_sweep_check_same(to->into, part, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "%s is of another grid than %s", path, to->first);
        return status;
    }
    TIDE_TRY(take_names(to->into, part, error));
    for (size_t i = 0; i < part->n_cells; i++) {
        if (part->rows[i] != NULL) {
            TIDE_TRY(move_row(to, part, i, path, error));
        }
    }
    return TIDE_OK;
}

static tide_status add_part(merger *to, const char *path, tide_error *error) {
    tide_sweep part;
    size_t n_good_bytes = 0;
    bool was_cut = false;
    tide_status status = tide_sweep_read(path, &part, &n_good_bytes, &was_cut, error);
    if (status == TIDE_OK && was_cut) {
        tide_cli_note(
            "sweep",
            "%s: the incomplete row at its end is left out, because its writer was interrupted",
            path);
    }
    if (status == TIDE_OK) {
        status = add_rows(to, &part, path, error);
    }
    tide_sweep_fini(&part);
    return status;
}

/* Once all cells have rows, the names of files of single cells are known, so that the joined file
 * is that of a sweep in one process. */
static tide_status complete_names(tide_sweep *sweep, tide_error *error) {
    if (tide_sweep_has_names(sweep) || sweep->n_rows < sweep->n_cells) {
        return TIDE_OK;
    }
    cJSON *names = cJSON_CreateArray();
    for (size_t i = 0; i < sweep->n_cells; i++) {
        (void)cJSON_AddItemToArray(names, cJSON_CreateString(sweep->rows[i]->name));
    }
    return tide_sweep_set_names(sweep, names, error); /* it counts them */
}

tide_status tide_sweep_merge(const char *const *paths, size_t n_paths, tide_sweep *ret_sweep,
                             tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    file_list files = {.paths = NULL};
    merger to = {.into = ret_sweep};
    *ret_sweep = (tide_sweep){.header = NULL};
    tide_status status = list_files(paths, n_paths, &files, error);
    for (size_t i = 0; status == TIDE_OK && i < files.n; i++) {
        status = add_part(&to, files.paths[i], error);
    }
    if (status == TIDE_OK) {
        status = complete_names(ret_sweep, error);
    }
    if (status == TIDE_OK && to.n_again > 0) {
        tide_cli_note("sweep", "%zu %s left out, because another row of %s is kept", to.n_again,
                      tide_plural(to.n_again, "row is", "rows are"),
                      tide_plural(to.n_again, "its cell", "their cells"));
    }
    mem->release(mem->ctx, to.paths);
    file_list_fini(&files);
    return status;
}
