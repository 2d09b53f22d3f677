/* early_malloc.c - an allocator to preload, which asks the system at its first call, as jemalloc,
 * mimalloc and tcmalloc do: it holds its lock meanwhile, so an allocation in one of those functions
 * would wait for ever. This allocator reports that and ends the program.
 */
#define _GNU_SOURCE /* statx, RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { ALIGNMENT = 16 };

static const size_t ROOM_BYTES = (size_t)1 << 28;

static char *room;
static _Atomic size_t n_used;
static atomic_int state; /* 0: not begun, 1: asking the system, 2: ready */
static _Atomic pid_t asking;

static void end_with(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        _exit(4);
    }
    _exit(3);
}

static void ask_system(void) {
    char text[4096];
    struct stat status;
    struct statx more;
    struct timespec now;
    (void)!readlink("/etc/malloc.conf", text, sizeof(text));
    (void)!readlink("/proc/self/exe", text, sizeof(text));
    (void)stat("/proc/self/maps", &status);
    (void)lstat("/etc/hosts", &status);
    (void)fstatat(AT_FDCWD, "a", &status, 0);
    (void)statx(AT_FDCWD, "a", 0, STATX_SIZE, &more);
    (void)!access("/sys/devices/system/node/node1", R_OK);
    (void)!getcwd(text, sizeof(text));
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    (void)!read(fd, text, sizeof(text));
    (void)close(fd);
    fd = open("early_malloc.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)!write(fd, "begun\n", 6);
    (void)close(fd);
    (void)unlink("early_malloc.log");
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)syscall(SYS_getpid);
    (void)dlsym(RTLD_NEXT, "pthread_create");
    (void)getenv("MALLOC_CONF");
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)munmap(pages, 4096);
}

static void begin(void) {
    int none = 0;
    if (atomic_compare_exchange_strong(&state, &none, 1)) {
        atomic_store(&asking, gettid());
        void *pages = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        room = pages == MAP_FAILED ? NULL : pages;
        ask_system();
        atomic_store(&state, 2);
    }
    if (atomic_load(&state) == 1 && atomic_load(&asking) == gettid()) {
        end_with("allocated while the allocator asks the system\n");
    }
    while (atomic_load(&state) != 2) {
    }
}

EXPORT void *malloc(size_t n_bytes) {
    begin();
    size_t n = (n_bytes + 2 * (size_t)ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t at = atomic_fetch_add(&n_used, n);
    if (room == NULL || at + n > ROOM_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(room + at, &n_bytes, sizeof(n_bytes));
    return room + at + ALIGNMENT;
}

EXPORT void free(void *block) {
    (void)block;
}

EXPORT void *calloc(size_t n, size_t n_bytes) {
    return n_bytes != 0 && n > SIZE_MAX / n_bytes ? NULL
                                                  : malloc(n * n_bytes); /* zero, as mapped */
}

EXPORT void *realloc(void *block, size_t n_bytes) {
    void *larger = malloc(n_bytes);
    if (block != NULL && larger != NULL) {
        size_t n_old = 0;
        memcpy(&n_old, (char *)block - ALIGNMENT, sizeof(n_old));
        memcpy(larger, block, n_old < n_bytes ? n_old : n_bytes);
    }
    return larger;
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t n_bytes) {
    char *block = malloc(n_bytes + alignment);
    size_t over = block == NULL ? 0 : (uintptr_t)block % alignment;
    *ret = block == NULL ? NULL : over == 0 ? block : block + alignment - over;
    return block == NULL ? ENOMEM : 0;
}

EXPORT void *aligned_alloc(size_t alignment, size_t n_bytes) {
    void *block = NULL;
    return posix_memalign(&block, alignment, n_bytes) == 0 ? block : NULL;
}

EXPORT void *memalign(size_t alignment, size_t n_bytes) {
    return aligned_alloc(alignment, n_bytes);
}
