/* The files to read, and their digests. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files.h"
#include "cli/load.h"
#include "cli/cli.h"
#include "cli/ranks/internal.h"
#include "common/text/plural.h"
#include "programs/launch/box/box.h"

static tide_status add_path(tide_rank_files *files, const char *path, tide_arena *arena) {
    const tide_hostmem *mem = tide_hostmem_default();
    void *grown =
        tide_hostmem_grow(mem, files->paths, &files->capacity, files->n + 1, sizeof(*files->paths));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    files->paths = grown;
    files->paths[files->n] = tide_arena_text(arena, path);
    return files->paths[files->n++] != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_rank_files_fini(tide_rank_files *files) {
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, files->paths);
}

static bool has_ending(const char *name, const char *const *endings, size_t n) {
    size_t n_name = strlen(name);
    for (size_t i = 0; i < n; i++) {
        size_t n_ending = strlen(endings[i]);
        if (n_name > n_ending && strcmp(name + n_name - n_ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Adds the files of the folder with one of the endings, by name. */
static tide_status add_endings(tide_rank_files *files, const char *folder,
                               const char *const *endings, size_t n, tide_arena *arena) {
    char path[TIDE_PATH_BYTES];
    size_t n_before = files->n;
    tide_status status = TIDE_OK;
    DIR *open = opendir(folder);
    const struct dirent *entry = NULL;
    while (open != NULL && status == TIDE_OK && (entry = readdir(open)) != NULL) {
        int n_path = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (n_path > 0 && n_path < TIDE_PATH_BYTES && has_ending(entry->d_name, endings, n)) {
            status = add_path(files, path, arena);
        }
    }
    if (open != NULL) {
        (void)closedir(open);
    }
    if (files->n > n_before) {
        qsort(files->paths + n_before, files->n - n_before, sizeof(*files->paths), by_text);
    }
    return status;
}

/* Digests and snapshots of the rings that processes of a black box left (docs/guide/black-box.md).
 */
static tide_status recover_rings(const char *folder, tide_error *error) {
    tide_box_folder box;
    TIDE_TRY(tide_box_recover(folder, &box, error));
    if (box.n_running > 0) {
        tide_cli_note("ranks", "%zu %s still running: nothing is known of %s", box.n_running,
                      tide_plural(box.n_running, "process is", "processes are"),
                      tide_plural(box.n_running, "it", "them"));
    }
    if (box.n_elsewhere > 0) {
        tide_cli_note("ranks", "%zu %s not on this machine: %s", box.n_elsewhere,
                      tide_plural(box.n_elsewhere, "ring is", "rings are"), box.elsewhere);
    }
    if (box.n_failed > 0) {
        tide_cli_note("ranks", "%zu %s cannot be recovered: %s", box.n_failed,
                      tide_plural(box.n_failed, "ring", "rings"), box.message);
    }
    return TIDE_OK;
}

static tide_status add_folder(tide_rank_files *files, const char *folder, tide_arena *arena,
                              tide_error *error) {
    static const char *const DIGESTS[] = {".digest.json.gz", ".digest.json"};
    static const char *const OTHERS[] = {".json.gz", ".pickle", ".pkl", ".pickle.gz"};
    size_t n_before = files->n;
    TIDE_TRY(recover_rings(folder, error));
    TIDE_TRY(add_endings(files, folder, DIGESTS, 2, arena));
    if (files->n == n_before) {
        TIDE_TRY(add_endings(files, folder, OTHERS, 4, arena));
    }
    return files->n > n_before
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "'%s' holds neither digests nor snapshots", folder);
}

static tide_status add_list(tide_rank_files *files, const char *path, tide_arena *arena,
                            tide_error *error) {
    char line[TIDE_PATH_BYTES];
    tide_status status = TIDE_OK;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return tide_fail(error, TIDE_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    while (status == TIDE_OK && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        status = line[0] != '\0' ? add_path(files, line, arena) : TIDE_OK;
    }
    (void)fclose(file); /* was only read */
    return status;
}

tide_status tide_rank_files_add(tide_rank_files *files, const char *operand, tide_arena *arena,
                                tide_error *error) {
    struct stat info;
    if (operand[0] == '@') {
        return add_list(files, operand + 1, arena, error);
    }
    if (stat(operand, &info) == 0 && S_ISDIR(info.st_mode)) {
        return add_folder(files, operand, arena, error);
    }
    return add_path(files, operand, arena);
}

tide_status tide_rank_file_read(const char *path, tide_arena *arena, tide_digest **ret_digest,
                                tide_error *error) {
    const tide_digest_source source = {.path = path, .rank = -1};
    tide_snapshot *snapshot = NULL;
    tide_digest *made = NULL;
    tide_arena scratch;
    const char *text = NULL;
    size_t n_bytes = 0;
    if (tide_digest_is(path)) {
        return tide_digest_load(path, arena, ret_digest, error);
    }
    TIDE_TRY(tide_cli_load(path, NULL, &snapshot, error));
    tide_arena_init(&scratch, tide_hostmem_default());
    tide_status status = tide_digest_make(snapshot, &source, &scratch, &made, error);
    if (status == TIDE_OK) {
        status = tide_digest_text(made, &scratch, &text, &n_bytes);
    }
    if (status == TIDE_OK) {
        status = tide_digest_read(text, n_bytes, arena, ret_digest, error);
    }
    tide_arena_fini(&scratch);
    tide_snapshot_destroy(snapshot);
    return status;
}
