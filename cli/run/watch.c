/* The reports while the program runs: snapshots that a signal requests, and failed requests for
 * memory. All of it comes from the logs; the program does not notice. */
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "programs/launch/document/document.h"
#include "programs/launch/names.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/peak_lines.h"
#include "snapshot/explain/words/peak_words.h"

enum { LINE_BYTES = 2048, MAX_PROCESSES = 4096 };

static void tell_error(tide_status status, const tide_error *error) {
    (void)tide_cli_fail(TIDE_COMMAND_RUN, status, error); /* the program continues */
}

static tide_status save(const tide_snapshot *snapshot, const char *path, tide_error *error) {
    const tide_output output = {
        .path = path, .content = TIDE_CONTENT_SNAPSHOT, .name = TIDE_OUTPUT_AGAIN};
    TIDE_TRY(tide_output_check(&output, error));
    return tide_snapshot_save(snapshot, path, error);
}

/* ---- requested snapshots ---- */

/* " (rank 3: 61.20 GiB allocated)": the latest allocated bytes of the fullest device. */
static void add_process(const tide_left *left, const tide_snapshot *snapshot, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    tide_summary *summary = NULL;
    if (tide_summary_create(snapshot, &summary, NULL) != TIDE_OK) {
        return; /* the file has it */
    }
    const tide_totals *end = &summary->devices[tide_summary_main_device(summary)].end;
    tide_text_add(to, " (");
    if (left->rank >= 0) {
        tide_text_add(to, "rank %lld: ", (long long)left->rank);
    }
    tide_text_add(to, "%s allocated, %s reserved)", tide_bytes_format(end->allocated_bytes, bytes),
                  tide_bytes_format(end->reserved_bytes, reserved));
    tide_summary_destroy(summary);
}

static tide_status save_running(const tide_run_watch *of, const tide_left_list *list, size_t i,
                                const char *name, tide_text *to, tide_error *error) {
    char path[TIDE_PATH_BYTES];
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_launch_name_snapshot(name, list, i, path, sizeof(path), error));
    TIDE_TRY(tide_launch_document(&list->processes[i], list, of->config, &snapshot, error));
    tide_status status = save(snapshot, path, error);
    if (status == TIDE_OK) {
        tide_text_add(to, "%s%s", i > 0 ? ", " : "", path);
        add_process(&list->processes[i], snapshot, to);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status answer(tide_run_watch *of, const tide_left_list *list, tide_error *error) {
    char line[LINE_BYTES];
    char name[TIDE_PATH_BYTES];
    tide_text text = tide_text_in(line, sizeof(line));
    if (list->n_processes == 0) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "no snapshot was written, although one was asked for: no running process has "
                      "allocated GPU memory yet");
        return TIDE_OK;
    }
    TIDE_TRY(tide_run_name_moment(of->files, "at", (size_t)++of->n_asked, name, error));
    for (size_t i = 0; i < list->n_processes; i++) {
        TIDE_TRY(save_running(of, list, i, name, &text, error));
    }
    tide_cli_note(TIDE_COMMAND_RUN, "the snapshot that was asked for is %s", line);
    return TIDE_OK;
}

static void answer_signal(tide_run_watch *of, const tide_launch *launch) {
    tide_error error = {""};
    tide_left_list list;
    tide_status status = tide_left_read_running(launch, -1, &list, &error);
    if (status == TIDE_OK) {
        status = answer(of, &list, &error);
    }
    if (status != TIDE_OK) {
        tell_error(status, &error);
    }
    tide_left_fini(&list);
}

/* ---- requests that failed ---- */

/* The row of failure number `which` (from 0) of the n that the process reported; -1: no longer in
 * the log. A full log may have lost the first ones. */
static int64_t find_failure(const tide_snapshot *snapshot, size_t which, size_t n) {
    size_t n_rows = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n_rows += snapshot->events.action[i] == TIDE_ACTION_OOM;
    }
    size_t n_lost = snapshot->n_dropped > 0 && n > n_rows ? n - n_rows : 0;
    for (size_t i = 0; i < snapshot->n_events && which >= n_lost; i++) {
        if (snapshot->events.action[i] == TIDE_ACTION_OOM && which-- == n_lost) {
            return (int64_t)i;
        }
    }
    return -1;
}

static void tell_request(const tide_left *left, size_t n_processes, const tide_snapshot *snapshot,
                         int64_t event, const tide_totals *totals) {
    char line[LINE_BYTES];
    char asked[TIDE_BYTES_TEXT];
    char free_text[TIDE_BYTES_TEXT];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    const tide_event row = tide_event_at(snapshot, (size_t)event);
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "out of memory");
    tide_run_say_where(snapshot, event, &text);
    if (left->rank >= 0) {
        tide_text_add(&text, ", in rank %lld", (long long)left->rank);
    } else if (n_processes > 1) {
        tide_text_add(&text, ", in process %lld", (long long)left->pid);
    }
    if (snapshot->n_devices > 1) {
        tide_text_add(&text, ", on device %d", (int)row.device);
    }
    int64_t free_bytes = tide_oom_free_bytes(&row);
    tide_text_add(&text, ": %s asked for, %s free; %s had allocated %s and reserved %s",
                  tide_bytes_format((int64_t)row.requested_bytes, asked),
                  free_bytes >= 0 ? tide_bytes_format(free_bytes, free_text) : "unknown",
                  tide_run_who(snapshot), tide_bytes_format(totals->allocated_bytes, allocated),
                  tide_bytes_format(totals->reserved_bytes, reserved));
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

