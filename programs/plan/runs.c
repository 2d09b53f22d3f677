#define _POSIX_C_SOURCE 200809L
#include "programs/plan/runs.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "common/text/list.h"
#include "programs/launch/together/together.h"
#include "programs/plan/facts.h"
#include "programs/runs/program.h"
#include "snapshot/document/snapshot.h"

#define OBSERVE "observe"

enum {
    TICK_MS = 100,
    MOST_TOGETHER = 8, /* runs by one import */
    SETS_BYTES = MOST_TOGETHER * (TIDE_PLAN_LIST_BYTES + sizeof(OBSERVE) + 1)
};

/* A subprocess on its way: one run, or several by one import. */
typedef struct job {
    tide_plan_run *rows[MOST_TOGETHER];
    size_t n;                  /* 0: the place is free */
    tide_run_process *process; /* NULL: it could not be started */
} job;

typedef struct jobs {
    tide_plan_runs *runs;
    job at[TIDE_PLAN_JOBS];
} jobs;

/* Runs with real writes would find each other's files. */
tide_status tide_plan_can_share_import(const tide_run_program *program, bool *ret_can,
                                       tide_error *error) {
    char **arguments = NULL;
    TIDE_TRY(tide_run_program_arguments(program, &arguments, error));
    *ret_can =
        tide_launch_can_share_import(arguments) && !program->writes_are_real && program->world == 0;
    tide_run_program_release(arguments);
    return TIDE_OK;
}

/* Whether a list has a change of the command itself. */
static bool has_own(const char *changes) {
    for (tide_list_word word; tide_list_next(&changes, &word);) {
        if (tide_plan_is_own(word.text, word.n_bytes)) {
            return true;
        }
    }
    return false;
}

tide_status tide_plan_runs_init(tide_plan_runs *runs) {
    TIDE_ASSERT(runs->n_jobs >= 1 && runs->n_jobs <= TIDE_PLAN_JOBS);
    runs->rows = tide_hostmem_zeroed(tide_hostmem_default(), TIDE_PLAN_ROWS, sizeof(*runs->rows));
    runs->n = 0;
    return runs->rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_plan_runs_fini(tide_plan_runs *runs) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, runs->rows);
    runs->rows = NULL;
    runs->n = 0;
}

