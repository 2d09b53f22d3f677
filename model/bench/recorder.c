/* recorder.c - the cost that recording adds to an allocation and its release: without and with call
 * stacks, with two threads at the same time, and how evenly the log grows.
 */
#include <stdio.h>

#include "allocator/cache.h"
#include "model/bench/workload_internal.h"
#include "common/statistics.h"

enum { NULL_SIDE = 0, UNRECORDED, WITHOUT_STACKS, WITH_STACKS, N_SIDES };

/* ns of a pair with call stacks of about 25 frames on both sides, by workload; 0: no bound. */
static const double BOUNDS[TIDE_BENCH_N_WORKLOADS] = {650.0, 0.0, 0.0, 850.0};
static const double ADDED_BOUND = 60.0;
static const double THREADS_BOUND = 1.5;
static const double EVENT_BYTES_BOUND = 48.0;

/* One workload with each way of recording. */
typedef struct setup {
    tide_bench_workload workload;
    tide_bench_cache_state caches[N_SIDES]; /* [NULL_SIDE] is empty */
    tide_bench_crowd crowds[N_SIDES];
} setup;

static void setup_fini(setup *on) {
    for (size_t i = 0; i < N_SIDES; i++) {
        tide_bench_thread_fini(&on->crowds[i].threads[0]);
        tide_bench_cache_fini(&on->caches[i]);
    }
    tide_bench_workload_fini(&on->workload);
}

static tide_status open_sides(setup *on, tide_error *error) {
    TIDE_TRY(tide_bench_crowd_init(&on->crowds[NULL_SIDE], &on->workload, &tide_bench_null, NULL,
                                   error));
    for (size_t i = UNRECORDED; i < N_SIDES; i++) {
        TIDE_TRY(
            tide_bench_cache_init(&on->caches[i], (tide_bench_recording)(i - UNRECORDED), error));
        TIDE_TRY(tide_bench_crowd_init(&on->crowds[i], &on->workload, &tide_bench_cache,
                                       &on->caches[i], error));
    }
    return TIDE_OK;
}

/* Frames of the newest event's call stack. */
static size_t count_frames(tide_recorder *recorder) {
    tide_recording recording;
    size_t n_frames = 0;
    if (tide_recorder_copy(recorder, NULL, &recording, NULL) != TIDE_OK) {
        return 0;
    }
    if (recording.n_events > 0 && recording.events[recording.n_events - 1].stack != TIDE_NONE) {
        uint32_t stack = recording.events[recording.n_events - 1].stack;
        n_frames = recording.stack_first[stack + 1] - recording.stack_first[stack];
    }
    tide_recording_fini(&recording);
    return n_frames;
}

static tide_status measure(tide_bench_run *run, size_t which, tide_bench_group *group,
                           tide_error *error) {
    static const char *const NAMES[N_SIDES] = {"harness alone", "not recorded",
                                               "recorded without stacks", "stacks on both"};
    setup on = {.workload = {.mem = NULL}};
    TIDE_TRY(tide_bench_workload_init(&on.workload, which, run->settings->is_brief,
                                      tide_hostmem_default(), error));
    tide_status status = open_sides(&on, error);
    if (status == TIDE_OK) {
        group->name = on.workload.name;
        status = tide_bench_crowds_measure(on.crowds, NAMES, N_SIDES, group,
                                           run->settings->n_rounds, error);
    }
    if (status == TIDE_OK) {
        tide_recorder_stats stats;
        tide_recorder_get_stats(on.caches[WITH_STACKS].recorder, &stats);
        tide_bench_say(run, "stacks", "%s: %zu frames, %zu distinct stacks, %.1f MiB of them",
                       group->name, count_frames(on.caches[WITH_STACKS].recorder), stats.n_stacks,
                       (double)stats.depot_bytes / 1048576.0);
    }
    setup_fini(&on);
    return status;
}

/* ---- two threads ---- */

/* The state that two threads share. Notes are the part of a request before it takes the lock: two
 * threads that only take notes show whether that part is independent of the other thread. */
enum {
    CROWD_FLOOR = 0,
    CROWD_NOTES,
    CROWD_UNRECORDED,
    CROWD_WITHOUT_STACKS,
    CROWD_WITH_STACKS,
    N_CROWDS
};

/* The workloads that two threads run, and their numbers. */
enum { CROWD_HIT = 0, CROWD_STEP, N_CROWD_WORKLOADS };
static const size_t CROWD_WORKLOADS[N_CROWD_WORKLOADS] = {0, 3};

