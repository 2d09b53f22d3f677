#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "programs/virtual_cuda/linked/called.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "common/assert.h"

typedef struct step {
    unsigned char code[16];
    void (*routine)(void);
    const void *function;
    tide_vc_calls *of;
} step;

/* lea -7(%rip), %r11: the step's own address; jmp *3(%rip): its routine. */
static const unsigned char CODE[16] = {0x4c, 0x8d, 0x1d, 0xf9, 0xff, 0xff, 0xff, 0xff,
                                       0x25, 3,    0,    0,    0,    0xcc, 0xcc, 0xcc};
_Static_assert(offsetof(step, routine) == 16 && offsetof(step, function) == 24 &&
                   offsetof(step, of) == 32,
               "the code below and CODE have these offsets");

void tide_vc_calls_routine(void);
void tide_vc_calls_note(tide_vc_calls *of);

/* No function of the runtime has an argument in a vector register. %r11 is no argument. The stack
 * is as the caller left it when the function begins. */
__asm__(".text\n"
        ".globl tide_vc_calls_routine\n"
        ".hidden tide_vc_calls_routine\n"
        ".type tide_vc_calls_routine, @function\n"
        "tide_vc_calls_routine:\n"
        "    .cfi_startproc\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    push %rdx\n"
        "    push %rcx\n"
        "    push %r8\n"
        "    push %r9\n"
        "    push %r11\n"
        "    .cfi_adjust_cfa_offset 56\n"
        "    mov 32(%r11), %rdi\n"
        "    call tide_vc_calls_note@PLT\n"
        "    pop %r11\n"
        "    pop %r9\n"
        "    pop %r8\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    .cfi_adjust_cfa_offset -56\n"
        "    jmp *24(%r11)\n"
        "    .cfi_endproc\n"
        ".size tide_vc_calls_routine, . - tide_vc_calls_routine\n");

void tide_vc_calls_note(tide_vc_calls *of) {
    if (!__atomic_load_n(&of->have_begun, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&of->have_begun, true, __ATOMIC_RELAXED)) {
        int kept = errno;
        of->begin(of);
        errno = kept;
    }
}

bool tide_vc_calls_watch(tide_vc_replacement *all, size_t n, tide_vc_calls *of) {
    TIDE_ASSERT(n > 0);
    step *steps =
        mmap(NULL, n * sizeof(*steps), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (steps == MAP_FAILED) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        steps[i].routine = tide_vc_calls_routine;
        steps[i].function = all[i].function;
        steps[i].of = of;
        memcpy(steps[i].code, CODE, sizeof(CODE));
    }
    if (mprotect(steps, n * sizeof(*steps), PROT_READ | PROT_EXEC) != 0) {
        (void)munmap(steps, n * sizeof(*steps));
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_for_loading) {
            all[i].function = &steps[i];
        }
    }
    return true;
}
