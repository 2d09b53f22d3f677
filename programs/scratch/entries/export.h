/* export.h - how the scratch view takes the place of a function of the C library.
 *
 * The library is built with hidden visibility. What programs must find before the C library's own
 * is marked with TIDE_SCRATCH_EXPORT. A function that exists under two names, open and open64, is
 * written once and gets its second name with TIDE_SCRATCH_ALSO.
 *
 * What is out of reach, and so really happens: system calls that a program makes itself, also
 * through syscall() and io_uring, as programs written in Go do; programs that are linked
 * statically, have 32 bits, or run with the rights of another user (they are noted in
 * FOLDER/unseen); functions of the C library that open files on their own beside those replaced
 * here, such as fts_open. What a file was when a program opened it for reading stays what that
 * descriptor shows, though the file gets a copy later.
 */
#ifndef TIDE_SCRATCH_EXPORT_H
#define TIDE_SCRATCH_EXPORT_H

#define TIDE_SCRATCH_EXPORT __attribute__((visibility("default")))

#define TIDE_SCRATCH_ALSO(name, other)                                                             \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

#endif
