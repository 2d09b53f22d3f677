#include "causes_fixture.h"

#include "support/made_snapshot.h"

#define LIBRARY "/opt/lib/python3.11/site-packages/torch/"

enum {
    MAIN = 0,
    RUN,
    CALL,
    INIT,
    CDIST,
    WORKER,
    EMPTY,
    TRAIN_FILE,
    MODEL_FILE,
    MODULE_FILE,
    LINEAR_FILE,
    FUNCTIONAL_FILE,
    WORKER_FILE,
    MEMORY_FILE,
    ENGINE,
    NO_FILE,
    BACKWARD
};

static const char *const STRINGS[] = {[MAIN] = "main",
                                      [RUN] = "run",
                                      [CALL] = "Module._call_impl",
                                      [INIT] = "Linear.__init__",
                                      [CDIST] = "cdist",
                                      [WORKER] = "_worker_loop",
                                      [EMPTY] = "empty_cache",
                                      [ENGINE] = "torch::autograd::Engine::thread_main()",
                                      [TRAIN_FILE] = "/me/train.py",
                                      [MODEL_FILE] = "/me/model.py",
                                      [MODULE_FILE] = LIBRARY "nn/modules/module.py",
                                      [LINEAR_FILE] = LIBRARY "nn/modules/linear.py",
                                      [FUNCTIONAL_FILE] = LIBRARY "functional.py",
                                      [WORKER_FILE] = LIBRARY "utils/data/_utils/worker.py",
                                      [MEMORY_FILE] = LIBRARY "cuda/memory.py",
                                      [NO_FILE] = "",
                                      [BACKWARD] = "backward"};

enum { F_TRY = 0, F_EXCEPT, F_RUN, F_CALL, F_INIT, F_CDIST, F_WORKER, F_EMPTY, F_ENGINE };

static const tide_frame_row FRAMES[] = {
    [F_TRY] = {.function = MAIN, .file = TRAIN_FILE, .line = 10},
    [F_EXCEPT] = {.function = MAIN, .file = TRAIN_FILE, .line = 14},
    [F_RUN] = {.function = RUN, .file = MODEL_FILE, .line = 5},
    [F_CALL] = {.function = CALL, .file = MODULE_FILE, .line = 1750},
    [F_INIT] = {.function = INIT, .file = LINEAR_FILE, .line = 109},
    [F_CDIST] = {.function = CDIST, .file = FUNCTIONAL_FILE, .line = 1535},
    [F_WORKER] = {.function = WORKER, .file = WORKER_FILE, .line = 349},
    [F_EMPTY] = {.function = EMPTY, .file = MEMORY_FILE, .line = 222},
    [F_ENGINE] = {.function = ENGINE, .file = NO_FILE, .line = 0}};

_Static_assert((int)FIXTURE_TRAIN == TRAIN_FILE && (int)FIXTURE_MODEL == MODEL_FILE &&
                   (int)FIXTURE_BACKWARD == BACKWARD,
               "strings");

/* Parents come first, so the outermost frame of the worker is the first row. */
enum { STACK_WORKER = 0, STACK_FIRST };

static const tide_stack_row STACKS[] = {
    [STACK_WORKER] = {TIDE_NONE, F_WORKER},
    [STACK_FIRST + AT_MAIN] = {TIDE_NONE, F_TRY},
    [STACK_FIRST + AT_RUN] = {STACK_FIRST + AT_MAIN, F_RUN},
    [STACK_FIRST + AT_FORWARD] = {STACK_FIRST + AT_RUN, F_CALL},
    [STACK_FIRST + AT_EXCEPT] = {TIDE_NONE, F_EXCEPT},
    [STACK_FIRST + AT_RETRY] = {STACK_FIRST + AT_EXCEPT, F_RUN},
    [STACK_FIRST + AT_BUILD] = {STACK_FIRST + AT_MAIN, F_INIT},
    [STACK_FIRST + AT_CDIST] = {STACK_FIRST + AT_MAIN, F_CDIST},
    [STACK_FIRST + AT_WORKER] = {STACK_WORKER, F_RUN},
    [STACK_FIRST + AT_EMPTY_CACHE] = {STACK_FIRST + AT_EXCEPT, F_EMPTY},
    [STACK_FIRST + AT_LIBRARY] = {STACK_FIRST + AT_EXCEPT, F_CALL},
    [STACK_FIRST + AT_TEARDOWN] = {STACK_FIRST + AT_LIBRARY, F_EMPTY},
    [STACK_FIRST + AT_BACKWARD] = {TIDE_NONE, F_ENGINE},
    [STACK_FIRST + AT_OPERATOR] = {STACK_FIRST + AT_FORWARD, F_RUN}};

