/* stat.c - stat, fstat and lstat, which glibc has as functions since 2.33. On 64-bit Linux the
 * kernel's struct is glibc's. */
#define _GNU_SOURCE /* syscall */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int stat(const char *restrict path, struct stat *restrict ret) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0);
}

int lstat(const char *restrict path, struct stat *restrict ret) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *ret) {
    return (int)syscall(SYS_fstat, file, ret);
}
