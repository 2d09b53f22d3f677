#define _GNU_SOURCE /* O_CLOEXEC, O_NOATIME, UTIME_OMIT */
#include "programs/scratch/copy_up.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/marks.h"

enum { RIGHTS = 07777 };

int tide_scratch_may_change(const tide_scratch_place *place) {
    char folder[TIDE_SCRATCH_PATH_BYTES];
    const char *whole = place->parent_below ? place->path : place->copy;
    const char *slash = strrchr(whole, '/');
    if (slash == NULL) {
        return -EBUSY; /* the root */
    }
    size_t n = (size_t)(slash - whole);
    memcpy(folder, n > 0 ? whole : "/", n > 0 ? n : 1);
    folder[n > 0 ? n : 1] = '\0';
    return tide_sys_access(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS);
}

/* Gives a new copy the owner, permissions and times of the original. Failing to set the owner is
 * not an error. */
static void take_status(const char *copy, const struct stat *status, unsigned more_rights) {
    const struct timespec times[2] = {status->st_atim, status->st_mtim};
    if (geteuid() == 0) {
        (void)tide_sys_chown(copy, status->st_uid, status->st_gid);
    }
    if (!S_ISLNK(status->st_mode)) {
        (void)tide_sys_chmod(copy, (status->st_mode & RIGHTS) | more_rights);
    }
    (void)tide_sys_utimes(copy, times, AT_SYMLINK_NOFOLLOW);
}

/* Makes a parent folder of a copy. Its owner may always enter it, because it is ours. */
static int make_way(const char *copy, const char *below) {
    struct stat status;
    int result = tide_sys_stat(AT_FDCWD, below[0] == '\0' ? "/" : below, &status, 0);
    if (result != 0) {
        return result;
    }
    if (!S_ISDIR(status.st_mode)) {
        return -ENOTDIR;
    }
    result = tide_sys_mkdir(copy, 0700);
    if (result == 0) {
        take_status(copy, &status, S_IRWXU);
        tide_scratch_bump_generation();
    }
    return result == -EEXIST ? 0 : result;
}

int tide_scratch_ready(tide_scratch_place *place) {
    tide_scratch_set_written();
    if (place->has_parent) {
        return 0;
    }
    char *path = place->copy + (place->path - place->copy);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        struct stat status;
        int result = tide_sys_stat(AT_FDCWD, place->copy, &status, AT_SYMLINK_NOFOLLOW);
        if (result == -ENOENT) {
            result = make_way(place->copy, path);
        }
        *slash = '/';
        if (result != 0) {
            return result;
        }
    }
    place->has_parent = true;
    return 0;
}

/* Whether files may grow to n_bytes here. Beyond the limit the system would end the program. */
static int may_reach(const char *name, off_t n_bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        (rlim_t)n_bytes <= limit.rlim_cur) {
        return 0;
    }
    tide_scratch_say("no copy of ", name,
                     " can be kept, because it is larger than files may be here (ulimit -f); "
                     "'--writes allow' writes for real");
    return -EFBIG;
}

/* Copies the bytes from one descriptor to the other inside the kernel; holes stay holes. A file
 * system that does not report holes has none. */
static int copy_data(int from, int to, off_t n_bytes) {
    for (off_t at = 0; at < n_bytes;) {
        off_t data = tide_scratch_call(SYS_lseek, from, at, SEEK_DATA, 0, 0);
        off_t end = data >= 0 ? tide_scratch_call(SYS_lseek, from, data, SEEK_HOLE, 0, 0) : n_bytes;
        if (data == -ENXIO) {
            break;
        }
        data = data >= 0 ? data : at;
        end = end > data && end < n_bytes ? end : n_bytes;
        long result = tide_scratch_call(SYS_lseek, to, data, SEEK_SET, 0, 0);
        while (result >= 0 && data < end) { /* sendfile advances `data` */
            result =
                tide_scratch_call(SYS_sendfile, to, from, tide_scratch_word(&data), end - data, 0);
            if (result == 0) {
                n_bytes = end = data; /* another process truncated the file */
            }
        }
        if (result < 0) {
            return (int)result;
        }
        at = end;
    }
    return (int)tide_scratch_call(SYS_ftruncate, to, n_bytes, 0, 0, 0);
}

/* Shares the bytes if the file system can. */
static int copy_bytes(int from, int to) {
    enum { CLONE = 0x40049409 /* FICLONE */ };
    struct stat status;
    int result = tide_sys_stat(from, "", &status, AT_EMPTY_PATH);
    if (result != 0 || tide_scratch_call(SYS_ioctl, to, CLONE, from, 0, 0) == 0) {
        return result;
    }
    return copy_data(from, to, status.st_size);
}

