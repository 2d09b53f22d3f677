/* entry_listing.c - opendir, readdir and related functions, for folders that have a copy. The C
 * library reads the others.
 */
#define _GNU_SOURCE /* scandirat */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/opening.h"

/* Our object, which programs hold as a DIR. The C library's own begins with a descriptor number,
 * which is never negative, so the magic distinguishes the two. */
enum { MAGIC = -0x7469646d };

typedef struct view {
    int32_t magic;
    int fd;                       /* of the folder or its copy; owned */
    size_t next;                  /* the next entry to return */
    tide_scratch_listing listing; /* owned */
    struct dirent64 row;          /* the last returned entry */
} view;

static view *view_of(DIR *folder) {
    int32_t magic = 0;
    memcpy(&magic, folder, sizeof(magic));
    return magic == MAGIC ? (view *)(void *)folder : NULL;
}

/* Makes the program's view of the descriptor's folder from a listing, which is released on failure,
 * and takes ownership of the descriptor. `result`: of the listing. NULL with errno. */
static DIR *make_view(int fd, int result, tide_scratch_listing *listing) {
    view *v = result == 0 ? calloc(1, sizeof(*v)) : NULL;
    if (result != 0) {
        errno = -result;
        return NULL;
    }
    if (v == NULL) {
        tide_scratch_listing_release(listing);
        return NULL;
    }
    *v = (view){.magic = MAGIC, .fd = fd, .listing = *listing};
    return (DIR *)(void *)v;
}

/* Whether the program's view of the folder differs from the C library's. */
static bool is_ours(const char *path, tide_scratch_place *place) {
    return tide_scratch_has_written() &&
           tide_scratch_look(AT_FDCWD, path, TIDE_SCRATCH_FOLLOW, place) == 0 && !place->is_real &&
           place->has_copy && place->is_folder;
}

/* Whether every folder is as the C library reads it. */
static bool is_plain(void) {
    return !tide_scratch_has_written() && tide_scratch_state_get()->card == NULL;
}

