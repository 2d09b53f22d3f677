/* Reads the logs of running processes. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "cli/top/internal.h"
#include "common/clock.h"
#include "programs/launch/document/document.h"

enum { PAUSES_OF_READING = 9 };

int64_t tide_top_pause_ns(int64_t interval_ns, int64_t took_ns) {
    int64_t pause_ns = PAUSES_OF_READING * took_ns;
    return pause_ns > interval_ns ? pause_ns : interval_ns;
}

bool tide_top_is_running(const tide_top_view *view) {
    bool is_running = false;
    for (size_t i = 0; i < view->n_processes; i++) {
        is_running = is_running || view->processes[i].is_running;
    }
    return is_running;
}

void tide_top_view_fini(tide_top_view *view) {
    for (size_t i = 0; i < view->n_processes; i++) {
        tide_glance_fini(&view->processes[i].glance);
        tide_snapshot_destroy(view->processes[i].snapshot);
    }
    view->n_processes = 0;
}

/* The times of events count from the beginning of the log, whose date is known. `asked`: when
 * reading began, because a large log takes seconds, during which the program continues. */
static double silence_of(const tide_top_process *process, const struct timespec *asked) {
    int64_t started_us = process->snapshot->run.started_unix_us;
    if (!process->is_running || started_us < 0 || process->glance.last_ns < 0) {
        return -1;
    }
    double last = (double)started_us / 1e6 + (double)process->glance.last_ns / 1e9;
    double silent = (double)asked->tv_sec + (double)asked->tv_nsec / 1e9 - last;
    return silent > 0 ? silent : 0;
}

static tide_status read_one(const char *path, tide_top_process *ret, tide_error *error) {
    tide_launch_log log;
    struct timespec asked = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &asked);
    TIDE_TRY(tide_launch_read_log(path, &log, error));
    tide_top_process process = {.snapshot = log.snapshot,
                                .pid = (int64_t)log.report.process_id,
                                .rank = log.rank,
                                .is_running = log.report.is_live};
    tide_status status = tide_glance_init(&process.glance, log.snapshot, error);
    if (status != TIDE_OK) {
        tide_snapshot_destroy(log.snapshot);
        return status;
    }
    process.silent_seconds = silence_of(&process, &asked);
    *ret = process;
    return TIDE_OK;
}

/* Processes that have allocated nothing yet, or have just ended, are skipped. If none remains, the
 * reason of the last one is returned. */
static tide_status read_all(const tide_top_source *source, tide_top_view *view, tide_error *error) {
    tide_status last = TIDE_OK;
    for (size_t i = 0; i < source->logs.n; i++) {
        tide_status status =
            read_one(source->logs.paths[i], &view->processes[view->n_processes], error);
        view->n_processes += status == TIDE_OK;
        last = status != TIDE_OK ? status : last;
        if (status == TIDE_NO_MEMORY) {
            break;
        }
    }
    return view->n_processes > 0 && last != TIDE_NO_MEMORY ? TIDE_OK : last;
}

tide_status tide_top_read(tide_top_source *source, tide_top_view *ret, tide_error *error) {
    int64_t begin_ns = tide_clock_now_ns();
    ret->n_processes = 0;
    if (source->path != NULL) {
        source->logs.n = 1;
        if (strlen(source->path) >= sizeof(source->logs.paths[0])) {
            return tide_fail(error, TIDE_INVALID, "the name of the log is too long");
        }
        memcpy(source->logs.paths[0], source->path, strlen(source->path) + 1);
    } else {
        TIDE_TRY(tide_logs_find_running(source->pid, source->folder, &source->logs, error));
    }
    tide_status status = read_all(source, ret, error);
    if (status != TIDE_OK) {
        tide_top_view_fini(ret);
        return status;
    }
    ret->read_ns = tide_clock_now_ns();
    ret->took_ns = ret->read_ns - begin_ns;
    return TIDE_OK;
}
