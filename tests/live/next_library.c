/* next_library.c - one of two libraries with the same function, which looks for the other one's. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

int where(void);

int where(void) {
    static int n_calls;
    int (*next)(void) = NULL;
    void *found = dlsym(RTLD_NEXT, "where");
    memcpy(&next, &found, sizeof(next));
    /* Found again, this function would be called without end. */
    return n_calls++ > 0 ? -100 : NUMBER + (next != NULL ? 10 * next() : 0);
}
