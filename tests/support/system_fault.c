#include "support/system_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <zlib.h>

/* System calls take no context, so the fault in use is a global variable. */
static tide_system_fault *current;

void tide_system_fault_use(tide_system_fault *fault) {
    current = fault;
}

const char *tide_system_call_name(tide_system_call call) {
    static const char *const NAMES[TIDE_N_SYSTEM_CALLS] = {
        "mmap",         "mprotect", "pthread_mutex_init",
        "open",         "read",     "write",
        "fsync",        "close",    "rename",
        "getrandom",    "realpath", "deflateInit2",
        "inflateInit2", "fopen",    "fread",
        "fclose",       "link"};
    return NAMES[call];
}

/* Counts the call; true, with errno set, when it is the one that fails. */
static bool fails(tide_system_call call, int reason) {
    if (current == NULL || ++current->n_calls != current->fail_call) {
        return false;
    }
    current->n_failed[call]++;
    errno = reason;
    return true;
}

/* Adds `step` to the number of live things of this kind if the call succeeded. */
static void count(tide_system_kind kind, bool is_done, int step) {
    if (current != NULL && is_done) {
        current->n_live[kind] += step;
    }
}

/* With --wrap=mmap the linker resolves mmap to __wrap_mmap, and __real_mmap to the system's
 * function. */
void *__real_mmap(void *address, size_t n_bytes, int access, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n_bytes, int access, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n_bytes, int access, int flags, int fd, off_t offset) {
    if (fails(TIDE_SYSTEM_MMAP, ENOMEM)) {
        return MAP_FAILED;
    }
    void *memory = __real_mmap(address, n_bytes, access, flags, fd, offset);
    count(TIDE_SYSTEM_MAPS, memory != MAP_FAILED, 1);
    return memory;
}

int __real_munmap(void *address, size_t n_bytes);
int __wrap_munmap(void *address, size_t n_bytes);
int __wrap_munmap(void *address, size_t n_bytes) {
    int result = __real_munmap(address, n_bytes);
    count(TIDE_SYSTEM_MAPS, result == 0, -1);
    return result;
}

int __real_mprotect(void *address, size_t n_bytes, int access);
int __wrap_mprotect(void *address, size_t n_bytes, int access);
int __wrap_mprotect(void *address, size_t n_bytes, int access) {
    return fails(TIDE_SYSTEM_MPROTECT, ENOMEM) ? -1 : __real_mprotect(address, n_bytes, access);
}

int __real_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes) {
    if (fails(TIDE_SYSTEM_MUTEX_INIT, EAGAIN)) {
        return EAGAIN;
    }
    int result = __real_pthread_mutex_init(lock, attributes);
    count(TIDE_SYSTEM_LOCKS, result == 0, 1);
    return result;
}

int __real_pthread_mutex_destroy(pthread_mutex_t *lock);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock) {
    int result = __real_pthread_mutex_destroy(lock);
    count(TIDE_SYSTEM_LOCKS, result == 0, -1);
    return result;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    int mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, int);
        va_end(arguments);
    }
    if (fails(TIDE_SYSTEM_OPEN, EACCES)) {
        return -1;
    }
    int fd = __real_open(path, flags, mode);
    count(TIDE_SYSTEM_FILES, fd >= 0, 1);
    return fd;
}

ssize_t __real_read(int fd, void *data, size_t n_bytes);
ssize_t __wrap_read(int fd, void *data, size_t n_bytes);
ssize_t __wrap_read(int fd, void *data, size_t n_bytes) {
    return fails(TIDE_SYSTEM_READ, EIO) ? -1 : __real_read(fd, data, n_bytes);
}

ssize_t __real_write(int fd, const void *data, size_t n_bytes);
ssize_t __wrap_write(int fd, const void *data, size_t n_bytes);
ssize_t __wrap_write(int fd, const void *data, size_t n_bytes) {
    if (fails(TIDE_SYSTEM_WRITE, ENOSPC)) {
        /* A full disk accepts part of the data; only the next call returns the error. */
        current->fail_call = n_bytes > 1 ? current->fail_call + 1 : current->fail_call;
        return n_bytes > 1 ? __real_write(fd, data, n_bytes / 2) : -1;
    }
    return __real_write(fd, data, n_bytes);
}

