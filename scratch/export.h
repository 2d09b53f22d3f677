/* export.h - how the scratch view takes the place of a function of the C library.
 *
 * The library is built with hidden visibility. What programs must find before the C library's own
 * is marked with TIDE_SCRATCH_EXPORT. A function that exists under two names, open and open64, is
 * written once and gets its second name with TIDE_SCRATCH_ALSO.
 */
#ifndef TIDE_SCRATCH_EXPORT_H
#define TIDE_SCRATCH_EXPORT_H

#define TIDE_SCRATCH_EXPORT __attribute__((visibility("default")))

#define TIDE_SCRATCH_ALSO(name, other)                                                             \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

#endif