TIDE_SCRATCH_EXPORT DIR *fdopendir(int fd) {
    static DIR *(*next)(int);
    TIDE_SCRATCH_NEXT(next, "fdopendir");
    char path[TIDE_SCRATCH_PATH_BYTES];
    char devices[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_place place;
    tide_scratch_listing listing;
    if (is_plain() || tide_scratch_path_of(fd, path) != 0) {
        return next(fd);
    }
    if (tide_scratch_device_parent(path, devices)) {
        return make_view(fd, tide_scratch_list_devices(path, devices, &listing), &listing);
    }
    return is_ours(path, &place) ? make_view(fd, tide_scratch_list(&place, &listing), &listing)
                                 : next(fd);
}

TIDE_SCRATCH_EXPORT DIR *opendir(const char *path) {
    static DIR *(*next)(const char *);
    TIDE_SCRATCH_NEXT(next, "opendir");
    if (is_plain()) {
        return next(path);
    }
    int fd = (int)tide_scratch_answer(
        tide_scratch_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL && fd >= 0) {
        int reason = errno;
        (void)tide_sys_close(fd);
        errno = reason;
    }
    return folder;
}

static struct dirent64 *next_row(view *v) {
    if (v->next >= v->listing.n_entries) {
        return NULL;
    }
    const tide_scratch_entry *entry = &v->listing.entries[v->next++];
    v->row = (struct dirent64){.d_ino = entry->inode,
                               .d_type = entry->type,
                               .d_off = (off_t)v->next,
                               .d_reclen = sizeof(v->row)};
    size_t n = strnlen(entry->name, sizeof(v->row.d_name) - 1);
    memcpy(v->row.d_name, entry->name, n);
    v->row.d_name[n] = '\0';
    return &v->row;
}

TIDE_SCRATCH_EXPORT struct dirent64 *readdir64(DIR *folder) {
    static struct dirent64 *(*next)(DIR *);
    TIDE_SCRATCH_NEXT(next, "readdir64");
    view *v = view_of(folder);
    return v == NULL ? next(folder) : next_row(v);
}
/* On x86-64 the structs with and without 64 in their names are the same. */
struct dirent *readdir(DIR *folder) __attribute__((alias("readdir64"), visibility("default")));

TIDE_SCRATCH_EXPORT int readdir64_r(DIR *folder, struct dirent64 *row, struct dirent64 **ret_row) {
    static int (*next)(DIR *, struct dirent64 *, struct dirent64 **);
    TIDE_SCRATCH_NEXT(next, "readdir64_r");
    view *v = view_of(folder);
    if (v == NULL) {
        return next(folder, row, ret_row);
    }
    const struct dirent64 *found = next_row(v);
    *ret_row = NULL;
    if (found != NULL) {
        *row = *found;
        *ret_row = row;
    }
    return 0;
}
int readdir_r(DIR *folder, struct dirent *row, struct dirent **ret_row)
    __attribute__((alias("readdir64_r"), visibility("default")));

TIDE_SCRATCH_EXPORT int closedir(DIR *folder) {
    static int (*next)(DIR *);
    TIDE_SCRATCH_NEXT(next, "closedir");
    view *v = view_of(folder);
    if (v == NULL) {
        return next(folder);
    }
    int result = tide_sys_close(v->fd);
    tide_scratch_listing_release(&v->listing);
    free(v);
    return (int)tide_scratch_answer(result);
}

TIDE_SCRATCH_EXPORT int dirfd(DIR *folder) {
    static int (*next)(DIR *);
    TIDE_SCRATCH_NEXT(next, "dirfd");
    const view *v = view_of(folder);
    return v == NULL ? next(folder) : v->fd;
}

TIDE_SCRATCH_EXPORT void rewinddir(DIR *folder) {
    static void (*next)(DIR *);
    TIDE_SCRATCH_NEXT(next, "rewinddir");
    view *v = view_of(folder);
    if (v == NULL) {
        next(folder);
        return;
    }
    char path[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_place place;
    tide_scratch_listing fresh;
    if (tide_scratch_path_of(v->fd, path) == 0 && is_ours(path, &place) &&
        tide_scratch_list(&place, &fresh) == 0) {
        tide_scratch_listing_release(&v->listing);
        v->listing = fresh;
    }
    v->next = 0;
}

TIDE_SCRATCH_EXPORT long telldir(DIR *folder) {
    static long (*next)(DIR *);
    TIDE_SCRATCH_NEXT(next, "telldir");
    const view *v = view_of(folder);
    return v == NULL ? next(folder) : (long)v->next;
}

TIDE_SCRATCH_EXPORT void seekdir(DIR *folder, long at) {
    static void (*next)(DIR *, long);
    TIDE_SCRATCH_NEXT(next, "seekdir");
    view *v = view_of(folder);
    if (v == NULL) {
        next(folder, at);
    } else {
        v->next = (size_t)at;
    }
}

typedef int (*filter64)(const struct dirent64 *);
typedef int (*order64)(const struct dirent64 **, const struct dirent64 **);

/* Collects the wanted rows of an open folder. Returns the count, or -1. */
static int collect(DIR *folder, struct dirent64 ***ret_rows, filter64 filter) {
    struct dirent64 **rows = NULL;
    size_t n = 0;
    size_t n_room = 0;
    for (const struct dirent64 *row = readdir64(folder); row != NULL; row = readdir64(folder)) {
        if (filter != NULL && filter(row) == 0) {
            continue;
        }
        if (n == n_room) {
            n_room = n_room == 0 ? 32 : 2 * n_room;
            struct dirent64 **grown = realloc(rows, n_room * sizeof(*grown));
            if (grown == NULL) {
                break;
            }
            rows = grown;
        }
        rows[n] = malloc(sizeof(**rows));
        if (rows[n] == NULL) {
            break;
        }
        memcpy(rows[n++], row, offsetof(struct dirent64, d_name) + strlen(row->d_name) + 1);
    }
    *ret_rows = rows;
    return (int)n;
}

TIDE_SCRATCH_EXPORT int scandirat64(int at, const char *path, struct dirent64 ***ret_rows,
                                    filter64 filter, order64 order) {
    int fd = (int)tide_scratch_answer(
        tide_scratch_open(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return -1;
    }
    int n = collect(folder, ret_rows, filter);
    (void)closedir(folder);
    if (order != NULL && n > 1) {
        int (*compare)(const void *, const void *) = NULL;
        memcpy(&compare, &order, sizeof(compare));
        qsort(*ret_rows, (size_t)n, sizeof(**ret_rows), compare);
    }
    return n;
}
int scandirat(int at, const char *path, struct dirent ***ret_rows,
              int (*filter)(const struct dirent *),
              int (*order)(const struct dirent **, const struct dirent **))
    __attribute__((alias("scandirat64"), visibility("default")));

TIDE_SCRATCH_EXPORT int scandir64(const char *path, struct dirent64 ***ret_rows, filter64 filter,
                                  order64 order) {
    return scandirat64(AT_FDCWD, path, ret_rows, filter, order);
}
int scandir(const char *path, struct dirent ***ret_rows, int (*filter)(const struct dirent *),
            int (*order)(const struct dirent **, const struct dirent **))
    __attribute__((alias("scandir64"), visibility("default")));
