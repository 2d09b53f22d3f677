/* A system that does not execute pages that were written, as under SELinux: to be preloaded. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mprotect(void *address, size_t n_bytes, int protection) {
    if ((protection & PROT_EXEC) != 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, n_bytes, protection);
}
