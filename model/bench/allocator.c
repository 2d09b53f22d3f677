/* allocator.c - the cost of an allocation and its release, not recorded, compared with an allocator
 * that does nothing and one that does the minimum.
 */
#include <stdio.h>

#include "model/bench/workload_internal.h"

enum { NULL_SIDE = 0, FLOOR_SIDE, CACHE_SIDE, N_SIDES };

/* ns of a pair, by workload. hit-20m takes the same path as hit-4k, through another pool. */
static const double BOUNDS[TIDE_BENCH_N_WORKLOADS] = {60.0, 60.0, 380.0, 220.0};

/* One workload on each side. */
typedef struct setup {
    tide_bench_workload workload;
    tide_bench_floor_state *floor; /* owned */
    tide_bench_cache_state cache;
    tide_bench_crowd crowds[N_SIDES];
} setup;

static void setup_fini(setup *on) {
    for (size_t i = 0; i < N_SIDES; i++) {
        tide_bench_thread_fini(&on->crowds[i].threads[0]);
    }
    tide_bench_cache_fini(&on->cache);
    tide_bench_floor_destroy(on->floor);
    tide_bench_workload_fini(&on->workload);
}

static tide_status open_sides(setup *on, tide_error *error) {
    TIDE_TRY(tide_bench_crowd_init(&on->crowds[NULL_SIDE], &on->workload, &tide_bench_null, NULL,
                                   error));
    if (tide_bench_floor_create(on->workload.mem, &on->floor) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the bare allocator");
    }
    TIDE_TRY(tide_bench_crowd_init(&on->crowds[FLOOR_SIDE], &on->workload, &tide_bench_floor,
                                   on->floor, error));
    TIDE_TRY(tide_bench_cache_init(&on->cache, TIDE_BENCH_UNRECORDED, error));
    return tide_bench_crowd_init(&on->crowds[CACHE_SIDE], &on->workload, &tide_bench_cache,
                                 &on->cache, error);
}

static tide_status measure(const tide_bench_run *run, size_t which, tide_bench_group *group,
                           tide_error *error) {
    const char *const names[N_SIDES] = {tide_bench_null.name, tide_bench_floor.name,
                                        tide_bench_cache.name};
    setup on = {.floor = NULL};
    TIDE_TRY(tide_bench_workload_init(&on.workload, which, run->settings->is_brief,
                                      tide_hostmem_default(), error));
    tide_status status = open_sides(&on, error);
    if (status == TIDE_OK) {
        group->name = on.workload.name;
        status = tide_bench_crowds_measure(on.crowds, names, N_SIDES, group,
                                           run->settings->n_rounds, error);
    }
    setup_fini(&on);
    return status;
}

static tide_status run_allocator(tide_bench_run *run, tide_error *error) {
    tide_bench_group *groups =
        tide_bench_add_groups(run, "pairs", "An allocation and its release, thread time in ns",
                              TIDE_BENCH_N_WORKLOADS, FLOOR_SIDE);
    for (size_t i = 0; i < TIDE_BENCH_N_WORKLOADS; i++) {
        TIDE_TRY(measure(run, i, &groups[i], error));
        char what[64];
        (void)snprintf(what, sizeof(what), "pair, not recorded: %s", groups[i].name);
        tide_bench_add_target(run, what, "ns", BOUNDS[i], tide_bench_min(&groups[i], CACHE_SIDE));
    }
    return TIDE_OK;
}

const tide_bench tide_bench_allocator = {
    .name = "allocator",
    .summary = "an allocation and its release, not recorded, beside a bare allocator",
    .takes = TIDE_BENCH_TAKES_GATE,
    .run = run_allocator,
};
