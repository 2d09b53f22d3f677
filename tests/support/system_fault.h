/* system_fault.h - makes the n-th system call fail, for tests: calls for memory maps, locks, files
 * and zlib's states. A program that links tide_test_system has its calls, and those of all archives
 * that it links, go through here (--wrap); calls inside shared objects do not.
 */
#ifndef TIDE_TESTS_SUPPORT_SYSTEM_FAULT_H
#define TIDE_TESTS_SUPPORT_SYSTEM_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* Kinds of calls that are counted separately. */
typedef enum tide_system_call {
    TIDE_SYSTEM_MMAP = 0,
    TIDE_SYSTEM_MPROTECT,
    TIDE_SYSTEM_MUTEX_INIT,
    TIDE_SYSTEM_OPEN,
    TIDE_SYSTEM_READ,
    TIDE_SYSTEM_WRITE,
    TIDE_SYSTEM_FSYNC,
    TIDE_SYSTEM_CLOSE, /* closes the file even if it fails, as the system's does */
    TIDE_SYSTEM_RENAME,
    TIDE_SYSTEM_RANDOM,
    TIDE_SYSTEM_REALPATH,
    TIDE_SYSTEM_DEFLATE_INIT,
    TIDE_SYSTEM_INFLATE_INIT,
    TIDE_SYSTEM_FOPEN,
    TIDE_SYSTEM_FREAD,
    TIDE_SYSTEM_FCLOSE, /* closes the file nevertheless */
    TIDE_SYSTEM_LINK,   /* also renameat2, the fallback */
    TIDE_N_SYSTEM_CALLS
} tide_system_call;

/* Kinds of resources that are counted while they exist. */
typedef enum tide_system_kind {
    TIDE_SYSTEM_MAPS = 0,
    TIDE_SYSTEM_LOCKS,
    TIDE_SYSTEM_FILES, /* open descriptors */
    TIDE_N_SYSTEM_KINDS
} tide_system_kind;

/* Not thread-safe. */
typedef struct tide_system_fault {
    size_t fail_call;                     /* this call fails, counted from 1; 0: none */
    size_t n_calls;                       /* so far */
    size_t n_failed[TIDE_N_SYSTEM_CALLS]; /* by kind */
    int n_live[TIDE_N_SYSTEM_KINDS]; /* resources created and not released while this fault was in
                                        use */
} tide_system_fault;

/* From now on `fault` (borrowed) decides which calls fail; NULL: none. */
void tide_system_fault_use(tide_system_fault *fault);

/* "fsync". */
const char *tide_system_call_name(tide_system_call call);

#endif
