/* real_function.h - finds the C library's own function that a function of this library replaces.
 *
 * Thread-safe. Once found, a function may be looked up again in signal handlers. So functions that
 * handlers may call are called once when this library is loaded.
 */
#ifndef TIDE_VIRTUAL_CUDA_REAL_FUNCTION_H
#define TIDE_VIRTUAL_CUDA_REAL_FUNCTION_H

#include <string.h>

/* The next function of that name after this library. *kept, NULL at first, remembers it. Returns
 * NULL if there is none; the next call looks again. */
void *tide_vc_real_function(void **kept, const char *name);

/* The result of a function that reports errors by errno, if the real one is missing: -1 with
 * ENOSYS. */
int tide_vc_no_function(void);

/* Declares `real`, the real function of that name. If it is missing, the calling function returns
 * `missing`. */
#define TIDE_VC_REAL(missing, type, name, ...)                                                     \
    static void *kept;                                                                             \
    type (*real)(__VA_ARGS__) = NULL;                                                              \
    void *found = tide_vc_real_function(&kept, #name);                                             \
    memcpy(&real, &found, sizeof(real));                                                           \
    if (real == NULL) {                                                                            \
        return missing;                                                                            \
    }

#endif
