/* user_library.c - a library of the user: it is linked with the runtime, which its RUNPATH finds.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stddef.h>

void *user_linked(void);
void *user_opened(void);
void *user_next(const char *name);
void *user_default(const char *name);

/* NOLINTBEGIN(readability-identifier-naming): names of NVIDIA's */
int cudaGetDeviceCount(void *ret_n);
int cudaDeviceReset(void);

/* A function of NVIDIA's, of which each library has its own. */
int cudaDeviceReset(void) {
    return 0;
}
/* NOLINTEND(readability-identifier-naming) */

static void *as_object(int (*function)(void *)) {
    union {
        int (*function)(void *);
        void *object;
    } either = {.function = function};
    return either.object;
}

void *user_linked(void) {
    return as_object(cudaGetDeviceCount);
}

/* By a bare name, which only this library's RUNPATH finds. */
void *user_opened(void) {
    void *library = dlopen("libcublas.so.13", RTLD_NOW);
    return library != NULL ? dlsym(library, "cublasCreate_v2") : NULL;
}

void *user_next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

void *user_default(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}