/* One thread, and two of them on an allocator of their own. */
typedef struct crowds {
    tide_bench_workload workload;
    tide_bench_floor_state *floors[2]; /* owned; NULL: the caches are measured */
    tide_bench_cache_state caches[2];  /* empty: the floor is measured */
    tide_bench_crowd crowds[2];
} crowds;

static void crowds_fini(crowds *on) {
    for (size_t i = 0; i < 2; i++) {
        for (size_t t = 0; t < 2; t++) {
            tide_bench_thread_fini(&on->crowds[i].threads[t]);
        }
        tide_bench_cache_fini(&on->caches[i]);
        tide_bench_floor_destroy(on->floors[i]);
    }
    tide_bench_workload_fini(&on->workload);
}

static tide_status open_crowd(crowds *on, size_t i, int which, tide_error *error) {
    static const tide_bench_recording RECORDINGS[N_CROWDS] = {
        TIDE_BENCH_UNRECORDED, TIDE_BENCH_WITH_STACKS, TIDE_BENCH_UNRECORDED,
        TIDE_BENCH_WITHOUT_STACKS, TIDE_BENCH_WITH_STACKS};
    const tide_bench_side *side = which == CROWD_NOTES ? &tide_bench_notes : &tide_bench_cache;
    void *state = &on->caches[i];
    if (which == CROWD_FLOOR) {
        side = &tide_bench_floor;
        if (tide_bench_floor_create(on->workload.mem, &on->floors[i]) != TIDE_OK) {
            return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the floor");
        }
        state = on->floors[i];
    } else {
        TIDE_TRY(tide_bench_cache_init(&on->caches[i], RECORDINGS[which], error));
    }
    on->crowds[i] = (tide_bench_crowd){.n_threads = i + 1, .is_by_clock = true};
    for (size_t t = 0; t <= i; t++) {
        TIDE_TRY(
            tide_bench_thread_init(&on->crowds[i].threads[t], &on->workload, side, state, error));
    }
    return TIDE_OK;
}

static tide_status measure_threads(tide_bench_run *run, size_t workload, int which,
                                   tide_bench_group *group, tide_error *error) {
    static const char *const NAMES[N_CROWD_WORKLOADS][N_CROWDS] = {
        {"hit-4k, floor", "hit-4k, notes alone", "hit-4k, not recorded", "hit-4k, without stacks",
         "hit-4k, with stacks"},
        {"step, floor", "step, notes alone", "step, not recorded", "step, without stacks",
         "step, with stacks"}};
    static const char *const VARIANTS[2] = {"one thread", "two threads"};
    crowds on = {.floors = {NULL, NULL}};
    TIDE_TRY(tide_bench_workload_init(&on.workload, CROWD_WORKLOADS[workload],
                                      run->settings->is_brief, tide_hostmem_default(), error));
    tide_status status = TIDE_OK;
    group->name = NAMES[workload][which];
    for (size_t i = 0; i < 2 && status == TIDE_OK; i++) {
        status = open_crowd(&on, i, which, error);
    }
    if (status == TIDE_OK) {
        status = tide_bench_crowds_measure(on.crowds, VARIANTS, 2, group, run->settings->n_rounds,
                                           error);
    }
    crowds_fini(&on);
    return status;
}

/* ---- the log ---- */

enum { N_BATCHES = 400 };

/* The time by which the slowest of many batches exceeds the median while the log grows, in ms of
 * the thread's own time. A batch is one pass of hit-4k, about a hundred events. */