/* Nothing is flushed to the disk: that would take milliseconds for each of a thousand files, and no
 * test needs its files to survive a power cut. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    (void)fd;
    return fails(TIDE_SYSTEM_FSYNC, EIO) ? -1 : 0;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    bool is_failing = fails(TIDE_SYSTEM_CLOSE, EIO);
    int result = __real_close(fd);
    count(TIDE_SYSTEM_FILES, result == 0, -1);
    if (is_failing) {
        errno = EIO;
        return -1;
    }
    return result;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
    return fails(TIDE_SYSTEM_RENAME, EACCES) ? -1 : __real_rename(from, to);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to) {
    if (fails(TIDE_SYSTEM_LINK, EPERM)) {
        current->fail_call++; /* as on a file system that supports neither this nor the fallback */
        return -1;
    }
    return __real_link(from, to);
}

int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags) {
    return fails(TIDE_SYSTEM_LINK, EINVAL)
               ? -1
               : __real_renameat2(from_folder, from, to_folder, to, flags);
}

ssize_t __real_getrandom(void *data, size_t n_bytes, unsigned flags);
ssize_t __wrap_getrandom(void *data, size_t n_bytes, unsigned flags);
ssize_t __wrap_getrandom(void *data, size_t n_bytes, unsigned flags) {
    return fails(TIDE_SYSTEM_RANDOM, ENOSYS) ? -1 : __real_getrandom(data, n_bytes, flags);
}

char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
    return fails(TIDE_SYSTEM_REALPATH, ENOMEM) ? NULL : __real_realpath(path, resolved);
}

int __real_deflateInit2_(z_stream *zip, int level, int method, int window, int memory, int strategy,
                         const char *version, int n_bytes);
int __wrap_deflateInit2_(z_stream *zip, int level, int method, int window, int memory, int strategy,
                         const char *version, int n_bytes);
int __wrap_deflateInit2_(z_stream *zip, int level, int method, int window, int memory, int strategy,
                         const char *version, int n_bytes) {
    return fails(TIDE_SYSTEM_DEFLATE_INIT, ENOMEM)
               ? Z_MEM_ERROR
               : __real_deflateInit2_(zip, level, method, window, memory, strategy, version,
                                      n_bytes);
}

int __real_inflateInit2_(z_stream *zip, int window, const char *version, int n_bytes);
int __wrap_inflateInit2_(z_stream *zip, int window, const char *version, int n_bytes);
int __wrap_inflateInit2_(z_stream *zip, int window, const char *version, int n_bytes) {
    return fails(TIDE_SYSTEM_INFLATE_INIT, ENOMEM)
               ? Z_MEM_ERROR
               : __real_inflateInit2_(zip, window, version, n_bytes);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
    return fails(TIDE_SYSTEM_FOPEN, EACCES) ? NULL : __real_fopen(path, mode);
}

size_t __real_fread(void *data, size_t item_bytes, size_t n_items, FILE *file);
size_t __wrap_fread(void *data, size_t item_bytes, size_t n_items, FILE *file);
size_t __wrap_fread(void *data, size_t item_bytes, size_t n_items, FILE *file) {
    if (fails(TIDE_SYSTEM_FREAD, EIO)) {
        /* Only the C library can set a stream's error flag, so provoke it by writing to a stream
         * that was opened for reading. */
        (void)fputc('x', file);
        errno = EIO;
        return 0;
    }
    return __real_fread(data, item_bytes, n_items, file);
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file) {
    bool is_failing = fails(TIDE_SYSTEM_FCLOSE, EIO);
    int result = __real_fclose(file);
    if (is_failing) {
        errno = EIO;
        return EOF;
    }
    return result;
}
