/* machine.h - the emulator's internals: what runs now, and the interfaces between its parts. */
#ifndef TIDE_TESTS_MACHINE_H
#define TIDE_TESTS_MACHINE_H

#include <map>
#include <vector>

#include "cuda_emulator.h"
#include "emulator.h"

#if defined(__SANITIZE_ADDRESS__)
#define TIDE_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIDE_EMULATOR_ASAN 1
#endif
#endif
#ifndef TIDE_EMULATOR_ASAN
#define TIDE_EMULATOR_ASAN 0
#endif

namespace tide_emulator {

struct fiber; /* fiber.cpp */

/* ---- fibers: a stack each, which survives its thread and serves the next ---- */
fiber *fiber_take(void (*body)(void *), void *argument);
void fiber_give_back(fiber *used);
/* Returns the fiber to the pool although its thread has not ended; abandons its stack. */
void fiber_abandon(fiber *stuck);
/* Runs the fiber until it waits or ends; true when it has ended. */
bool fiber_resume(fiber *next);
/* Called inside a fiber: switches back to its resumer. */
void fiber_wait(fiber *self);
/* The lowest byte of its stack, and one past the highest. */
void fiber_bounds(const fiber *self, const char **ret_low, const char **ret_high);

/* One CUDA thread of the block that runs. */
struct thread {
    fiber *stack;             /* owned until the thread ends; nullptr before its first turn */
    uint3 index;              /* threadIdx */
    meeting waits_for;        /* no lanes while it can run */
    bool done;                /* has returned from the kernel */
    unsigned mask;            /* lanes that it waits for */
    void *data;               /* its contribution to the meeting, on its own stack */
    combine_function combine; /* makes the meeting's result */
    const char *file;         /* where it waits */
    int line;                 /* where it waits */
};

/* Sets of lanes of one warp, as bits. */
struct warp {
    unsigned ready;   /* can run */
    unsigned meeting; /* wait for other lanes */
    unsigned done;    /* have returned */
};

/* An array in shared memory of the running block. */
struct shared_range {
    const void *key;  /* the declaration; nullptr: the dynamic array */
    const char *name; /* as declared */
    char *base;       /* its first byte */
    size_t n_bytes;   /* its length */
};

/* The calls to the race detector; race.cpp fills them in if it is linked. */
struct race_hooks {
    void (*launch)();
    void (*block)();
    void (*barrier)();
    void (*meet)(unsigned warp_index, unsigned mask); /* __syncwarp alone orders memory */
    void (*see)(const void *address, size_t n_bytes, access kind, const char *file, int line);
    /* A copy into shared memory is on its way from now on, or has arrived. */
    void (*copy)(const void *address, size_t n_bytes, bool begins);
};

struct machine {
    tide_emulator_order order;   /* of blocks, warps and lanes */
    unsigned seed;               /* of the shuffled order */
    unsigned random;             /* its state */
    const char *kernel;          /* as its launch names it; nullptr outside launches */
    void (*body)(void *);        /* calls the kernel */
    char *argument;              /* of the body: the launch's arguments */
    size_t argument_bytes;       /* of the whole */
    size_t touched_bytes;        /* of device memory by this launch; the race detector counts */
    std::vector<thread> threads; /* of the block that runs */
    warp warps[32];              /* of the block that runs */
    const char *stack_low, *stack_high; /* of the thread that runs */
    thread *current;                    /* nullptr outside kernels */
    bool combines;       /* a meeting's result is being made, which writes to the stacks of lanes */
    size_t shared_limit; /* of static and dynamic together, by launch */
    std::vector<shared_range> shared;   /* of the block that runs; [0] is dynamic */
    size_t shared_bytes;                /* of all of them */
    std::map<const void *, int> limits; /* opted in for, by kernel */
    const race_hooks *race;             /* nullptr without the race detector */
    unsigned long long n_switches;      /* since the start */
};

extern machine the;

/* Reports an error; the place may be nullptr. */
void report(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- shared memory ---- */
enum { SHARED_DEFAULT = 48 << 10, SHARED_LARGEST = 227 << 10 };
void shared_begin_block(size_t dynamic_bytes);
/* Reports writes into the gaps between arrays. */
void shared_end_block();
/* Whether the address is in the arena at all. */
bool shared_arena_holds(const void *address);
/* The array that holds all n_bytes; nullptr: none. */
const shared_range *shared_find(const void *address, size_t n_bytes);

/* ---- device memory ---- */
/* Called around a launch: makes hidden memory accessible, and inaccessible again. */
void device_memory_open();
void device_memory_close();

/* ---- copies ---- */
/* Drops the copies that the last block has begun. */
void copies_begin_block();

inline unsigned thread_number() {
    return static_cast<unsigned>(the.current - the.threads.data());
}

} /* namespace tide_emulator */

#endif
