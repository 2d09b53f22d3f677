/* entry_libraries.c - dlopen and dlmopen.
 *
 * A library that only a copy holds, such as one that was just compiled, is opened there. The
 * driver's library and NVML are the virtual card's object, by any path. RTLD_DEEPBIND is removed,
 * and a new namespace becomes the program's own: otherwise a library would find the C library's and
 * NVIDIA's functions before ours.
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
opened tide_scratch_space(long space, const char *name, int flags);

/* The C library's dlmopen, for the jump below. */
__attribute__((visibility("hidden"))) void *(*tide_scratch_next_dlmopen)(long, const char *, int);

/* From the virtual card and the recorder, if they are also preloaded
 * (programs/virtual_cuda/doors/doors.h, programs/live/exports.h). */
extern const char *tidemark_virtual_library(const char *name) __attribute__((weak));
extern int tidemark_live_is_open(void) __attribute__((weak));

/* Whether any of our objects replaces functions. */
static bool is_on(void) {
    return tidemark_virtual_library != NULL || tidemark_live_is_open != NULL ||
           tide_scratch_serves();
}

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
    const char *card = tidemark_virtual_library != NULL ? tidemark_virtual_library(name) : NULL;
    return (opened){card != NULL ? card : real_name(name),
                    is_on() ? flags & ~RTLD_DEEPBIND : flags};
}

/* NULL instead of a name: dlmopen is called as it was. */
__attribute__((visibility("hidden"), used)) opened tide_scratch_space(long space, const char *name,
                                                                      int flags) {
    TIDE_SCRATCH_NEXT(tide_scratch_next_dlmopen, "dlmopen");
    (void)space;
    return name != NULL && is_on() ? tide_scratch_library(name, flags) : (opened){NULL, flags};
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

__asm__(".text\n"
        ".globl dlmopen\n"
        ".type dlmopen, @function\n"
        "dlmopen:\n"
        ".cfi_startproc\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call tide_scratch_space\n"
        "    popq %rcx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    movq %rax, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    jmp *tide_scratch_next_dlopen(%rip)\n"
        "1:  movq %rcx, %rdx\n"
        "    jmp *tide_scratch_next_dlmopen(%rip)\n"
        ".cfi_endproc\n"
        ".size dlmopen, .-dlmopen\n");
