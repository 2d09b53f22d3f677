/* calls_friend.h - system calls of Linux on x86-64, made without the C library.
 *
 * The scratch view replaces the C library's functions, so it cannot call them for its own work. A
 * call returns its result, or the negative errno; errno itself is unchanged.
 */
#ifndef TIDE_SCRATCH_CALLS_FRIEND_H
#define TIDE_SCRATCH_CALLS_FRIEND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long tide_scratch_call(long number, long a, long b, long c, long d, long e) {
    long result = 0;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* As mmap, from the beginning of the file. The C library's own is not called, because programs
 * preload functions of that name. NULL on failure. */
static inline void *tide_sys_map(size_t n_bytes, int protection, int flags, int fd) {
    void *result = NULL;
    register long r10 __asm__("r10") = flags;
    register long r8 __asm__("r8") = fd;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_mmap), "D"(0L), "S"(n_bytes), "d"((long)protection), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    enum { MOST_ERRORS = 4095 };
    return (uintptr_t)result > (uintptr_t)-MOST_ERRORS - 1 ? NULL : result;
}

/* An address as the number that system calls use. */
static inline long tide_scratch_word(const void *pointer) {
    return (long)(intptr_t)pointer;
}

static inline int tide_sys_open(int at, const char *path, int flags, unsigned mode) {
    return (int)tide_scratch_call(SYS_openat, at, tide_scratch_word(path), flags, (long)mode, 0);
}
static inline int tide_sys_close(int fd) {
    return (int)tide_scratch_call(SYS_close, fd, 0, 0, 0, 0);
}
static inline long tide_sys_readlink(int at, const char *path, char *text, size_t n_bytes) {
    return tide_scratch_call(SYS_readlinkat, at, tide_scratch_word(path), tide_scratch_word(text),
                             (long)n_bytes, 0);
}
static inline int tide_sys_stat(int at, const char *path, void *status, int flags) {
    return (int)tide_scratch_call(SYS_newfstatat, at, tide_scratch_word(path),
                                  tide_scratch_word(status), flags, 0);
}
static inline int tide_sys_mkdir(const char *path, unsigned mode) {
    return (int)tide_scratch_call(SYS_mkdir, tide_scratch_word(path), (long)mode, 0, 0, 0);
}
static inline int tide_sys_unlink(const char *path) {
    return (int)tide_scratch_call(SYS_unlink, tide_scratch_word(path), 0, 0, 0, 0);
}
static inline int tide_sys_rmdir(const char *path) {
    return (int)tide_scratch_call(SYS_rmdir, tide_scratch_word(path), 0, 0, 0, 0);
}
static inline int tide_sys_symlink(const char *target, const char *path) {
    return (int)tide_scratch_call(SYS_symlink, tide_scratch_word(target), tide_scratch_word(path),
                                  0, 0, 0);
}
static inline int tide_sys_link(const char *old, const char *path) {
    return (int)tide_scratch_call(SYS_link, tide_scratch_word(old), tide_scratch_word(path), 0, 0,
                                  0);
}
/* flags as for renameat2. */
static inline int tide_sys_rename(const char *old, const char *path, unsigned flags) {
    if (flags == 0) {
        return (int)tide_scratch_call(SYS_rename, tide_scratch_word(old), tide_scratch_word(path),
                                      0, 0, 0);
    }
    return (int)tide_scratch_call(SYS_renameat2, -100 /* AT_FDCWD */, tide_scratch_word(old), -100,
                                  tide_scratch_word(path), (long)flags);
}
static inline int tide_sys_chmod(const char *path, unsigned mode) {
    return (int)tide_scratch_call(SYS_chmod, tide_scratch_word(path), (long)mode, 0, 0, 0);
}
static inline int tide_sys_chown(const char *path, unsigned user, unsigned group) {
    return (int)tide_scratch_call(SYS_lchown, tide_scratch_word(path), (long)user, (long)group, 0,
                                  0);
}
/* times is two struct timespec; flags as for utimensat. */
static inline int tide_sys_utimes(const char *path, const void *times, int flags) {
    return (int)tide_scratch_call(SYS_utimensat, -100, tide_scratch_word(path),
                                  tide_scratch_word(times), flags, 0);
}
static inline int tide_sys_access(int at, const char *path, int mode, int flags) {
    enum { NUMBER_FACCESSAT2 = 439, NO_SYSTEM_CALL = 38 };
    int result = -NO_SYSTEM_CALL;
    if (flags != 0) {
        result =
            (int)tide_scratch_call(NUMBER_FACCESSAT2, at, tide_scratch_word(path), mode, flags, 0);
    }
    return result != -NO_SYSTEM_CALL
               ? result
               : (int)tide_scratch_call(SYS_faccessat, at, tide_scratch_word(path), mode, 0, 0);
}
static inline long tide_sys_getcwd(char *text, size_t n_bytes) {
    return tide_scratch_call(SYS_getcwd, tide_scratch_word(text), (long)n_bytes, 0, 0, 0);
}
static inline long tide_sys_list(int fd, void *entries, size_t n_bytes) {
    return tide_scratch_call(SYS_getdents64, fd, tide_scratch_word(entries), (long)n_bytes, 0, 0);
}
static inline int tide_sys_chdir(const char *path) {
    return (int)tide_scratch_call(SYS_chdir, tide_scratch_word(path), 0, 0, 0, 0);
}

#endif
