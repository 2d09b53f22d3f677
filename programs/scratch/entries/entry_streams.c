/* entry_streams.c - fopen and freopen, which std::ofstream also uses. */
#define _GNU_SOURCE /* O_CLOEXEC */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/opening.h"
#include "programs/scratch/state.h"

/* The flags of open for a mode of fopen; -EINVAL if it is invalid. */
static int flags_of(const char *mode) {
    int flags = mode[0] == 'r'   ? O_RDONLY
                : mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC
                : mode[0] == 'a' ? O_WRONLY | O_CREAT | O_APPEND
                                 : -EINVAL;
    for (size_t i = 1; flags >= 0 && mode[i] != '\0' && mode[i] != ','; i++) {
        if (mode[i] == '+') {
            flags = (flags & ~O_ACCMODE) | O_RDWR;
        } else if (mode[i] == 'x') {
            flags |= O_EXCL;
        } else if (mode[i] == 'e') {
            flags |= O_CLOEXEC;
        }
    }
    return flags;
}

TIDE_SCRATCH_EXPORT FILE *fopen(const char *path, const char *mode) {
    static FILE *(*next)(const char *, const char *);
    TIDE_SCRATCH_NEXT(next, "fopen");
    int flags = flags_of(mode);
    bool reads = flags == O_RDONLY || flags == (O_RDONLY | O_CLOEXEC);
    bool is_plain = tide_scratch_state_get()->mode == TIDE_SCRATCH_OFF ||
                    (reads && !tide_scratch_has_written());
    if (flags < 0 || (is_plain && !tide_scratch_may_be_device(path))) {
        return next(path, mode);
    }
    int fd = (int)tide_scratch_answer(tide_scratch_open(AT_FDCWD, path, flags, 0666));
    if (fd < 0) {
        return NULL;
    }
    FILE *file = fdopen(fd, mode);
    if (file == NULL) {
        int reason = errno;
        (void)tide_sys_close(fd);
        errno = reason;
    }
    return file;
}
TIDE_SCRATCH_ALSO(fopen, fopen64);

/* The C library opens the file itself, so it gets the name of our descriptor in /proc. The mode
 * must not create the file again. */
static FILE *reopen(int fd, const char *mode, FILE *file,
                    FILE *(*next)(const char *, const char *, FILE *)) {
    enum { NAME_BYTES = 32, MODE_BYTES = 64 };
    char name[NAME_BYTES];
    char plain[MODE_BYTES];
    size_t n = 0;
    for (size_t i = 0; mode[i] != '\0' && n + 1 < sizeof(plain); i++) {
        if (mode[i] != 'x') {
            plain[n++] = mode[i];
        }
    }
    plain[n] = '\0';
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    file = next(name, plain, file);
    int reason = errno;
    (void)tide_sys_close(fd);
    errno = reason;
    return file;
}

TIDE_SCRATCH_EXPORT FILE *freopen(const char *path, const char *mode, FILE *file) {
    static FILE *(*next)(const char *, const char *, FILE *);
    TIDE_SCRATCH_NEXT(next, "freopen");
    int flags = flags_of(mode);
    bool is_off = tide_scratch_state_get()->mode == TIDE_SCRATCH_OFF;
    if (path == NULL || flags < 0 || (is_off && !tide_scratch_may_be_device(path))) {
        return next(path, mode, file);
    }
    int fd = (int)tide_scratch_answer(tide_scratch_open(AT_FDCWD, path, flags | O_CLOEXEC, 0666));
    if (fd < 0) {
        int reason = errno;
        (void)fclose(file); /* as the C library does */
        errno = reason;
        return NULL;
    }
    return reopen(fd, mode, file, next);
}
TIDE_SCRATCH_ALSO(freopen, freopen64);
