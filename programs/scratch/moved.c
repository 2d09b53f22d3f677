#define _GNU_SOURCE /* AT_FDCWD */
#include "programs/scratch/moved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/place.h"

enum { NAME_BYTES = 64 }; /* of the text appended to FOLDER */

static char *put_number(char *text, uint64_t number) {
    *text++ = '-';
    do {
        *text++ = (char)('a' + (int)(number % 16));
        number /= 16;
    } while (number != 0);
    *text = '\0';
    return text;
}

/* FOLDER/moved/KIND-DEVICE-INODE: `r` of a real file, `c` of a copy. Returns the last part of it.
 */
static const char *name_link(char text[TIDE_SCRATCH_PATH_BYTES], char kind,
                             const struct stat *status) {
    const tide_scratch_state *state = tide_scratch_state_get();
    size_t n = state->n_folder;
    memcpy(text, state->files, n);
    memcpy(text + n, "/moved/", sizeof("/moved/"));
    n += sizeof("/moved/") - 1;
    text[n] = kind;
    (void)put_number(put_number(text + n + 1, status->st_dev), status->st_ino);
    return text + n;
}

static bool fits(void) {
    return tide_scratch_state_get()->n_folder + NAME_BYTES < TIDE_SCRATCH_PATH_BYTES;
}

static void replace(const char *target, const char *link) {
    (void)tide_sys_unlink(link);
    (void)tide_sys_symlink(target, link);
}

void tide_scratch_note_moved(const struct stat *real, const char *copy, const char *path) {
    char of_real[TIDE_SCRATCH_PATH_BYTES];
    char of_copy[TIDE_SCRATCH_PATH_BYTES];
    struct stat status;
    if (!fits() || (real == NULL && !tide_scratch_has_moved()) ||
        tide_sys_stat(AT_FDCWD, copy, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    const char *name = name_link(of_copy, 'c', &status);
    char old[2];
    if (real == NULL && tide_sys_readlink(AT_FDCWD, of_copy, old, sizeof(old)) <= 0) {
        return;
    }
    if (real != NULL) {
        (void)name_link(of_real, 'r', real);
        char *slash = strrchr(of_real, '/');
        *slash = '\0';
        (void)tide_sys_mkdir(of_real, 0700);
        *slash = '/';
        replace(name, of_real);
        tide_scratch_set_moved();
    }
    replace(path, of_copy);
}

/* The new path of the real file with this state. */
static int find(const struct stat *real, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    char link[TIDE_SCRATCH_PATH_BYTES];
    char name[NAME_BYTES];
    struct stat status;
    tide_scratch_place place;
    (void)name_link(link, 'r', real);
    long n = tide_sys_readlink(AT_FDCWD, link, name, sizeof(name) - 1);
    if (n <= 0) {
        return -ENOENT;
    }
    name[n] = '\0';
    memcpy(strrchr(link, '/') + 1, name, (size_t)n + 1);
    n = tide_sys_readlink(AT_FDCWD, link, ret_path, TIDE_SCRATCH_PATH_BYTES - 1);
    if (n <= 0) {
        return -ENOENT;
    }
    ret_path[n] = '\0';
    /* Another file may have that name by now. */
    if (tide_scratch_look(AT_FDCWD, ret_path, TIDE_SCRATCH_NOFOLLOW, &place) != 0 ||
        !place.has_copy || tide_sys_stat(AT_FDCWD, place.copy, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return -ENOENT;
    }
    char expected[TIDE_SCRATCH_PATH_BYTES];
    return strcmp(name, name_link(expected, 'c', &status)) == 0 ? 0 : -ENOENT;
}

int tide_scratch_moved_to(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    char folder[TIDE_SCRATCH_PATH_BYTES];
    size_t n_path = strlen(path);
    if (!tide_scratch_has_moved() || !fits() || n_path >= sizeof(folder)) {
        return -ENOENT;
    }
    memcpy(folder, path, n_path + 1);
    for (size_t n = n_path; n > 1; n = (size_t)(strrchr(folder, '/') - folder)) {
        struct stat real;
        folder[n] = '\0';
        if (tide_sys_stat(AT_FDCWD, folder, &real, AT_SYMLINK_NOFOLLOW) == 0 &&
            find(&real, ret_path) == 0) {
            size_t n_found = strlen(ret_path);
            if (n_found + n_path - n >= TIDE_SCRATCH_PATH_BYTES) {
                return -ENAMETOOLONG;
            }
            memcpy(ret_path + n_found, path + n, n_path - n + 1);
            return 0;
        }
    }
    return -ENOENT;
}
