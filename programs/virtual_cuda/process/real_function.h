/* real_function.h - the C library's own function behind one that this library answers for.
 *
 * Thread-safe. Once a function was found, looking it up again may be done in handlers of signals.
 * So functions that handlers may call are called once when this library is loaded.
 */
#ifndef TIDE_VIRTUAL_CUDA_REAL_FUNCTION_H
#define TIDE_VIRTUAL_CUDA_REAL_FUNCTION_H

#include <string.h>

/* The next function of that name behind this library. *kept, which is NULL at first, remembers it.
 * NULL: there is none, and the next call looks again. */
void *tide_vc_real_function(void **kept, const char *name);

/* What a function returns that reports errors by errno, where there is none behind it: -1 with
 * ENOSYS. */
int tide_vc_no_function(void);

/* Declares `real`, the function of that name behind this one. Where there is none, the calling
 * function returns `missing`. */
#define TIDE_VC_REAL(missing, type, name, ...)                                                     \
    static void *kept;                                                                             \
    type (*real)(__VA_ARGS__) = NULL;                                                              \
    void *found = tide_vc_real_function(&kept, #name);                                             \
    memcpy(&real, &found, sizeof(real));                                                           \
    if (real == NULL) {                                                                            \
        return missing;                                                                            \
    }

#endif
