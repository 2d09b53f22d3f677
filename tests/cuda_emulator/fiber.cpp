/* fiber.cpp - stacks that take turns on one OS thread. On x86-64 a switch saves the six registers
 * that a called function must keep; elsewhere it is ucontext's, which makes system calls. */
#include "machine.h"

#include <cstdlib>
#include <sys/mman.h>

#if TIDE_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(TIDE_EMULATOR_UCONTEXT)
#define TIDE_EMULATOR_ASSEMBLY 1
#else
#define TIDE_EMULATOR_ASSEMBLY 0
#include <ucontext.h>
#endif

namespace tide_emulator {

namespace {

/* ASan's frames have red zones. */
constexpr size_t STACK_BYTES = (TIDE_EMULATOR_ASAN ? 256 : 64) << 10;
constexpr size_t GUARD_BYTES = 4096;

#if TIDE_EMULATOR_ASSEMBLY
typedef void *saved_registers; /* the stack pointer; the registers are above it */
#else
typedef ucontext_t saved_registers;
#endif

} /* namespace */

struct fiber {
    saved_registers saved; /* while it does not run */
    char *stack;           /* STACK_BYTES, a guard page below */
    void *fake_stack;      /* ASan's */
    void (*body)(void *);  /* the function that it runs next */
    void *argument;        /* of body */
    bool ended;            /* body has returned */
    fiber *next;           /* in the pool */
};

namespace {

fiber *pool;     /* stacks that wait for a thread */
fiber scheduler; /* the OS thread's own stack */
#if TIDE_EMULATOR_ASAN
const void *scheduler_stack; /* the OS thread's own */
size_t scheduler_bytes;      /* of it */
#endif
fiber *starting; /* the fiber whose first turn begins */

#if TIDE_EMULATOR_ASSEMBLY
extern "C" void tide_emulator_switch(void **save, void *load);
asm(".text\n"
    ".p2align 4\n"
    ".globl tide_emulator_switch\n"
    ".type tide_emulator_switch,@function\n"
    "tide_emulator_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq "
    "%r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    retq\n"
    ".size tide_emulator_switch, .-tide_emulator_switch\n");

void swap(fiber *from, fiber *to) {
    tide_emulator_switch(&from->saved, to->saved);
}
#else
void swap(fiber *from, fiber *to) {
    (void)swapcontext(&from->saved, &to->saved);
}
#endif

void leave(fiber *self) {
#if TIDE_EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&self->fake_stack, scheduler_stack, scheduler_bytes);
#endif
    swap(self, &scheduler);
#if TIDE_EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(self->fake_stack, nullptr, nullptr);
#endif
}

void run_for_ever() {
    fiber *self = starting;
#if TIDE_EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_bytes);
#endif
    for (;;) {
        self->body(self->argument);
        self->ended = true;
        leave(self); /* the fiber resumes here with the next thread's body */
    }
}

void prepare(fiber *made) {
#if TIDE_EMULATOR_ASSEMBLY
    static unsigned colour; /* spreads the stacks over the sets of the cache */
    void **top = reinterpret_cast<void **>(made->stack + STACK_BYTES - 64 * (colour++ % 16));
    *--top = nullptr; /* run_for_ever's return address: 0 ends stack walks, and the slot aligns the
                         stack */
    *--top = reinterpret_cast<void *>(run_for_ever);
    for (int i = 0; i < 6; i++) {
        *--top = nullptr;
    }
    made->saved = top;
#else
    (void)getcontext(&made->saved);
    made->saved.uc_stack.ss_sp = made->stack;
    made->saved.uc_stack.ss_size = STACK_BYTES;
    made->saved.uc_link = nullptr;
    makecontext(&made->saved, run_for_ever, 0);
#endif
    made->fake_stack = nullptr;
}

fiber *make() {
    void *memory = mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) {
        report(nullptr, 0, "no memory for another thread's stack");
        std::abort();
    }
    fiber *made = new fiber();
    made->stack = static_cast<char *>(memory) + GUARD_BYTES;
    prepare(made);
    return made;
}

} /* namespace */

fiber *fiber_take(void (*body)(void *), void *argument) {
    fiber *taken = pool;
    if (taken != nullptr) {
        pool = taken->next;
    } else {
        taken = make();
    }
    taken->body = body;
    taken->argument = argument;
    taken->ended = false;
    return taken;
}

void fiber_give_back(fiber *used) {
    used->next = pool;
    pool = used;
}

void fiber_abandon(fiber *stuck) {
#if TIDE_EMULATOR_ASAN
    __asan_unpoison_memory_region(stuck->stack, STACK_BYTES);
#endif
    prepare(stuck);
    fiber_give_back(stuck);
}

bool fiber_resume(fiber *next) {
    the.n_switches++;
    starting = next;
#if TIDE_EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&scheduler.fake_stack, next->stack, STACK_BYTES);
#endif
    swap(&scheduler, next);
#if TIDE_EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(scheduler.fake_stack, nullptr, nullptr);
#endif
    return next->ended;
}

void fiber_wait(fiber *self) {
    leave(self);
}

void fiber_bounds(const fiber *self, const char **ret_low, const char **ret_high) {
    *ret_low = self->stack;
    *ret_high = self->stack + STACK_BYTES;
}

} /* namespace tide_emulator */
