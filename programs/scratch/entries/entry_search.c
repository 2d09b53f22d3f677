/* entry_search.c - glob, through the C library's hook for other folder functions. */
#define _GNU_SOURCE /* GLOB_ALTDIRFUNC, struct stat64 */
#include <dirent.h>
#include <glob.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/state.h"

static void close_folder(void *folder) {
    (void)closedir(folder);
}
static struct dirent64 *read_folder64(void *folder) {
    return readdir64(folder);
}
static void *open_folder(const char *path) {
    return opendir(path);
}

TIDE_SCRATCH_EXPORT int glob64(const char *pattern, int flags, int (*failed)(const char *, int),
                               glob64_t *found) {
    static int (*next)(const char *, int, int (*)(const char *, int), glob64_t *);
    TIDE_SCRATCH_NEXT(next, "glob64");
    bool is_changed = tide_scratch_has_written() || tide_scratch_state_get()->card != NULL;
    if (is_changed && (flags & GLOB_ALTDIRFUNC) == 0) {
        flags |= GLOB_ALTDIRFUNC;
        found->gl_closedir = close_folder;
        found->gl_readdir = read_folder64;
        found->gl_opendir = open_folder;
        found->gl_lstat = lstat64;
        found->gl_stat = stat64;
    }
    return next(pattern, flags, failed, found);
}
/* On x86-64 the structs with and without 64 in their names are the same. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
    __attribute__((alias("glob64"), visibility("default")));
