/* answer.h - how our functions return results as the C library's do, and how to reach the C
 * library's own.
 */
#ifndef TIDE_SCRATCH_ANSWER_H
#define TIDE_SCRATCH_ANSWER_H

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Returns a result, or -1 with errno for a negative one. */
static inline long tide_scratch_answer(long result) {
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* Sets `function`, a pointer to a function, to the C library's function of this name; once. */
#define TIDE_SCRATCH_NEXT(function, name)                                                          \
    do {                                                                                           \
        if ((function) == NULL) {                                                                  \
            void *tide_found_ = dlsym(RTLD_NEXT, name);                                            \
            memcpy(&(function), &tide_found_, sizeof(tide_found_));                                \
        }                                                                                          \
    } while (0)

#endif
