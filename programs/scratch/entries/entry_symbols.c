/* entry_symbols.c - dlsym and dlvsym: a function that a program requests through the C library's
 * own handle comes from the view.
 *
 * In a recorded process the recorder's dlsym comes first (programs/live/entries/entry_symbols.c)
 * and asks here; the dlsym here is then never called.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT, RTLD_NEXT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/state.h"
#include "programs/scratch/entries/symbols.h"

typedef void *by_name(void *, const char *);
typedef void *by_version(void *, const char *, const char *);

/* The C library's own, for the jumps below. */
__attribute__((visibility("hidden"))) by_name *tide_scratch_next_dlsym;
__attribute__((visibility("hidden"))) by_version *tide_scratch_next_dlvsym;

static void *nothing(void) {
    return NULL;
}

static void find_next(void) {
    void *name = tide_scratch_library_symbol("dlsym");
    void *version = tide_scratch_library_symbol("dlvsym");
    void *(*none)(void) = nothing;
    memcpy(&tide_scratch_next_dlvsym, version != NULL ? &version : (void *)&none, sizeof(void *));
    memcpy(&tide_scratch_next_dlsym, name != NULL ? &name : (void *)&none, sizeof(void *));
}

/* From the virtual card, if it is also preloaded (programs/virtual_cuda/doors/doors.h). */
extern bool tidemark_virtual_has_name(const char *name) __attribute__((weak));
extern void *tidemark_virtual_symbol(const char *name, void *found) __attribute__((weak));
extern void *tidemark_virtual_next(const char *name, const void *caller) __attribute__((weak));

static void *look_up(void *handle, const char *name, const char *version) {
    return version == NULL ? tide_scratch_next_dlsym(handle, name)
                           : tide_scratch_next_dlvsym(handle, name, version);
}

/* The virtual card's function for a name of NVIDIA's. NULL: the C library answers. */
static void *choose_of_card(void *handle, const char *name, const char *version,
                            const void *caller) {
    if (handle == RTLD_NEXT) {
        return tidemark_virtual_next(name, caller);
    }
    return handle == RTLD_DEFAULT ? NULL
                                  : tidemark_virtual_symbol(name, look_up(handle, name, version));
}

/* The view's function, if the handle's function of that name and `version` (NULL: any) is the C
 * library's own, or the virtual card's function. Otherwise NULL, and the caller asks the C library,
 * which looks at its caller for RTLD_NEXT and RTLD_DEFAULT, and keeps the text for dlerror.
 */
static void *choose(void *handle, const char *name, const char *version, const void *caller) {
    if (tide_scratch_next_dlsym == NULL) {
        find_next();
    }
    if (tidemark_virtual_has_name != NULL && tidemark_virtual_has_name(name)) {
        return choose_of_card(handle, name, version, caller);
    }
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || name == NULL) {
        return NULL;
    }
    void *own = tide_scratch_own_symbol(name);
    if (own == NULL || !tide_scratch_serves()) {
        return NULL;
    }
    void *found = look_up(handle, name, version);
    if (found == NULL || !tide_scratch_is_of_library(found)) {
        return NULL;
    }
    if (strcmp(name, "dlsym") == 0) { /* the recorder's, if there is one */
        by_name *first = dlsym;
        memcpy(&own, &first, sizeof(own));
    }
    return own;
}

void *tidemark_scratch_symbol(void *handle, const char *name, const void *caller);
void *tide_scratch_choose_version(void *handle, const char *name, const char *version,
                                  const void *caller);

/* For the recorder's dlsym, and for the one below. */
TIDE_SCRATCH_EXPORT void *tidemark_scratch_symbol(void *handle, const char *name,
                                                  const void *caller) {
    return choose(handle, name, NULL, caller);
}

__attribute__((visibility("hidden"), used)) void *tide_scratch_choose_version(void *handle,
                                                                              const char *name,
                                                                              const char *version,
                                                                              const void *caller) {
    return choose(handle, name, version, caller);
}

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rdx\n" /* the caller */
        "    call tidemark_scratch_symbol@PLT\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    jmp *tide_scratch_next_dlsym(%rip)\n"
        "1:  ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");

__asm__(".text\n"
        ".globl dlvsym\n"
        ".type dlvsym, @function\n"
        "dlvsym:\n"
        ".cfi_startproc\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rcx\n" /* the caller */
        "    call tide_scratch_choose_version\n"
        "    popq %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    jmp *tide_scratch_next_dlvsym(%rip)\n"
        "1:  ret\n"
        ".cfi_endproc\n"
        ".size dlvsym, .-dlvsym\n");
