/* The answer about the ranks of a job: which failed first, which is the fullest, and equal ones in
 * one line. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/hostmem.h"
#include "common/text/plural.h"
#include "programs/launch/left/peaks.h"

enum { LINE_BYTES = 1024, MAX_LINES = 16 };

bool tide_run_is_job(const tide_run_answer *of) {
    int64_t first = -1;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        int64_t rank = of->list->processes[i].rank;
        if (rank >= 0 && first >= 0 && rank != first) {
            return true;
        }
        first = first >= 0 ? first : rank;
    }
    return first >= 0 && of->config->world > 0;
}

size_t tide_run_fullest_card(const tide_run_answer *of, size_t process) {
    return tide_left_fullest_device(of->processes[process].left, of->processes[process].summary);
}

/* ---- failures ---- */

bool tide_run_first_failure(const tide_run_answer *of, size_t *ret_process) {
    const tide_left *first = NULL;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_left *process = of->processes[i].left;
        bool is_it = of->list->failed_rank >= 0
                         ? process->rank == of->list->failed_rank
                         : process->exception[0] != '\0' &&
                               (first == NULL || process->ended_unix_us < first->ended_unix_us);
        if (is_it) {
            first = process;
            *ret_process = i;
        }
    }
    return first != NULL;
}

static void tell_failure(const tide_run_answer *of) {
    char line[LINE_BYTES];
    size_t i = 0;
    tide_text text = tide_text_in(line, sizeof(line));
    bool is_left = tide_run_first_failure(of, &i);
    if (!is_left && of->list->failed_rank < 0) {
        return;
    }
    tide_text_add(&text, "rank %lld failed first",
                  (long long)(is_left ? of->processes[i].left->rank : of->list->failed_rank));
    if (of->list->failed_rank >= 0 && of->list->failed_status < 0) {
        tide_text_add(&text, ": signal %d ended it", -of->list->failed_status);
    } else if (is_left && of->processes[i].left->exception[0] != '\0') {
        tide_text_add(&text, ": %s", of->processes[i].left->exception);
        if (of->processes[i].left->failing_line[0] != '\0') {
            tide_text_add(&text, ", at %s", of->processes[i].left->failing_line);
        }
    } else if (of->list->failed_rank >= 0) {
        tide_text_add(&text, ": it ended with status %d", of->list->failed_status);
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

/* ---- folds ---- */

/* Ranks with the same peaks. */
typedef struct fold {
    int64_t *ranks; /* in the order of the processes */
    size_t n;
    int64_t allocated_bytes, reserved_bytes;
    bool is_out_of_memory;
} fold;

static fold fold_of(const tide_run_answer *of, size_t process) {
    tide_run_place at = {process, tide_run_fullest_card(of, process)};
    return (fold){.allocated_bytes = tide_run_allocated_peak(of, at),
                  .reserved_bytes = tide_run_reserved_peak(of, at),
                  .is_out_of_memory = of->processes[process].left->is_out_of_memory};
}

static bool is_alike(const fold *a, const fold *b) {
    return a->allocated_bytes == b->allocated_bytes && a->reserved_bytes == b->reserved_bytes &&
           a->is_out_of_memory == b->is_out_of_memory;
}

/* `fullest`: the fullest rank; -1: all are equal. */
static void tell_fold(const fold *of, int64_t fullest) {
    char line[LINE_BYTES];
    char texts[2][TIDE_BYTES_TEXT];
    bool has_fullest = false;
    tide_text text = tide_text_in(line, sizeof(line));
    for (size_t i = 0; i < of->n; i++) {
        has_fullest = has_fullest || of->ranks[i] == fullest;
    }
    tide_text_add(&text, "%s ", tide_plural(of->n, "rank", "ranks"));
    tide_ranks_say(of->ranks, of->n, &text);
    tide_text_add(
        &text, ": allocated %s, reserved %s%s%s", tide_bytes_format(of->allocated_bytes, texts[0]),
        tide_bytes_format(of->reserved_bytes, texts[1]), has_fullest ? ", the fullest" : "",
        of->is_out_of_memory ? ", then out of memory" : "");
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

/* Folds the processes: each joins the first fold that it equals. Returns the number of folds. */
static size_t make_folds(const tide_run_answer *of, fold *folds, int64_t *ranks) {
    size_t n_processes = of->list->n_processes;
    size_t n = 0;
    for (size_t i = 0; i < n_processes; i++) {
        fold own = fold_of(of, i);
        size_t at = 0;
        while (at < n && !is_alike(&folds[at], &own)) {
            at++;
        }
        if (at == n) {
            folds[n] = own;
            folds[n++].ranks = ranks + at * n_processes;
        }
        folds[at].ranks[folds[at].n++] = of->processes[i].left->rank;
    }
    return n;
}

void tide_run_tell_ranks(const tide_run_answer *of, tide_run_place fullest) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_processes = of->list->n_processes;
    fold *folds = tide_hostmem_zeroed(mem, n_processes, sizeof(*folds));
    int64_t *ranks = tide_hostmem_zeroed(mem, n_processes * n_processes, sizeof(*ranks));
    if (folds != NULL && ranks != NULL) {
        size_t n = make_folds(of, folds, ranks);
        for (size_t i = 0; i < n && i < MAX_LINES; i++) {
            tell_fold(&folds[i], n > 1 ? of->processes[fullest.process].left->rank : -1);
        }
        if (n > MAX_LINES) {
            tide_cli_note(TIDE_COMMAND_RUN, "and %zu more that differ: see the report",
                          n - MAX_LINES);
        }
    }
    mem->release(mem->ctx, ranks);
    mem->release(mem->ctx, folds);
    if (of->launch->exit_status != 0 || of->launch->signal_number != 0) {
        tell_failure(of);
    }
}

static bool are_equal(const tide_run_answer *of) {
    fold first = fold_of(of, 0);
    for (size_t i = 1; i < of->list->n_processes; i++) {
        fold other = fold_of(of, i);
        if (!is_alike(&first, &other)) {
            return false;
        }
    }
    return true;
}

void tide_run_add_ranks(const tide_run_answer *of, tide_run_place fullest, tide_text *to) {
    size_t n = of->list->n_processes;
    int64_t world = of->processes[fullest.process].left->world_size;
    int64_t rank = of->processes[fullest.process].left->rank;
    if (!tide_run_is_job(of)) {
        return;
    }
    if (n > 1) {
        tide_text_add(to, " on all %zu ranks%s", n, (int64_t)n < world ? " that ran" : "");
    }
    if ((int64_t)n < world) {
        tide_text_add(to, n > 1 ? ", of %lld" : " on one rank of %lld", (long long)world);
    }
    if (n > 1 && are_equal(of)) {
        tide_text_add(to, ", which are equal");
    } else {
        tide_text_add(to, "%s rank %lld%s", n > 1 ? ";" : ",", (long long)rank,
                      n > 1 ? " is the fullest" : "");
    }
}
