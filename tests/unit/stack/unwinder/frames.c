#include "unit/stack/unwinder/frames.h"

#include <alloca.h>

#ifndef FRAME_BYTES
#define FRAME_BYTES                                                                                \
    24 /* of the small frame; libraries that differ in it alone have equal layouts */
#endif

#define NOT_INLINED __attribute__((noinline))

static volatile unsigned n_returns;
static volatile char *volatile last_room; /* known outside, so that all of it must be there */

/* All of them go on the same way. What comes after the call keeps it from being the last one. */
#define GO_ON tide_test_frames(path >> 3, depth - 1, inner, data)

static NOT_INLINED void small(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    volatile char room[FRAME_BYTES];
    room[0] = 1;
    last_room = room;
    GO_ON;
    n_returns += (unsigned)room[0];
}

static NOT_INLINED void other_small(uint64_t path, unsigned depth, void (*inner)(void *),
                                    void *data) {
    volatile char room[FRAME_BYTES];
    room[0] = 2;
    last_room = room;
    GO_ON;
    n_returns += (unsigned)room[0];
}

static NOT_INLINED void large(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    volatile char room[3000];
    room[0] = 1;
    GO_ON;
    n_returns += (unsigned)room[0];
}

/* The frame's size is known at run time alone, so the CFA is found by rbp. */
static NOT_INLINED void variable(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    volatile char *room = alloca((size_t)(16 + (path & 0xff)));
    room[0] = 1;
    GO_ON;
    n_returns += (unsigned)room[0];
}

/* A realigned frame, whose CFA gcc describes by an expression if the size varies, too. */
static NOT_INLINED void aligned(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    _Alignas(64) volatile char room[64];
    volatile char *more = alloca((size_t)(16 + (path & 0xff)));
    room[0] = 1;
    more[0] = 1;
    GO_ON;
    n_returns += (unsigned)room[0] + (unsigned)more[0];
}

/* The last thing it does is a call, for which it leaves no frame where compilers do that. */
static NOT_INLINED void leaving(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    n_returns += 1;
    GO_ON;
}

/* So many values alive across the call that rbp holds one of them. */
static NOT_INLINED void busy(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    uint64_t a = path * 3, b = path * 5, c = path * 7, d = path * 11, e = path * 13, f = path * 17;
    GO_ON;
    n_returns += (unsigned)(a ^ b ^ c ^ d ^ e ^ f);
}

NOT_INLINED void tide_test_frames(uint64_t path, unsigned depth, void (*inner)(void *),
                                  void *data) {
    static frames_function *const kinds[8] = {small,   other_small, large, variable,
                                              aligned, leaving,     busy,  small};
    if (depth == 0) {
        inner(data);
    } else {
        kinds[path & 7](path, depth, inner, data);
    }
    n_returns += 1;
}
