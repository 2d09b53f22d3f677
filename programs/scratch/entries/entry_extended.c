/* entry_extended.c - extended attributes of a path, as programs read them. */
#define _GNU_SOURCE /* ssize_t */
#include <fcntl.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"

/* Makes one of the four calls on the file that the program sees at the path. */
static ssize_t ask(long number, const char *path, tide_scratch_follow follow, const long more[3]) {
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, follow, &place);
    return tide_scratch_answer(result != 0 ? result
                                           : tide_scratch_call(number, tide_scratch_word(path),
                                                               more[0], more[1], more[2], 0));
}

TIDE_SCRATCH_EXPORT ssize_t getxattr(const char *path, const char *name, void *value,
                                     size_t n_bytes) {
    const long more[3] = {tide_scratch_word(name), tide_scratch_word(value), (long)n_bytes};
    return ask(SYS_getxattr, path, TIDE_SCRATCH_FOLLOW, more);
}

TIDE_SCRATCH_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value,
                                      size_t n_bytes) {
    const long more[3] = {tide_scratch_word(name), tide_scratch_word(value), (long)n_bytes};
    return ask(SYS_lgetxattr, path, TIDE_SCRATCH_NOFOLLOW, more);
}

TIDE_SCRATCH_EXPORT ssize_t listxattr(const char *path, char *names, size_t n_bytes) {
    const long more[3] = {tide_scratch_word(names), (long)n_bytes, 0};
    return ask(SYS_listxattr, path, TIDE_SCRATCH_FOLLOW, more);
}

TIDE_SCRATCH_EXPORT ssize_t llistxattr(const char *path, char *names, size_t n_bytes) {
    const long more[3] = {tide_scratch_word(names), (long)n_bytes, 0};
    return ask(SYS_llistxattr, path, TIDE_SCRATCH_NOFOLLOW, more);
}
