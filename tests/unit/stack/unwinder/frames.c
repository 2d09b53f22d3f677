#include "unit/stack/unwinder/frames.h"

#include <alloca.h>

#ifndef FRAME_BYTES
#define FRAME_BYTES                                                                                \
    24 /* of the small frame; libraries that differ in it alone have equal layouts */
#endif

#define NOT_INLINED __attribute__((noinline))

static volatile unsigned n_returns;
static volatile char
    *volatile last_room; /* visible to other code, so that the compiler keeps the room */

/* All functions continue in the same way. The code after the call keeps the compiler from making it
 * a tail call. */
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

/* The size of the frame is known only at run time, so the CFA is computed from rbp. */
static NOT_INLINED void variable(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    volatile char *room = alloca((size_t)(16 + (path & 0xff)));
    room[0] = 1;
    GO_ON;
    n_returns += (unsigned)room[0];
}

/* A realigned frame. If its size varies as well, gcc describes its CFA by an expression. */
static NOT_INLINED void aligned(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    _Alignas(64) volatile char room[64];
    volatile char *more = alloca((size_t)(16 + (path & 0xff)));
    room[0] = 1;
    more[0] = 1;
    GO_ON;
    n_returns += (unsigned)room[0] + (unsigned)more[0];
}

/* Ends with a tail call, for which optimising compilers leave no frame. */
static NOT_INLINED void leaving(uint64_t path, unsigned depth, void (*inner)(void *), void *data) {
    n_returns += 1;
    GO_ON;
}

/* Keeps so many values alive across the call that rbp holds one of them. */
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
