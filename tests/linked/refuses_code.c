/* A system that does not execute pages that were written, as under SELinux, or, with BOTH, that has
 * no pages which are writable and executable: to be preloaded. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef BOTH
enum { REFUSED = PROT_EXEC | PROT_WRITE };
#else
enum { REFUSED = PROT_EXEC };
#endif

int mprotect(void *address, size_t n_bytes, int protection) {
    if ((protection & REFUSED) == REFUSED) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, n_bytes, protection);
}
