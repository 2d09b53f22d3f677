/* The lines at the end of a run: whether it fits, where its peak is, what fills it, what is
 * unknown, and where the report is. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "programs/launch/left/peaks.h"

enum { LINE_BYTES = 2048 };

int64_t tide_run_allocated_peak(const tide_run_answer *of, tide_run_place at) {
    const tide_run_saved *process = &of->processes[at.process];
    return tide_left_allocated_peak(process->left, process->summary, at.device);
}

int64_t tide_run_reserved_peak(const tide_run_answer *of, tide_run_place at) {
    const tide_run_saved *process = &of->processes[at.process];
    return tide_left_reserved_peak(process->left, process->summary, at.device);
}

tide_run_place tide_run_fullest(const tide_run_answer *of) {
    tide_run_place best = {0, 0};
    int64_t most = -1;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        for (size_t d = 0; d < of->processes[i].left->n_devices; d++) {
            tide_run_place here = {i, d};
            int64_t peak = tide_run_reserved_peak(of, here);
            if (peak > most) {
                most = peak;
                best = here;
            }
        }
    }
    return best;
}

static const tide_summary_device *summary_of(const tide_run_answer *of, tide_run_place at) {
    const tide_summary *summary = of->processes[at.process].summary;
    return summary != NULL && at.device < summary->n_devices ? &summary->devices[at.device] : NULL;
}

const char *tide_run_card_name(const tide_run_answer *of, tide_run_place at) {
    tide_card card;
    if (of->config->cards == NULL) {
        const tide_left *left = of->processes[at.process].left;
        const char *name = at.device < left->n_devices ? left->peaks[at.device].name : "";
        return name[0] != '\0' ? name : "the GPU";
    }
    return tide_launch_card(of->config->cards, at.device, &card) &&
                   strstr(of->options->device, ".json") == NULL
               ? card.spec
               : of->options->device;
}

/* The card, with its number if several were used. */
static void add_card(const tide_run_answer *of, tide_run_place at, tide_text *to) {
    tide_text_add(to, "%s", tide_run_card_name(of, at));
    if (!tide_run_is_job(of) && tide_run_n_cards_used(of) > 1) {
        tide_text_add(to, " as card %zu", at.device);
    }
}

/* A limit that the user set on the card. */
static void add_limit(const tide_run_answer *of, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    if (of->config->memory_bytes > 0) {
        tide_text_add(to, " with a limit of %s",
                      tide_bytes_format((int64_t)of->config->memory_bytes, bytes));
    }
}

/* Its total is 0 if no process made a context on the card. */
static const tide_run_device *account_of(const tide_run_answer *of, tide_run_place at) {
    return &of->processes[at.process].left->account[at.device % TIDE_RUN_DEVICES];
}

int64_t tide_run_left_of(const tide_run_answer *of, tide_run_place at) {
    const tide_run_device *device = account_of(of, at);
    return (int64_t)(device->total_bytes + device->spill_bytes - device->peak_bytes);
}

void tide_run_add_together(const tide_run_answer *of, tide_run_place at, tide_text *to) {
    const tide_run_device *device = account_of(of, at);
    char bytes[TIDE_BYTES_TEXT];
    if (device->n_contexts > 1) {
        tide_text_add(to, "; %llu processes took up to %s of the card together",
                      (unsigned long long)device->n_contexts,
                      tide_bytes_format((int64_t)device->peak_bytes, bytes));
    }
}

/* Appends the place of a row of the history; returns whether the peak is at the same place. */
static bool say_failing_place(const tide_run_answer *of, size_t i, tide_run_place at,
                              tide_text *to) {
    char peak_text[LINE_BYTES];
    const tide_run_saved *process = &of->processes[i];
    const tide_summary_device *device = summary_of(of, at);
    tide_text peak = tide_text_in(peak_text, sizeof(peak_text));
    const char *place = to->bytes + to->n_used;
    tide_run_say_where(process->snapshot, tide_left_first_failure(process->snapshot), to);
    if (device == NULL || at.process != i || device->peak.event < 0) {
        return false;
    }
    tide_run_say_where(process->snapshot, device->peak.event, &peak);
    return strcmp(peak_text, place) == 0;
}

static size_t count_failures(const tide_snapshot *snapshot) {
    size_t n = 0;
    for (size_t i = 0; snapshot != NULL && i < snapshot->n_events; i++) {
        n += snapshot->events.action[i] == TIDE_ACTION_OOM;
    }
    return n;
}

