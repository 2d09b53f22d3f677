/* entry_libraries.c - dlopen of a library that only a copy holds, such as one that was just
 * compiled. RTLD_DEEPBIND is removed: with it a library would find the C library's functions before
 * the view's.
 *
 * The C library looks at the caller of dlopen to find the folders that it searches, so none of our
 * frames may be between the two: the path is replaced, and the call continues with a jump.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"

/* The C library's dlopen, for the jump below. */
__attribute__((visibility("hidden"))) void *(*tide_scratch_next_dlopen)(const char *, int);

typedef struct opened {
    const char *name;
    long flags;
} opened;

opened tide_scratch_library(const char *name, int flags);

/* The real path of a library. It is kept as long as the process, like a loaded library. */
static const char *real_name(const char *name) {
    if (name == NULL || strchr(name, '/') == NULL || !tide_scratch_has_written()) {
        return name;
    }
    tide_scratch_place place;
    int at = AT_FDCWD;
    const char *seen = name;
    /* A deleted library gets a path that does not exist. */
    if (tide_scratch_see(&at, &seen, TIDE_SCRATCH_FOLLOW, &place) != 0) {
        return "/proc/self/tidemark-gone";
    }
    if (seen == name) {
        return name;
    }
    const char *copy = strdup(seen);
    return copy != NULL ? copy : name;
}

__attribute__((visibility("hidden"), used)) opened tide_scratch_library(const char *name,
                                                                        int flags) {
    TIDE_SCRATCH_NEXT(tide_scratch_next_dlopen, "dlopen");
    bool is_on = tide_scratch_state_get()->mode != TIDE_SCRATCH_OFF;
    return (opened){real_name(name), is_on ? flags & ~RTLD_DEEPBIND : flags};
}

__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        ".cfi_startproc\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call tide_scratch_library\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    movq %rax, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    jmp *tide_scratch_next_dlopen(%rip)\n"
        ".cfi_endproc\n"
        ".size dlopen, .-dlopen\n");