static const tide_snapshot_pool POOLS[] = {{{1, 0}}, {{2, 0}}, {{3, 0}}, {{4, 0}}, {{0, 1}}};

void begin_recording(recording *of) {
    const tide_snapshot_device card = {"virtual", "a card", 24 * (int64_t)GIB, -1, -1, -1, -1, -1};
    *of = (recording){.devices = {card, card},
                      .rank = {.rank = -1, .local_rank = -1, .world_size = -1},
                      .at_failure = {.device = -1, .collected_bytes = -1}};
}

static tide_event *add(recording *of, tide_action action, uint64_t address, uint64_t n_bytes,
                       uint32_t stack) {
    assert_true(of->n < FIXTURE_ROWS);
    tide_event *row = &of->rows[of->n];
    *row = made_event(action, address, n_bytes, n_bytes);
    row->time_ns = (int64_t)of->n;
    row->stack = stack != TIDE_NONE ? STACK_FIRST + stack : TIDE_NONE;
    row->device = of->device;
    row->stream = of->stream;
    of->pools[of->n++] = of->pool;
    of->has_pools = of->has_pools || of->pool != 0;
    return row;
}

void buy(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack) {
    add(of, TIDE_ACTION_SEGMENT_ALLOC, address, n_bytes, stack);
}

void give_back(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack) {
    add(of, TIDE_ACTION_SEGMENT_FREE, address, n_bytes, stack);
}

tide_event *alloc(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack) {
    return add(of, TIDE_ACTION_ALLOC, address, n_bytes, stack);
}

void drop(recording *of, uint64_t address, uint64_t n_bytes) {
    add(of, TIDE_ACTION_FREE, address, n_bytes, TIDE_NONE);
}

tide_event *alloc_alone(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack) {
    buy(of, address, n_bytes, stack);
    return alloc(of, address, n_bytes, stack);
}

void fail_request(recording *of, uint64_t n_bytes, uint64_t free_bytes, uint32_t stack) {
    add(of, TIDE_ACTION_OOM, 0, n_bytes, stack)->block_bytes = free_bytes;
}

void explain(const recording *of, explained *ret) {
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                .frames = FRAMES,
                                .n_frames = sizeof(FRAMES) / sizeof(FRAMES[0]),
                                .stacks = STACKS,
                                .n_stacks = sizeof(STACKS) / sizeof(STACKS[0]),
                                .scopes = of->scopes,
                                .n_scopes = of->n_scopes,
                                .n_devices = 2};
    ret->snapshot = made_snapshot(NULL, &tables, of->rows, of->n);
    ret->snapshot->devices = of->devices;
    ret->snapshot->rank = of->rank;
    ret->snapshot->at_failure = of->at_failure;
    ret->snapshot->source = of->source;
    ret->snapshot->n_source = of->n_source;
    ret->snapshot->parameter_types = of->types;
    ret->snapshot->n_parameter_types = of->n_types;
    ret->snapshot->run.implementation = "pytorch";
    if (of->account.used_at_peak_bytes > 0) {
        ret->snapshot->driver_accounts = &of->account;
        ret->snapshot->n_driver_accounts = 1;
        ret->snapshot->owners = &of->owner;
        ret->snapshot->n_owners = 1;
    }
    if (of->has_pools) {
        ret->snapshot->pools = POOLS;
        ret->snapshot->n_pools = sizeof(POOLS) / sizeof(POOLS[0]);
        ret->snapshot->event_pool = of->pools;
    }
    assert_int_equal(
        tide_lifetimes_init(&ret->lifetimes, ret->snapshot, tide_hostmem_default(), NULL), TIDE_OK);
    assert_int_equal(tide_facts_init(&ret->facts, ret->snapshot, &ret->lifetimes,
                                     tide_lifetimes_main_device(&ret->lifetimes)),
                     TIDE_OK);
    assert_int_equal(tide_causes_init(&ret->causes, &ret->facts), TIDE_OK);
}

void end_explained(explained *of) {
    tide_causes_fini(&of->causes);
    tide_facts_fini(&of->facts);
    tide_lifetimes_fini(&of->lifetimes);
    tide_snapshot_destroy(of->snapshot);
}

const tide_cause *cause_of(const explained *of, const char *id) {
    const tide_cause *cause = tide_causes_find(&of->causes, id);
    if (cause == NULL) {
        fail_msg("%s is silent", id);
    }
    return cause;
}

void assert_silent(const recording *of, const char *id) {
    explained made;
    explain(of, &made);
    const tide_cause *cause = tide_causes_find(&made.causes, id);
    if (cause != NULL) {
        fail_msg("%s fires: %s", id, cause->words);
    }
    end_explained(&made);
}