/* Prints the failing line: the first request that failed, as `tidemark explain` does. True if the
 * peak is at the same place and was printed with it. */
static bool tell_failure(const tide_run_answer *of, size_t i, tide_run_place at) {
    bool is_at_peak = false;
    char line[LINE_BYTES];
    char asked[TIDE_BYTES_TEXT];
    char free_text[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    const tide_run_saved *process = &of->processes[i];
    int64_t event = tide_left_first_failure(process->snapshot);
    size_t n_failures = count_failures(process->snapshot);
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "it does not fit ");
    add_card(of, at, &text);
    add_limit(of, &text);
    if (tide_run_is_job(of)) {
        tide_text_add(&text, ": rank %lld ran out of memory first", (long long)process->left->rank);
    } else {
        tide_text_add(&text, ": out of memory");
        if (n_failures > 1) {
            tide_text_add(&text, " %zu times, first", n_failures);
        }
    }
    if (event >= 0) {
        const tide_event row = tide_event_at(process->snapshot, (size_t)event);
        const tide_instant then = {row.device, event};
        int64_t free_bytes = tide_oom_free_bytes(&row);
        tide_totals totals = {0};
        tide_lifetimes_reserved_at(process->snapshot, &then, &totals);
        is_at_peak = say_failing_place(of, i, at, &text);
        /* In an autograd thread. The exception is of the last failure. */
        if (n_failures == 1 && strstr(line, process->left->failing_line) == NULL) {
            tide_text_add(&text, ", called at %s", process->left->failing_line);
        }
        tide_text_add(
            &text,
            "%s: %s were asked for, and %s were free beside the %s that %s had "
            "reserved",
            is_at_peak ? ", where the peak is, too" : "",
            tide_bytes_format((int64_t)row.requested_bytes, asked),
            free_bytes >= 0 ? tide_bytes_format(free_bytes, free_text) : "unlimited bytes",
            tide_bytes_format(totals.reserved_bytes, reserved), tide_run_who(process->snapshot));
        if (of->config->cards != NULL && free_bytes >= 0) {
            tide_run_add_nccl(of, (tide_run_place){i, row.device}, (int64_t)row.requested_bytes,
                              free_bytes, &text);
        }
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
    return is_at_peak;
}

/* Whether the card's memory is the host's, too. */
static bool shares_host(const tide_run_answer *of, tide_run_place at) {
    tide_card card;
    return of->config->cards != NULL && tide_launch_card(of->config->cards, at.device, &card) &&
           card.shares_host;
}

/* Explains the margin if the host shares it, and what of it was never measured. */
static void add_margin(const tide_run_answer *of, tide_run_place at, tide_text *to) {
    char host[TIDE_BYTES_TEXT];
    if (shares_host(of, at)) {
        tide_text_add(to, " for the host, of which the program used %s here%s",
                      tide_bytes_format(of->launch->host_peak_bytes, host),
                      tide_run_is_job(of) ? " in its largest process" : "");
    }
    if (of->config->cards != NULL) {
        tide_run_add_unmeasured(of, at, to);
    }
}

/* NCCL fails where its buffers do not fit. False if they do. */
static bool add_nccl_verdict(const tide_run_answer *of, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    tide_run_place at = {0, 0};
    tide_run_nccl_use most = tide_run_most_nccl(of, &at);
    if (most.missing_bytes == 0) {
        return false;
    }
    tide_text_add(to, "it does not fit ");
    add_card(of, at, to);
    add_limit(of, to);
    tide_text_add(to, ": NCCL's buffers (%s) do not fit", tide_run_nccl_source(of));
    if (tide_run_is_job(of)) {
        tide_text_add(to, " on rank %lld", (long long)of->processes[at.process].left->rank);
    }
    tide_text_add(to, ": %s are missing; ", tide_bytes_format((int64_t)most.missing_bytes, bytes));
    return true;
}

/* A failed program might have allocated more later: whether it fits is unknown. */
static void add_verdict(const tide_run_answer *of, tide_run_place at, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    bool has_failed = tide_run_has_failed(of);
    if (tide_run_add_refusal(of, NULL)) {
        tide_text_add(to, "it does not fit ");
        add_card(of, at, to);
        add_limit(of, to);
        tide_text_add(to, ": ");
        (void)tide_run_add_refusal(of, to);
        tide_text_add(to, "; until then, ");
        return;
    }
    if (!has_failed && add_nccl_verdict(of, to)) {
        return;
    }
    if (has_failed) {
        tide_run_say_failure(of, "", to);
    }
    tide_text_add(to, "%s", has_failed ? "; until then, on " : "it fits ");
    add_card(of, at, to);
    add_limit(of, to);
    tide_run_add_ranks(of, at, to);
    if (!has_failed && tide_run_is_near(of, at)) {
        tide_text_add(to, ", near the limit");
    }
    if (!has_failed) {
        tide_run_add_assumed_limit(of, to);
    }
    if (!has_failed && shares_host(of, at)) {
        bool has_account = account_of(of, at)->total_bytes > 0;
        tide_text_add(
            to, " if the host and other programs use no more than %s of the memory that they share",
            has_account ? tide_bytes_format(tide_run_left_of(of, at), bytes) : "the rest");
    }
    tide_text_add(to, "%s ", has_failed ? "," : ":");
}

/* On a GPU, the program evidently fits. */
static void tell_use(const tide_run_answer *of, tide_run_place at) {
    char line[LINE_BYTES];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char total[TIDE_BYTES_TEXT];
    const tide_left *left = of->processes[at.process].left;
    int64_t total_bytes = at.device < left->n_devices ? left->peaks[at.device].total_bytes : -1;
    tide_text text = tide_text_in(line, sizeof(line));
    if (tide_run_has_failed(of)) {
        tide_run_say_failure(of, "", &text);
        tide_text_add(&text, "; until then, ");
    }
    tide_text_add(&text, "on ");
    add_card(of, at, &text);
    tide_run_add_ranks(of, at, &text);
    tide_text_add(&text, ", %s allocated %s and reserved %s at their peaks",
                  tide_run_who(of->processes[at.process].snapshot),
                  tide_bytes_format(tide_run_allocated_peak(of, at), allocated),
                  tide_bytes_format(tide_run_reserved_peak(of, at), reserved));
    if (total_bytes > 0) {
        tide_text_add(&text, ", of %s", tide_bytes_format(total_bytes, total));
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_fit(const tide_run_answer *of, tide_run_place at) {
    char line[LINE_BYTES];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    int64_t reserved_bytes = tide_run_reserved_peak(of, at);
    bool has_context = account_of(of, at)->total_bytes > 0;
    int64_t n_oom = of->processes[at.process].left->peaks[at.device].n_oom;
    tide_text text = tide_text_in(line, sizeof(line));
    add_verdict(of, at, &text);
    tide_text_add(&text, "%s allocated %s and reserved %s at their peaks",
                  tide_run_who(of->processes[at.process].snapshot),
                  tide_bytes_format(tide_run_allocated_peak(of, at), allocated),
                  tide_bytes_format(reserved_bytes, reserved));
    if (has_context) {
        tide_text_add(&text, "; %s %s left", tide_bytes_format(tide_run_left_of(of, at), left),
                      tide_run_has_failed(of) ? "were" : "are");
        add_margin(of, at, &text);
    }
    tide_run_add_together(of, at, &text);
    if (n_oom > 0) {
        tide_text_add(&text, "; the program caught %lld out-of-memory %s", (long long)n_oom,
                      tide_plural((uint64_t)n_oom, "error", "errors"));
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

/* `is_told`: its place was printed with the failure. */
static void tell_peak(const tide_run_answer *of, tide_run_place at, bool is_told) {
    char line[LINE_BYTES];
    const tide_run_saved *process = &of->processes[at.process];
    const tide_summary_device *device = summary_of(of, at);
    tide_text text = tide_text_in(line, sizeof(line));
    if (device == NULL) {
        tide_cli_note(
            TIDE_COMMAND_RUN,
            "the place of the peak is unknown: PyTorch keeps no history of its back end %s",
            process->left->backend);
        return;
    }
    if (is_told) {
        return;
    }
    tide_text_add(&text, "the peak is%s", device->peak.event < 0 ? " at the start" : "");
    tide_run_say_where(process->snapshot, device->peak.event, &text);
    if (tide_run_is_job(of)) {
        tide_text_add(&text, ", on rank %lld", (long long)process->left->rank);
    } else if (of->list->n_processes > 1) {
        tide_text_add(&text, ", in process %lld", (long long)process->left->pid);
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

/* Weights that are made on the host stay in its memory until they are moved. */
#define MUCH_HOST_BYTES (INT64_C(8) << 30)

static void tell_files(const tide_run_answer *of, tide_run_place at) {
    char line[LINE_BYTES + sizeof(of->kept_away)];
    char host[TIDE_BYTES_TEXT];
    int64_t host_bytes = of->launch->host_peak_bytes;
    tide_text text = tide_text_in(line, sizeof(line));
    if (of->has_page) {
        tide_text_add(&text, "the report is %s, the snapshot %s", of->files->page,
                      of->processes[at.process].path);
    } else if (of->processes[at.process].snapshot != NULL) {
        tide_text_add(&text, "the snapshot is %s", of->processes[at.process].path);
    } else {
        tide_text_add(&text, "there is no report, because there is no history");
    }
    if (of->processes[at.process].snapshot != NULL && of->list->n_processes > 1) {
        tide_text_add(&text, " and %zu more beside it", of->list->n_processes - 1);
    }
    if (of->kept_away[0] != '\0') {
        tide_text_add(&text, "; %s", of->kept_away);
    }
    tide_text_add(&text, "; the program took %.1f s and %s of host memory%s", of->launch->seconds,
                  tide_bytes_format(host_bytes, host),
                  tide_run_is_job(of) ? " in its largest process" : "");
    if (host_bytes > MUCH_HOST_BYTES && tide_run_has_pytorch(of)) {
        tide_text_add(&text, ": a model that is made under torch.device('cuda') takes none");
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_nothing(const tide_run_answer *of) {
    bool has_failed = tide_run_has_failed(of);
    if (has_failed) {
        tide_run_tell_early_failure(of);
    }
    tide_run_tell_pools(of);
    tide_run_tell_assumed(of);
    if (of->list->n_inexact > 0) {
        tide_run_tell_inexact(of);
    }
    if (has_failed && of->config->cards != NULL && !tide_run_add_refusal(of, NULL)) {
        tide_run_tell_cause(of);
    }
    if (has_failed) {
        tide_run_tell_host_limit(of);
        return;
    }
    tide_run_tell_linked(of);
    tide_cli_note(TIDE_COMMAND_RUN, "no process of the program allocated GPU memory%s",
                  tide_run_has_pytorch(of)
                      ? ". Does it ask for the device cuda, and does its PyTorch have CUDA (python "
                        "-c 'import torch; print(torch.version.cuda)')?"
                      : "");
}

/* The card on which the process ran out of memory, which need not be the fullest. */
static tide_run_place failing_place(const tide_run_answer *of, size_t process,
                                    tide_run_place fullest) {
    const tide_snapshot *snapshot = of->processes[process].snapshot;
    int64_t event = tide_left_first_failure(snapshot);
    tide_run_place at = {process, event >= 0 ? snapshot->events.device[event] : 0};
    return event >= 0 && at.device < of->processes[process].left->n_devices ? at : fullest;
}

void tide_run_tell(const tide_run_answer *answer) {
    size_t failed = 0;
    bool is_peak_told = false;
    if (answer->list->n_processes == 0 || tide_run_failed_early(answer)) {
        tell_nothing(answer);
        tide_run_tell_writes(answer);
        return;
    }
    tide_run_place at = tide_run_fullest(answer);
    bool is_out = tide_left_first_out(answer->list, &failed);
    if (is_out) {
        at = failing_place(answer, failed, at);
        is_peak_told = tell_failure(answer, failed, at);
    } else if (answer->config->cards == NULL) {
        tell_use(answer, at);
    } else {
        tell_fit(answer, at);
    }
    tide_run_tell_changes(answer);
    if (tide_run_is_job(answer)) {
        tide_run_tell_ranks(answer, at);
    } else {
        tide_run_tell_other_cards(answer, at);
    }
    tide_run_tell_pools(answer);
    tide_run_tell_xla(answer);
    tide_run_tell_spill(answer);
    tell_peak(answer, at, is_peak_told);
    if (tide_run_is_job(answer)) {
        tide_run_tell_rank_facts(answer);
    } else {
        tide_run_tell_facts(answer, at, is_out);
    }
    if (is_out) {
        tide_run_tell_remedy(answer);
    }
    tide_run_tell_retries(answer, at);
    tide_run_tell_time(answer, at);
    tide_run_tell_clock(answer);
    if (answer->config->cards != NULL) {
        tide_run_tell_linked(answer);
        tide_run_tell_nccl(answer);
        tide_run_tell_assumed(answer);
        tide_run_tell_inexact(answer);
        if (!tide_run_add_refusal(answer, NULL)) {
            tide_run_tell_cause(answer);
        }
    }
    tide_run_tell_host_limit(answer);
    tide_run_tell_limits(answer);
    tell_files(answer, at);
}