static tide_status measure_growth(tide_bench_run *run, double *ret_stall_ms,
                                  double *ret_event_bytes, tide_error *error) {
    double batches_ms[N_BATCHES];
    tide_bench_workload workload;
    tide_bench_cache_state cache = {.device = NULL};
    tide_bench_crowd crowd = {.n_threads = 0};
    TIDE_TRY(tide_bench_workload_init(&workload, 0, true, tide_hostmem_default(), error));
    tide_status status = tide_bench_cache_init(&cache, TIDE_BENCH_WITHOUT_STACKS, error);
    if (status == TIDE_OK) {
        status = tide_bench_crowd_init(&crowd, &workload, &tide_bench_cache, &cache, error);
    }
    workload.n_passes = run->settings->is_brief ? 1 : 16;
    size_t n_batches = run->settings->is_brief ? 16 : N_BATCHES;
    for (size_t i = 0; i < n_batches && status == TIDE_OK; i++) {
        double ns = 0.0;
        status = tide_bench_crowd_sample(&crowd, &ns, error);
        batches_ms[i] = ns * (double)tide_bench_pairs(&workload) * 1e-6;
    }
    if (status == TIDE_OK) {
        tide_recorder_stats stats;
        tide_recorder_config config;
        tide_recorder_config_init(&config);
        tide_recorder_get_stats(cache.recorder, &stats);
        tide_statistics of = tide_statistics_of(batches_ms, n_batches);
        *ret_stall_ms = of.max - of.median;
        size_t event_bytes = config.log_bytes / stats.max_events; /* whole rows fill it */
        *ret_event_bytes = (double)event_bytes;
        tide_bench_say(run, "growth",
                       "log: %zu batches of %zu events: median %.1f us, slowest %.1f us", n_batches,
                       2 * tide_bench_pairs(&workload), of.median * 1e3, of.max * 1e3);
    }
    tide_bench_thread_fini(&crowd.threads[0]);
    tide_bench_cache_fini(&cache);
    tide_bench_workload_fini(&workload);
    return status;
}

/* ---- the benchmark ---- */

static void add_targets(tide_bench_run *run, const tide_bench_group *group, double bound) {
    char what[96];
    (void)snprintf(what, sizeof(what), "recording without stacks adds to a pair: %s", group->name);
    tide_bench_add_target(run, what, "ns", ADDED_BOUND,
                          tide_bench_added(group, WITHOUT_STACKS, UNRECORDED));
    if (bound > 0.0) {
        (void)snprintf(what, sizeof(what), "pair with stacks on both: %s", group->name);
        tide_bench_add_target(run, what, "ns", bound, tide_bench_min(group, WITH_STACKS));
    }
}

/* Every workload with every way of recording; the targets are those of the training step. */
static tide_status run_threads(tide_bench_run *run, tide_bench_group *groups, tide_error *error) {
    static const char *const TARGETS[N_CROWDS] = {
        [CROWD_WITHOUT_STACKS] = "two threads, a pair of each to one thread's: without stacks",
        [CROWD_WITH_STACKS] = "two threads, a pair of each to one thread's: with stacks"};
    for (size_t workload = 0; workload < N_CROWD_WORKLOADS; workload++) {
        for (int which = 0; which < N_CROWDS; which++) {
            tide_bench_group *group = &groups[workload * N_CROWDS + (size_t)which];
            TIDE_TRY(measure_threads(run, workload, which, group, error));
            if (workload == CROWD_STEP && TARGETS[which] != NULL) {
                tide_bench_add_target(run, TARGETS[which], "x", THREADS_BOUND,
                                      tide_bench_ratio(group, 1, 0));
            }
        }
    }
    return TIDE_OK;
}

static tide_status run_recorder(tide_bench_run *run, tide_error *error) {
    enum { N_CROWD_GROUPS = N_CROWD_WORKLOADS * N_CROWDS };
    _Static_assert(TIDE_BENCH_N_WORKLOADS + N_CROWD_GROUPS <= TIDE_BENCH_MAX_GROUPS,
                   "all groups have room");
    tide_bench_group *groups = tide_bench_add_groups(
        run, "pairs", "An allocation and its release in ns", TIDE_BENCH_N_WORKLOADS, UNRECORDED);
    tide_bench_group *crowd_groups = tide_bench_add_groups(
        run, "threads", "Two threads on one cache, a pair of each in ns by the clock",
        N_CROWD_GROUPS, 0);
    double stall_ms = -1.0;
    double event_bytes = -1.0;
    for (size_t i = 0; i < TIDE_BENCH_N_WORKLOADS; i++) {
        TIDE_TRY(measure(run, i, &groups[i], error));
        add_targets(run, &groups[i], BOUNDS[i]);
    }
    TIDE_TRY(run_threads(run, crowd_groups, error));
    TIDE_TRY(measure_growth(run, &stall_ms, &event_bytes, error));
    tide_bench_add_target(run, "log, an event", "B", EVENT_BYTES_BOUND, event_bytes);
    tide_bench_add_target(run, "log, longest stall while it grows", "ms", 1.0, stall_ms);
    return TIDE_OK;
}

const tide_bench tide_bench_recorder = {
    .name = "recorder",
    .summary = "an allocation and its release, recorded, beside one that is not",
    .takes = TIDE_BENCH_TAKES_GATE,
    .run = run_recorder,
};