/* "3.00 GiB allocated then: 2.00 GiB of activations at forward (train.py:42); 1.00 GiB elsewhere."
 */
static tide_status add_memory(const tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                              size_t device, const tide_summary_peak *then, tide_text *to) {
    tide_facts facts;
    tide_peak_lines lines = {0};
    tide_status status = tide_facts_init_lines(&facts, snapshot, lifetimes, device);
    if (status == TIDE_OK) {
        status = tide_peak_lines_init_of(&lines, &facts, then->blocks, then->n_blocks);
    }
    if (status == TIDE_OK) {
        tide_peak_words_add(&facts, &lines, "then", to);
    }
    tide_peak_lines_fini(&lines);
    tide_facts_fini(&facts);
    return status;
}

static tide_status tell_failure(const tide_left *left, size_t n_processes,
                                const tide_snapshot *snapshot, int64_t event, const char *path,
                                tide_error *error) {
    char line[LINE_BYTES];
    tide_lifetimes lifetimes;
    tide_summary *summary = NULL;
    const tide_instant at = {.device = snapshot->events.device[event], .event = event};
    tide_text text = tide_text_in(line, sizeof(line));
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), error));
    tide_status status = tide_summary_create_from(snapshot, &lifetimes, &at, &summary, error);
    if (status != TIDE_OK) {
        tide_lifetimes_fini(&lifetimes);
        return status;
    }
    const tide_summary_peak *then = &summary->devices[at.device].peak;
    tell_request(left, n_processes, snapshot, event, &then->totals);
    status = add_memory(&lifetimes, snapshot, at.device, then, &text);
    tide_cli_note(TIDE_COMMAND_RUN, "%s The snapshot is %s.", line, path);
    tide_summary_destroy(summary);
    tide_lifetimes_fini(&lifetimes);
    return status;
}

/* Prints failure number `which` of the process. */
static tide_status tell_one(tide_run_watch *of, const tide_launch *launch,
                            const tide_left_failures *process, size_t which, size_t n_processes,
                            tide_error *error) {
    char path[TIDE_PATH_BYTES];
    tide_left_list list;
    tide_snapshot *snapshot = NULL;
    tide_status status = tide_left_read_running(launch, process->pid, &list, error);
    if (status == TIDE_OK && list.n_processes == 0) {
        status = tide_fail(error, TIDE_FORMAT,
                           "a request for memory failed, and the log of "
                           "process %lld cannot be read",
                           (long long)process->pid);
    }
    if (status == TIDE_OK) {
        status = tide_launch_document(list.processes, &list, of->config, &snapshot, error);
    }
    if (status == TIDE_OK) {
        if (!list.processes->is_running) {
            snapshot->run.outcome = TIDE_SNAPSHOT_OOM;
        }
        status = tide_run_name_moment(of->files, "oom", of->n_told, path, error);
        status = status == TIDE_OK ? save(snapshot, path, error) : status;
        int64_t event = find_failure(snapshot, which, process->n);
        if (status == TIDE_OK && event >= 0) {
            status = tell_failure(list.processes, n_processes, snapshot, event, path, error);
        } else if (status == TIDE_OK) {
            tide_cli_note(TIDE_COMMAND_RUN,
                          "out of memory in process %lld; its log was full, so that the request is "
                          "not in the snapshot %s",
                          (long long)process->pid, path);
        }
        tide_snapshot_destroy(snapshot);
    }
    tide_left_fini(&list);
    return status;
}

/* The number of reported failures of the process. */
static size_t *told_of(tide_run_watch *of, int64_t pid) {
    for (size_t i = 0; i < TIDE_RUN_MAX_FAILURES; i++) {
        if (of->told[i].n == 0) {
            of->told[i].pid = pid;
        }
        if (of->told[i].pid == pid) {
            return &of->told[i].n;
        }
    }
    return NULL; /* other processes use all places */
}

static void tell_failures(tide_run_watch *of, const tide_launch *launch) {
    tide_left_failures processes[MAX_PROCESSES];
    size_t n = tide_left_count_failures(launch, processes, MAX_PROCESSES);
    of->n_failures = 0;
    for (size_t i = 0; i < n; i++) {
        of->n_failures += processes[i].n;
        size_t *n_told = told_of(of, processes[i].pid);
        while (n_told != NULL && *n_told < processes[i].n && of->n_told < TIDE_RUN_MAX_FAILURES) {
            tide_error error = {""};
            of->n_told++;
            tide_status status = tell_one(of, launch, &processes[i], (*n_told)++, n, &error);
            if (status != TIDE_OK) {
                tell_error(status, &error);
            }
        }
    }
}

void tide_run_look(void *ctx, const tide_launch *launch, bool was_asked) {
    tide_run_watch *of = ctx;
    if (was_asked) {
        answer_signal(of, launch);
    }
    if (of->options->live.on_oom) {
        tell_failures(of, launch);
    }
}

void tide_run_end_watch(const tide_run_watch *watch) {
    size_t n = watch->n_failures - watch->n_told;
    if (n > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "%zu more %s for memory failed, which the snapshot has", n,
                      tide_plural(n, "request", "requests"));
    }
}
