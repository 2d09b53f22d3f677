/* entry_exit.c - stand-ins for the functions that end a process without its destructors.
 * Python's os._exit calls them. A black box must not take a good end for a kill. */
#define _GNU_SOURCE /* syscall */
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/live/box/black_box.h"

static _Noreturn void leave(int status) {
    tide_black_box_leave(status);
    for (;;) {
        (void)syscall(SYS_exit_group, status);
    }
}

__attribute__((visibility("default"))) _Noreturn void _exit(int status) {
    leave(status);
}

__attribute__((visibility("default"))) _Noreturn void _Exit(int status) {
    leave(status);
}
