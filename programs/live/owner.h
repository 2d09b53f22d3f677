/* owner.h - the owner of memory: the library that asked CUDA for it.
 *
 * A call's return address identifies the library. NVIDIA's runtime may be linked into a library,
 * which then counts as the caller. If the runtime is a separate library, or Python called through
 * ctypes, the stack is walked to the first other library. Nothing is allocated with malloc, and no
 * lock is waited for that a library's constructor may hold. Thread-safe.
 */
#ifndef TIDE_LIVE_OWNER_H
#define TIDE_LIVE_OWNER_H

#include <stddef.h>

enum { TIDE_LIVE_MAX_OWNERS = 64 };

/* The number of the owner for a call that returns to `caller`, in a function that the calling
 * thread is in. Below TIDE_LIVE_MAX_OWNERS; the last number is "others", for owners that do not fit
 * in the table. */
unsigned tide_live_owner(const void *caller);

/* The number of an owner by name, such as "context". The text is copied. */
unsigned tide_live_owner_named(const char *name);

/* Valid for ever; "others" for a number out of range. */
const char *tide_live_owner_name(unsigned owner);

/* The name of the owner of a library at this path: "PyTorch", "NCCL". An unknown library has its
 * own name: "/usr/lib/libfoo.so.3" is "libfoo", and a module of a Python package is the package.
 * Copied to `name` and cut to n_bytes. NULL: the library only passes calls on (CUDA's runtime). */
const char *tide_live_owner_of_library(const char *path, char *name, size_t n_bytes);

/* For a process just made by fork(). */
void tide_live_owner_forked(void);

#endif
