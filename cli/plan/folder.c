#define _DEFAULT_SOURCE /* mkdtemp */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/plan/internal.h"

/* Whether it holds nothing; false also if it cannot be read. */
static bool is_empty(const char *path) {
    DIR *folder = opendir(path);
    size_t n = 0;
    if (folder == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(folder); /* it was only read */
    return n == 0;
}

static tide_status take_named(tide_plan_folder *folder, const char *output, tide_error *error) {
    int n = snprintf(folder->path, sizeof(folder->path), "%s", output);
    if (n <= 0 || (size_t)n >= sizeof(folder->path)) {
        return tide_fail(error, TIDE_INVALID, "-o '%.64s': no name of a folder", output);
    }
    if (mkdir(output, 0777) == 0) {
        return TIDE_OK;
    }
    if (errno != EEXIST) {
        return tide_fail(error, TIDE_IO, "-o %s: %s", output, strerror(errno));
    }
    return is_empty(output)
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "-o %s: it is there and not an empty folder; name a new one", output);
}

tide_status tide_plan_folder_init(tide_plan_folder *folder, const char *output, tide_error *error) {
    const char *under = getenv("TMPDIR");
    *folder = (tide_plan_folder){.is_own = output == NULL};
    if (output != NULL) {
        return take_named(folder, output, error);
    }
    under = under != NULL && under[0] != '\0' ? under : "/tmp";
    int n = snprintf(folder->path, sizeof(folder->path), "%s/tidemark-plan-XXXXXX", under);
    if (n <= 0 || (size_t)n >= sizeof(folder->path) || mkdtemp(folder->path) == NULL) {
        folder->path[0] = '\0';
        return tide_fail(error, TIDE_IO, "no folder for the snapshots under %s: %s", under,
                         strerror(errno));
    }
    return TIDE_OK;
}

void tide_plan_folder_fini(tide_plan_folder *folder) {
    char path[TIDE_PATH_BYTES + 256];
    DIR *open = folder->is_own && folder->path[0] != '\0' ? opendir(folder->path) : NULL;
    if (open == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder->path, entry->d_name);
        (void)unlink(path); /* "." and ".." are refused, as is anything that is no file */
    }
    (void)closedir(open);
    (void)rmdir(folder->path); /* what is not ours keeps it */
    folder->path[0] = '\0';
}
