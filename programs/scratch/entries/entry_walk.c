/* entry_walk.c - ftw and nftw; the C library's would use its own folder functions. */
#define _GNU_SOURCE /* FTW_ACTIONRETVAL */
#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/state.h"

typedef int (*visitor)(const char *, const struct stat64 *, int, struct FTW *);

typedef struct walk {
    visitor visit;
    int flags;
    dev_t device; /* of the first path */
    char path[TIDE_SCRATCH_PATH_BYTES];
} walk;

static int go(walk *w, size_t n, struct FTW at);

/* Visits all entries of the folder w->path, of length n. */
static int enter(walk *w, size_t n, struct FTW at) {
    DIR *folder = opendir(w->path);
    int result = 0;
    for (const struct dirent64 *row = NULL;
         folder != NULL && result == 0 && (row = readdir64(folder)) != NULL;) {
        size_t n_name = strlen(row->d_name);
        bool is_dots = strcmp(row->d_name, ".") == 0 || strcmp(row->d_name, "..") == 0;
        if (is_dots || n + 1 + n_name >= sizeof(w->path)) {
            continue;
        }
        w->path[n] = '/';
        memcpy(w->path + n + 1, row->d_name, n_name + 1);
        result = go(w, n + 1 + n_name, (struct FTW){.base = (int)n + 1, .level = at.level + 1});
        w->path[n] = '\0';
        if (result == FTW_SKIP_SIBLINGS && (w->flags & FTW_ACTIONRETVAL) != 0) {
            result = 0;
            break;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return result;
}

/* Visits the path w->path, of length n, and everything below it. */
static int go(walk *w, size_t n, struct FTW at) {
    struct stat64 status;
    bool follows = (w->flags & FTW_PHYS) == 0;
    int kind = FTW_F;
    if ((follows ? stat64(w->path, &status) : lstat64(w->path, &status)) != 0) {
        kind = follows && lstat64(w->path, &status) == 0 ? FTW_SLN : FTW_NS;
    } else if (S_ISDIR(status.st_mode)) {
        kind = access(w->path, R_OK) != 0 ? FTW_DNR : (w->flags & FTW_DEPTH) != 0 ? FTW_DP : FTW_D;
    } else if (S_ISLNK(status.st_mode)) {
        kind = FTW_SL;
    }
    w->device = at.level == 0 ? status.st_dev : w->device;
    if (kind != FTW_NS && (w->flags & FTW_MOUNT) != 0 && status.st_dev != w->device) {
        return 0;
    }
    int result = kind == FTW_DP ? enter(w, n, at) : 0;
    result = result == 0 ? w->visit(w->path, &status, kind, &at) : result;
    bool skips = result == FTW_SKIP_SUBTREE && (w->flags & FTW_ACTIONRETVAL) != 0;
    return skips ? 0 : result == 0 && kind == FTW_D ? enter(w, n, at) : result;
}

TIDE_SCRATCH_EXPORT int nftw64(const char *path, visitor visit, int n_open, int flags) {
    static int (*next)(const char *, visitor, int, int);
    TIDE_SCRATCH_NEXT(next, "nftw64");
    /* With FTW_CHDIR the C library walks: its paths are relative to the folders it changes to. */
    if (!tide_scratch_has_written() || (flags & FTW_CHDIR) != 0 ||
        strlen(path) >= TIDE_SCRATCH_PATH_BYTES) {
        return next(path, visit, n_open, flags);
    }
    walk w = {.visit = visit, .flags = flags};
    size_t n = strlen(path);
    memcpy(w.path, path, n + 1);
    const char *slash = strrchr(path, '/');
    struct stat64 status;
    if (lstat64(path, &status) != 0) {
        return -1;
    }
    return go(&w, n, (struct FTW){.base = slash != NULL ? (int)(slash - path) + 1 : 0});
}
/* On x86-64 the structs with and without 64 in their names are the same. */
int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *),
         int n_open, int flags) __attribute__((alias("nftw64"), visibility("default")));
