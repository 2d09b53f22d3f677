#define _POSIX_C_SOURCE 200809L
#include "programs/plan/runs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "programs/plan/facts.h"
#include "snapshot/document/snapshot.h"

enum { TICK_MS = 100, CONF_BYTES = 512 };

#define OBSERVE "observe"
#define CONF_NAME "PYTORCH_CUDA_ALLOC_CONF"

/* A run on its way. */
typedef struct job {
    tide_plan_run *row;        /* NULL: the place is free */
    tide_run_process *process; /* NULL: it could not be started */
} job;

typedef struct jobs {
    tide_plan_runs *runs;
    job at[TIDE_PLAN_JOBS];
    size_t next; /* row that may be begun */
} jobs;

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
    *row = (tide_plan_run){.limit = limit, .gpu_ms = -1.0, .gpu_low_ms = -1.0, .step_ms = -1.0};
    (void)snprintf(row->changes, sizeof(row->changes), "%s", changes);
    (void)snprintf(row->setting, sizeof(row->setting), "%s", setting);
    return runs->n++;
}

/* ---- beginning a run ---- */

/* The setting of a run is added to the user's own. The subprocess inherits the variable, so it is
 * set only while that starts. */
static bool set_setting(const char *setting, char ret_before[CONF_BYTES], bool *ret_was_set) {
    char conf[CONF_BYTES];
    const char *own = getenv(CONF_NAME);
    own = own != NULL ? own : getenv("PYTORCH_ALLOC_CONF");
    *ret_was_set = getenv(CONF_NAME) != NULL;
    (void)snprintf(ret_before, CONF_BYTES, "%s", *ret_was_set ? getenv(CONF_NAME) : "");
    int n = snprintf(conf, sizeof(conf), "%s%s%s", own != NULL ? own : "",
                     own != NULL && own[0] != '\0' ? "," : "", setting);
    return n > 0 && (size_t)n < sizeof(conf) && setenv(CONF_NAME, conf, 1) == 0;
}

static void reset_setting(const char *before, bool was_set) {
    if (was_set) {
        (void)setenv(CONF_NAME, before, 1);
    } else {
        (void)unsetenv(CONF_NAME);
    }
}

static tide_run_process *start(const tide_run_config *config, const char *setting) {
    char before[CONF_BYTES];
    bool was_set = false;
    bool is_changed = setting[0] != '\0';
    if (is_changed && !set_setting(setting, before, &was_set)) {
        return NULL;
    }
    tide_run_process *process = tide_run_process_start(config, NULL);
    if (is_changed) {
        reset_setting(before, was_set);
    }
    return process;
}

static tide_status begin(jobs *all, job *place) {
    tide_plan_runs *runs = all->runs;
    tide_run_config config = *runs->config;
    char path[TIDE_RUN_PATH_BYTES];
    char others[TIDE_PLAN_LIST_BYTES];
    char changes[TIDE_PLAN_LIST_BYTES + sizeof(OBSERVE) + 1];
    tide_plan_run *row = &runs->rows[all->next];
    (void)snprintf(path, sizeof(path), "%s/%03zu.json.gz", runs->folder, all->next);
    tide_plan_own_apply(runs->own, row->changes, &config, others);
    (void)snprintf(changes, sizeof(changes), OBSERVE "%s%s", others[0] != '\0' ? "," : "", others);
    config.workload.of.program.changes = changes;
    config.recording.is_on = true;
    config.recording.snapshot_path = path;
    if (row->limit == TIDE_PLAN_WITHOUT_LIMIT) {
        config.limits.memory_limit_bytes = TIDE_PLAN_NO_LIMIT_BYTES;
    } else if (runs->room_bytes >= 0) {
        config.limits.memory_limit_bytes = (uint64_t)runs->room_bytes;
    }
    if (runs->hooks.progress != NULL) {
        runs->hooks.progress(runs->hooks.ctx, all->next + 1, row->changes);
    }
    *place = (job){.row = row, .process = start(&config, row->setting)};
    all->next++;
    return place->process != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* ---- the end of a run ---- */

/* Each change that was asked for must have been made. */
static void check_changes(tide_plan_run *row, const tide_snapshot *snapshot) {
    char name[TIDE_PLAN_LIST_BYTES];
    for (const char *at = row->changes; *at != '\0';) {
        size_t n = strcspn(at, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)n, at);
        if (!tide_plan_is_own(name, n) && tide_plan_fact(snapshot, "did", name) == NULL) {
            name[strcspn(name, ":")] = '\0'; /* a refusal is of all arguments */
            const char *why = tide_plan_fact(snapshot, "cannot", name);
            row->is_complete = false;
            row->is_refused = true;
            (void)snprintf(row->reason, sizeof(row->reason), "%s",
                           why != NULL ? why : "the program has no place for it");
            return;
        }
        at += n + (at[n] == ',');
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

static void finish(jobs *all, job *of) {
    tide_run_result result;
    tide_run_process_finish(of->process, all->runs->is_stopped, &result);
    if (result.outcome != TIDE_OUTCOME_STOPPED) {
        take(of->row, &result);
    }
    tide_run_result_fini(&result);
    *of = (job){.row = NULL};
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

tide_status tide_plan_runs_do(tide_plan_runs *runs, tide_error *error) {
    jobs all = {.runs = runs};
    tide_status status = TIDE_OK;
    for (bool is_busy = true; is_busy;) {
        is_busy = false;
        for (size_t i = 0; i < runs->n_jobs; i++) {
            while (all.next < runs->n && runs->rows[all.next].is_done) {
                all.next++;
            }
            bool may_begin = status == TIDE_OK && !runs->is_stopped && all.next < runs->n;
            if (all.at[i].process == NULL && may_begin) {
                status = begin(&all, &all.at[i]);
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
