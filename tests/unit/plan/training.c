#include "training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made_snapshot.h"

enum {
    STEP = 0,
    FORWARD,
    BACKWARD,
    OPTIMIZER,
    FORWARD_0,
    FORWARD_1,
    BACKWARD_1,
    BACKWARD_0,
    N_SCOPES
};

static const char *const STRINGS[] = {"step", "forward", "backward",      "optimizer",
                                      "h.0",  "h.1",     "cross_entropy", "train.py"};

static tide_scope_row scope(uint32_t parent, uint32_t name, tide_scope_kind kind) {
    return (tide_scope_row){.duration_ns = TIDE_SCOPE_OPEN,
                            .parent = parent,
                            .name = name,
                            .index = kind == TIDE_SCOPE_STEP ? 0 : -1,
                            .kind = (uint8_t)kind};
}

static tide_event row(tide_action action, unsigned number, int64_t mib, uint32_t at,
                      tide_category category) {
    tide_event made = made_event(action, ((uint64_t)1 << 40) + ((uint64_t)number << 30),
                                 (uint64_t)(mib * MIB), (uint64_t)(mib * MIB));
    made.scope = at;
    made.category = (uint8_t)category;
    return made;
}

static tide_event get(unsigned number, int64_t mib, uint32_t at, tide_category category) {
    return row(TIDE_ACTION_ALLOC, number, mib, at, category);
}

static tide_event drop(unsigned number, int64_t mib, uint32_t at, tide_category category) {
    return row(TIDE_ACTION_FREE, number, mib, at, category);
}

tide_snapshot *made_training(const tide_snapshot_setting *facts, size_t n_facts) {
    static tide_scope_row scopes[N_SCOPES];
    static const tide_frame_row FRAMES[] = {{.function = 6, .file = 7, .line = 3}};
    static const tide_stack_row STACKS[] = {{.frame = 0, .parent = TIDE_NONE}};
    scopes[STEP] = scope(TIDE_NONE, 0, TIDE_SCOPE_STEP);
    scopes[FORWARD] = scope(STEP, 1, TIDE_SCOPE_PHASE);
    scopes[BACKWARD] = scope(STEP, 2, TIDE_SCOPE_PHASE);
    scopes[OPTIMIZER] = scope(STEP, 3, TIDE_SCOPE_PHASE);
    scopes[FORWARD_0] = scope(FORWARD, 4, TIDE_SCOPE_LAYER);
    scopes[FORWARD_1] = scope(FORWARD, 5, TIDE_SCOPE_LAYER);
    scopes[BACKWARD_1] = scope(BACKWARD, 5, TIDE_SCOPE_LAYER);
    scopes[BACKWARD_0] = scope(BACKWARD, 4, TIDE_SCOPE_LAYER);
    tide_event events[] = {
        get(1, 100, TIDE_NONE, TIDE_PARAMETER),   get(2, 10, FORWARD_0, TIDE_ACTIVATION),
        get(3, 4, FORWARD_0, TIDE_ACTIVATION),    get(4, 10, FORWARD_1, TIDE_ACTIVATION),
        get(5, 4, FORWARD_1, TIDE_ACTIVATION),    get(6, 30, FORWARD, TIDE_ACTIVATION),
        get(7, 40, BACKWARD_1, TIDE_GRADIENT),    drop(6, 30, BACKWARD, TIDE_ACTIVATION),
        drop(5, 4, BACKWARD_1, TIDE_ACTIVATION),  drop(4, 10, BACKWARD_1, TIDE_ACTIVATION),
        get(8, 40, BACKWARD_0, TIDE_GRADIENT),    drop(3, 4, BACKWARD_0, TIDE_ACTIVATION),
        drop(2, 10, BACKWARD_0, TIDE_ACTIVATION), get(9, 200, OPTIMIZER, TIDE_OPTIMIZER_STATE),
        get(10, 50, OPTIMIZER, TIDE_TEMPORARY),   drop(10, 50, OPTIMIZER, TIDE_TEMPORARY),
        drop(7, 40, OPTIMIZER, TIDE_GRADIENT),    drop(8, 40, OPTIMIZER, TIDE_GRADIENT),
    };
    events[5].stack = 0; /* the logits' cross-entropy */
    tide_snapshot *made =
        made_snapshot(NULL,
                      &(made_tables){.strings = STRINGS,
                                     .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                     .scopes = scopes,
                                     .n_scopes = N_SCOPES,
                                     .frames = FRAMES,
                                     .n_frames = 1,
                                     .stacks = STACKS,
                                     .n_stacks = 1,
                                     .n_devices = 1},
                      events, sizeof(events) / sizeof(events[0]));
    made->plan = facts;
    made->n_plan = n_facts;
    return made;
}