static int copy_file(const char *below, const char *made, tide_scratch_content content) {
    int to = tide_sys_open(AT_FDCWD, made, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (to < 0 || content == TIDE_SCRATCH_EMPTY) {
        return to < 0 ? to : tide_sys_close(to);
    }
    int from = tide_sys_open(AT_FDCWD, below, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    int result = from < 0 ? from : copy_bytes(from, to);
    if (from >= 0) {
        (void)tide_sys_close(from);
    }
    (void)tide_sys_close(to);
    return result;
}

/* Makes a copy of a file, link or empty folder at the real path `made`. */
static int copy_one(const char *below, const struct stat *status, const char *made,
                    tide_scratch_content content) {
    int result = -ENOTSUP;
    if (S_ISREG(status->st_mode)) {
        result = content == TIDE_SCRATCH_WHOLE ? may_reach(below, status->st_size) : 0;
        result = result == 0 ? copy_file(below, made, content) : result;
    } else if (S_ISLNK(status->st_mode)) {
        char target[TIDE_SCRATCH_PATH_BYTES];
        long n = tide_sys_readlink(AT_FDCWD, below, target, sizeof(target) - 1);
        if (n >= 0) {
            target[n] = '\0';
        }
        result = n < 0 ? (int)n : tide_sys_symlink(target, made);
    } else if (S_ISDIR(status->st_mode)) {
        result = tide_sys_mkdir(made, 0700);
    } else if (S_ISFIFO(status->st_mode)) {
        result =
            (int)tide_scratch_call(SYS_mknod, tide_scratch_word(made), S_IFIFO | 0600, 0, 0, 0);
    }
    if (result == 0) {
        take_status(made, status, S_ISDIR(status->st_mode) ? S_IRWXU : 0);
    }
    return result;
}

int tide_scratch_copy_up(tide_scratch_place *place, tide_scratch_content content) {
    if (place->has_copy) {
        return 0;
    }
    const char *below = tide_scratch_below(place);
    struct stat status;
    int result =
        place->shows_below ? tide_sys_stat(AT_FDCWD, below, &status, AT_SYMLINK_NOFOLLOW) : -ENOENT;
    if (result == 0 && S_ISFIFO(status.st_mode)) {
        result = -ENOTSUP; /* another process may hold the other end of the real one */
    }
    result = result == 0 ? tide_scratch_ready(place) : result;
    if (result != 0) {
        return result;
    }
    if (S_ISDIR(status.st_mode)) {
        result = make_way(place->copy, below);
        place->is_folder = result == 0;
    } else {
        /* Completed before it gets its name, because others may be reading. */
        char made[TIDE_SCRATCH_PATH_BYTES];
        tide_scratch_temporary_name(made);
        result = copy_one(below, &status, made, content);
        result = result == 0 ? tide_sys_rename(made, place->copy, 0) : result;
        if (result != 0) {
            (void)tide_sys_unlink(made);
        }
        if (S_ISLNK(status.st_mode)) {
            tide_scratch_bump_generation();
        }
        place->shows_below = false;
        place->is_changed = true;
    }
    place->has_copy = result == 0;
    return result;
}

static int join(char text[TIDE_SCRATCH_PATH_BYTES], const char *folder, const char *name) {
    size_t n = strlen(folder);
    size_t n_name = strlen(name);
    if (n + 1 + n_name >= TIDE_SCRATCH_PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    memcpy(text, folder, n);
    text[n] = '/';
    memcpy(text + n + 1, name, n_name + 1);
    return 0;
}

/* The buffers for an entry. From the heap: folders nest, and a thread's stack may be small. */
typedef struct entry {
    char path[TIDE_SCRATCH_PATH_BYTES];
    char made[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_place place;
    struct stat status;
} entry;

static int copy_entry_in(entry *e, const char *folder, const char *name, const char *target) {
    tide_scratch_place *place = &e->place;
    int result = join(e->path, folder, name);
    result = result == 0 ? join(e->made, target, name) : result;
    result =
        result == 0 ? tide_scratch_look(AT_FDCWD, e->path, TIDE_SCRATCH_NOFOLLOW, place) : result;
    result = result == 0 ? tide_scratch_status(place, &e->status) : result;
    if (result != 0 || S_ISSOCK(e->status.st_mode)) {
        return result;
    }
    if (S_ISDIR(e->status.st_mode)) {
        return tide_scratch_copy_tree(place, e->made);
    }
    const char *from = place->has_copy ? place->copy : tide_scratch_below(place);
    return copy_one(from, &e->status, e->made, TIDE_SCRATCH_WHOLE);
}

/* Copies one entry of a folder. */
static int copy_entry(const char *folder, const char *name, const char *target) {
    entry *e = malloc(sizeof(*e));
    int result = e != NULL ? copy_entry_in(e, folder, name, target) : -ENOMEM;
    free(e);
    return result;
}

int tide_scratch_copy_tree(const tide_scratch_place *place, const char *target) {
    struct stat status;
    tide_scratch_listing listing;
    int result = tide_scratch_status(place, &status);
    result = result == 0 ? tide_scratch_list(place, &listing) : result;
    if (result != 0) {
        return result;
    }
    result = tide_sys_mkdir(target, 0700);
    result = result == 0 ? tide_scratch_mark_covers(target) : result;
    for (size_t i = 0; i < listing.n_entries && result == 0; i++) {
        const char *name = listing.entries[i].name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            result = copy_entry(place->path, name, target);
        }
    }
    tide_scratch_listing_release(&listing);
    if (result == 0) {
        take_status(target, &status, S_IRWXU);
    }
    return result;
}

void tide_scratch_discard(const char *path) {
    if (tide_sys_unlink(path) != -EISDIR) {
        return;
    }
    (void)tide_sys_chmod(path, S_IRWXU);
    tide_scratch_listing listing;
    if (tide_scratch_list_real(path, &listing) == 0) {
        for (size_t i = 0; i < listing.n_entries; i++) {
            const char *name = listing.entries[i].name;
            char below[TIDE_SCRATCH_PATH_BYTES];
            if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && join(below, path, name) == 0) {
                tide_scratch_discard(below);
            }
        }
        tide_scratch_listing_release(&listing);
    }
    (void)tide_sys_rmdir(path);
}