size_t tide_plan_runs_find(const tide_plan_runs *runs, const char *changes, const char *setting,
                           tide_plan_limit limit) {
    for (size_t i = 0; i < runs->n; i++) {
        const tide_plan_run *row = &runs->rows[i];
        if (row->limit == limit && strcmp(row->changes, changes) == 0 &&
            strcmp(row->setting, setting) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool tide_plan_runs_may_add(const tide_plan_runs *runs, size_t n) {
    size_t n_most = runs->n_most < TIDE_PLAN_ROWS ? runs->n_most : TIDE_PLAN_ROWS;
    return !runs->is_stopped && runs->n + n <= n_most;
}

size_t tide_plan_runs_add(tide_plan_runs *runs, const char *changes, const char *setting,
                          tide_plan_limit limit) {
    size_t found = tide_plan_runs_find(runs, changes, setting, limit);
    if (found != SIZE_MAX) {
        return found;
    }
    TIDE_ASSERT(runs->n < TIDE_PLAN_ROWS);
    tide_plan_run *row = &runs->rows[runs->n];
    *row = (tide_plan_run){
        .limit = limit, .others_bytes = -1, .gpu_ms = -1.0, .gpu_low_ms = -1.0, .step_ms = -1.0};
    (void)snprintf(row->changes, sizeof(row->changes), "%s", changes);
    (void)snprintf(row->setting, sizeof(row->setting), "%s", setting);
    return runs->n++;
}

/* ---- beginning a run ---- */

/* Whether one import can serve the row together with others. */
static bool may_share(const tide_plan_runs *runs, const tide_plan_run *row) {
    return runs->can_share && !row->must_be_alone && row->limit == TIDE_PLAN_WITHOUT_LIMIT &&
           row->setting[0] == '\0' && row->changes[0] != '\0' && !has_own(row->changes);
}

static bool is_waiting(const tide_plan_run *row) {
    return !row->is_done && !row->is_begun;
}

/* The rows of the next of the free jobs: the first that waits, and with it an equal share of those
 * that can run by one import. */
static void choose_rows(const tide_plan_runs *runs, size_t n_free, job *ret) {
    size_t n_sharing = 0;
    *ret = (job){.n = 0};
    for (size_t i = 0; i < runs->n; i++) {
        n_sharing += is_waiting(&runs->rows[i]) && may_share(runs, &runs->rows[i]);
    }
    size_t share = (n_sharing + n_free - 1) / n_free;
    for (size_t i = 0; i < runs->n && ret->n < MOST_TOGETHER; i++) {
        tide_plan_run *row = &runs->rows[i];
        bool fits = ret->n == 0 ||
                    (ret->n < share && may_share(runs, ret->rows[0]) && may_share(runs, row));
        if (is_waiting(row) && fits) {
            ret->rows[ret->n++] = row;
        }
    }
}

/* "observe,fused;observe,checkpoint:Block" */
static void join_sets(const job *of, char ret_sets[SETS_BYTES]) {
    size_t n_used = 0;
    for (size_t i = 0; i < of->n; i++) {
        int n = snprintf(ret_sets + n_used, SETS_BYTES - n_used, "%s" OBSERVE ",%s",
                         i > 0 ? ";" : "", of->rows[i]->changes);
        n_used += n > 0 ? (size_t)n : 0;
        TIDE_ASSERT(n_used < SETS_BYTES);
    }
}

static void configure(const tide_plan_runs *runs, const tide_plan_run *row,
                      tide_run_config *config) {
    config->recording.is_on = true;
    config->workload.of.program.waits_asleep = true;
    config->workload.of.program.settings = row->setting[0] != '\0' ? row->setting : NULL;
    if (row->limit == TIDE_PLAN_WITHOUT_LIMIT) {
        config->limits.memory_limit_bytes = TIDE_PLAN_NO_LIMIT_BYTES;
    } else if (runs->room_bytes >= 0) {
        config->limits.memory_limit_bytes = (uint64_t)runs->room_bytes;
    }
}

static void name_snapshot(const tide_plan_runs *runs, const tide_plan_run *row,
                          char ret_path[TIDE_RUN_PATH_BYTES]) {
    (void)snprintf(ret_path, TIDE_RUN_PATH_BYTES, "%s/%03zu.json.gz", runs->folder,
                   (size_t)(row - runs->rows));
}

/* Of several processes each has a name of its own. */
bool tide_plan_runs_is_one_process(const tide_plan_runs *runs, const tide_plan_run *run) {
    char path[TIDE_RUN_PATH_BYTES];
    name_snapshot(runs, run, path);
    return strcmp(path, run->snapshot_path) == 0;
}

static tide_status begin(tide_plan_runs *runs, size_t n_free, job *place) {
    tide_run_config config = *runs->config;
    char path[TIDE_RUN_PATH_BYTES];
    char others[TIDE_PLAN_LIST_BYTES];
    char sets[SETS_BYTES];
    choose_rows(runs, n_free, place);
    tide_plan_run *row = place->rows[0];
    TIDE_ASSERT(place->n > 0 && row != NULL);
    name_snapshot(runs, row, path);
    tide_plan_own_apply(runs->own, row->changes, &config, others);
    (void)snprintf(sets, sizeof(sets), OBSERVE "%s%s", others[0] != '\0' ? "," : "", others);
    config.workload.of.program.changes = sets;
    if (place->n > 1) {
        join_sets(place, sets);
        config.workload.of.program.sets = sets;
        config.workload.of.program.changes = OBSERVE;
    }
    configure(runs, row, &config);
    config.recording.snapshot_path = path;
    for (size_t i = 0; i < place->n; i++) {
        place->rows[i]->is_begun = true;
        runs->n_begun++;
        if (runs->hooks.progress != NULL) {
            runs->hooks.progress(runs->hooks.ctx, runs->n_begun, place->rows[i]->changes);
        }
    }
    place->process = tide_run_process_start(&config, NULL);
    return place->process != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* ---- the end of a run ---- */

/* Why a change was not made. It was refused with its argument, or for every argument. */
static const char *reason_of(const tide_snapshot *snapshot, const char *name) {
    char change[TIDE_PLAN_LIST_BYTES];
    (void)snprintf(change, sizeof(change), "%.*s", (int)strcspn(name, ":"), name);
    const char *why = tide_plan_fact(snapshot, "cannot", name);
    why = why != NULL ? why : tide_plan_fact(snapshot, "cannot", change);
    return why != NULL ? why : "the program has no place for it";
}

/* Each change that was asked for must have been made. */
static void check_changes(tide_plan_run *row, const tide_snapshot *snapshot) {
    char name[TIDE_PLAN_LIST_BYTES];
    const char *rest = row->changes;
    for (tide_list_word word; tide_list_next(&rest, &word);) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)word.n_bytes, word.text);
        if (!tide_plan_is_own(name, word.n_bytes) &&
            tide_plan_fact(snapshot, "did", name) == NULL) {
            row->is_complete = false;
            row->is_refused = true;
            (void)snprintf(row->reason, sizeof(row->reason), "%s", reason_of(snapshot, name));
            return;
        }
    }
}

static void read_facts(tide_plan_run *row) {
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    if (tide_snapshot_load(row->snapshot_path, NULL, &snapshot, &error) == TIDE_OK) {
        check_changes(row, snapshot);
    } else {
        row->is_complete = false;
        (void)snprintf(row->reason, sizeof(row->reason), "%s", error.message);
    }
    tide_snapshot_destroy(snapshot);
}

static void take(tide_plan_run *row, const tide_run_result *result) {
    const tide_run_of_program *of = &result->program;
    row->is_done = true;
    row->outcome = result->outcome;
    row->is_complete = result->outcome == TIDE_OUTCOME_COMPLETED;
    (void)snprintf(row->reason, sizeof(row->reason), "%s", result->reason);
    row->memory = result->memory;
    row->margin_bytes = of->margin_bytes;
    bool has_margin = row->limit == TIDE_PLAN_WITHOUT_LIMIT && of->margin_bytes >= 0;
    row->others_bytes = has_margin ? (int64_t)TIDE_PLAN_NO_LIMIT_BYTES - of->margin_bytes -
                                         result->memory.reserved_peak_bytes
                                   : -1;
    row->is_near = of->is_near;
    row->n_launches = of->n_launches;
    row->n_inexact = of->n_inexact;
    row->gpu_ms = of->gpu_ms;
    row->gpu_low_ms = of->gpu_low_ms;
    row->gpu_high_ms = of->gpu_high_ms;
    row->step_ms = of->step_ms;
    (void)snprintf(row->snapshot_path, sizeof(row->snapshot_path), "%s", result->snapshot_path);
    if (row->is_complete && row->changes[0] != '\0') {
        read_facts(row);
    }
}

/* The runs of one import. Those that did not end well are made again, each alone: the reason may be
 * that it was not safe to share the import. */
static void take_parts(tide_plan_runs *runs, const job *of, tide_run_result *result) {
    bool is_any = false;
    for (size_t i = 0; i < of->n; i++) {
        tide_plan_run *row = of->rows[i];
        tide_run_result *part = i < result->n_parts ? &result->parts[i] : NULL;
        char path[TIDE_RUN_PATH_BYTES];
        row->is_begun = false;
        name_snapshot(runs, row, path);
        if (part == NULL || part->outcome != TIDE_OUTCOME_COMPLETED ||
            rename(part->snapshot_path, path) != 0) {
            row->must_be_alone = true;
            runs->n_begun--;
            continue;
        }
        (void)snprintf(part->snapshot_path, sizeof(part->snapshot_path), "%s", path);
        take(row, part);
        is_any = true;
    }
    runs->can_share = runs->can_share && is_any;
}

static void finish(jobs *all, job *of) {
    tide_run_result result;
    tide_run_process_finish(of->process, all->runs->is_stopped, &result);
    if (of->n > 1) {
        take_parts(all->runs, of, &result);
    } else if (result.outcome != TIDE_OUTCOME_STOPPED) {
        take(of->rows[0], &result);
    }
    tide_run_result_fini(&result);
    *of = (job){.n = 0};
}

/* ---- all runs ---- */

static void look_for_stop(jobs *all) {
    tide_plan_runs *runs = all->runs;
    if (!runs->is_stopped && runs->hooks.shall_stop != NULL) {
        runs->is_stopped = runs->hooks.shall_stop(runs->hooks.ctx);
    }
    for (size_t i = 0; runs->is_stopped && i < runs->n_jobs; i++) {
        if (all->at[i].process != NULL) {
            tide_run_process_stop(all->at[i].process);
        }
    }
}

/* Waits for output of a run, at most a tick. */
static void attend(jobs *all) {
    struct pollfd waits[TIDE_PLAN_JOBS];
    size_t n_jobs = all->runs->n_jobs;
    for (size_t i = 0; i < n_jobs; i++) {
        bool is_running = all->at[i].process != NULL;
        waits[i] = (struct pollfd){.fd = is_running ? tide_run_process_fd(all->at[i].process) : -1,
                                   .events = POLLIN};
        if (is_running && waits[i].fd < 0) { /* could not be started */
            finish(all, &all->at[i]);
        }
    }
    (void)poll(waits, (nfds_t)n_jobs, TICK_MS);
    look_for_stop(all);
    for (size_t i = 0; i < n_jobs; i++) {
        job *one = &all->at[i];
        if (one->process != NULL && waits[i].revents != 0 &&
            !tide_run_process_attend(one->process)) {
            finish(all, one);
        }
    }
}

static size_t count_free(const jobs *all) {
    size_t n = 0;
    for (size_t i = 0; i < all->runs->n_jobs; i++) {
        n += all->at[i].n == 0;
    }
    return n;
}

static bool has_waiting(const tide_plan_runs *runs) {
    for (size_t i = 0; i < runs->n; i++) {
        if (is_waiting(&runs->rows[i])) {
            return true;
        }
    }
    return false;
}

tide_status tide_plan_runs_do(tide_plan_runs *runs, tide_error *error) {
    jobs all = {.runs = runs};
    tide_status status = TIDE_OK;
    for (bool is_busy = true; is_busy;) {
        is_busy = false;
        for (size_t i = 0; i < runs->n_jobs; i++) {
            bool may_begin = status == TIDE_OK && !runs->is_stopped && has_waiting(runs);
            if (all.at[i].n == 0 && may_begin) {
                status = begin(runs, count_free(&all), &all.at[i]);
            }
            is_busy = is_busy || all.at[i].process != NULL;
        }
        if (is_busy) {
            attend(&all);
        }
    }
    return status == TIDE_OK ? TIDE_OK
                             : tide_fail(error, status, "no subprocess for a run of the program");
}
