/* start.c - the start of a program that is linked with a newer glibc's start files.
 *
 * Before 2.34, glibc's __libc_start_main called the program's constructors through its fourth
 * argument. The start files of newer ones pass NULL there, because the newer function finds the
 * constructors itself; it still accepts the argument.
 */
#include <stddef.h>

typedef int tide_glibc_main(int, char **, char **);
typedef void tide_glibc_constructor(int, char **, char **);

extern tide_glibc_constructor *const __init_array_start[], *const __init_array_end[];
extern void _init(void);

int __real___libc_start_main(tide_glibc_main *run, int argc, char **argv,
                             tide_glibc_constructor *init, void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(tide_glibc_main *run, int argc, char **argv,
                             tide_glibc_constructor *init, void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end);

static void construct(int argc, char **argv, char **environment) {
    _init();
    size_t n = (size_t)(__init_array_end - __init_array_start);
    for (size_t i = 0; i < n; i++) {
        __init_array_start[i](argc, argv, environment);
    }
}

/* --wrap puts this in the place of glibc's. The loader runs the destructors, in old and new ones.
 */
int __wrap___libc_start_main(tide_glibc_main *run, int argc, char **argv,
                             tide_glibc_constructor *init, void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end) {
    (void)init;
    return __real___libc_start_main(run, argc, argv, construct, fini, loader_fini, stack_end);
}
