/* internal.h - the parts of `tidemark top`.
 */
#ifndef TIDE_CLI_TOP_INTERNAL_H
#define TIDE_CLI_TOP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "cli/options/report_options.h"
#include "programs/launch/glance.h"
#include "programs/launch/logs/logs.h"
#include "snapshot/document/snapshot.h"

#define TIDE_COMMAND_TOP "top"

typedef struct tide_top_options {
    uint64_t pid;    /* 0: not given */
    double interval; /* seconds */
    bool once;
    uint64_t top; /* modules that are shown */
    tide_report_options report;
} tide_top_options;

/* One process, as it was read. */
typedef struct tide_top_process {
    tide_snapshot *snapshot; /* owned */
    tide_glance glance;      /* owned; of the snapshot */
    int64_t pid, rank;       /* -1: unknown */
    bool is_running;
    double silent_seconds; /* since its newest event; -1: it does not run, or unknown */
} tide_top_process;

/* The contents of the logs. */
typedef struct tide_top_view {
    tide_top_process processes[TIDE_LOGS_MAX];
    size_t n_processes;
    int64_t read_ns; /* time of the read, of tide_clock_now_ns */
    int64_t took_ns; /* duration of the read */
} tide_top_view;

/* Where logs are found. */
typedef struct tide_top_source {
    const char *path;                    /* of the only log; NULL: those of running processes */
    int64_t pid;                         /* of the only process; -1 */
    char folder[TIDE_LAUNCH_PATH_BYTES]; /* of the run; "" until it is found */
    tide_logs_list logs;                 /* found last */
} tide_top_source;

/* read.c. Reads all logs again. On failure there is no view. The caller finishes the view. */
TIDE_NODISCARD tide_status tide_top_read(tide_top_source *source, tide_top_view *ret,
                                         tide_error *error);
void tide_top_view_fini(tide_top_view *view);
bool tide_top_is_running(const tide_top_view *view);

/* The pause in ns from the end of a read that took took_ns to the next one: the interval, or
 * longer, so reading takes at most 10 % of a processor's time. */
int64_t tide_top_pause_ns(int64_t interval_ns, int64_t took_ns);

/* table.c. Reports a view. */
void tide_top_say(const tide_top_view *view, const tide_top_options *options, tide_report *report);

/* screen.c. The terminal as a screen, until `end`. */
typedef struct tide_screen {
    bool has_keys;         /* stdin is a terminal that delivers keys immediately */
    struct termios before; /* its settings, restored at the end */
} tide_screen;
void tide_screen_begin(tide_screen *screen);
void tide_screen_end(const tide_screen *screen);
/* Shows a line and the report below, as much of it as fits. */
TIDE_NODISCARD tide_status tide_screen_show(const char *line, const tide_report *report,
                                            tide_format format, tide_error *error);
/* Waits for this time, or until a signal arrives. True if the user ends it. */
bool tide_screen_wait(const tide_screen *screen, int64_t wait_ns);

#endif
