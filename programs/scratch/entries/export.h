/* export.h - how the scratch view replaces a function of the C library.
 *
 * The library is built with hidden visibility. TIDE_SCRATCH_EXPORT marks the functions that
 * programs must find before the C library's. A function that exists under two names, open and
 * open64, is written once and gets its second name with TIDE_SCRATCH_ALSO.
 *
 * The following are out of reach, and so really happen: system calls that a program makes itself,
 * as Go programs do, or by io_uring; of those through syscall(), the ones that entry_calls.c does
 * not know; programs that are linked statically, have
 * 32 bits, or run with the rights of another user (they are noted in FOLDER/unseen); functions of
 * the C library that open files internally and are not replaced here, such as fts_open. A
 * descriptor that was opened for reading keeps showing the original file, even if the file gets a
 * copy later.
 */
#ifndef TIDE_SCRATCH_EXPORT_H
#define TIDE_SCRATCH_EXPORT_H

#define TIDE_SCRATCH_EXPORT __attribute__((visibility("default")))

#define TIDE_SCRATCH_ALSO(name, other)                                                             \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

#endif
