/* A program with a runtime of its own, or with a library that has one: program [LIBRARY]. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LINKED
#include "runtime.h"
#endif

#ifdef LINKED
static void *take_memory(size_t n_bytes) {
    void *address = NULL;
    printf("cudaMalloc %d\n", cudaMalloc(&address, n_bytes));
    return address;
}
#endif

int main(int argc, char **argv) {
    int (*work)(void) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "library_work");
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        found = library != NULL ? dlsym(library, "library_work") : NULL;
        if (found == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
    }
#ifdef LINKED
    (void)take_memory((size_t)64 << 20);
#endif
    memcpy(&work, &found, sizeof(work));
    if (work != NULL) {
        (void)work();
    }
    return 0;
}
