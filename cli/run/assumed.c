/* The values that the program read from the card and that were assumed: their sentences, and
 * whether the run would fit with all rows. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "snapshot/explain/words/assumed_words.h"

enum { SENTENCE_BYTES = 1024, MOST_ROWS = 4096 };

/* The rows of a process, in their order. Returns their number. */
static size_t rows_of(const tide_run_answer *of, int64_t pid, tide_snapshot_assumed *ret) {
    size_t n = 0;
    for (size_t i = 0; i < of->list->n_assumed && n < MOST_ROWS; i++) {
        if (of->list->assumed[i].pid == pid) {
            ret[n++] = of->list->assumed[i].row;
        }
    }
    return n;
}

/* The bytes of the card that the run never used; -1 if unknown. */
static int64_t left_bytes(const tide_run_answer *of, tide_run_place at) {
    const tide_run_device *device =
        &of->processes[at.process].left->account[at.device % TIDE_RUN_DEVICES];
    tide_card card;
    if (device->total_bytes > 0) {
        return tide_run_left_of(of, at);
    }
    if (of->config->cards == NULL || !tide_launch_card(of->config->cards, at.device, &card)) {
        return -1;
    }
    int64_t context_bytes = card.context_bytes > 0 ? card.context_bytes : 0;
    int64_t total_bytes =
        of->config->memory_bytes > 0 ? (int64_t)of->config->memory_bytes : card.total_bytes;
    int64_t n_bytes = total_bytes - context_bytes - tide_run_reserved_peak(of, at);
    return n_bytes > 0 ? n_bytes : 0;
}

/* The first process whose rows do not fit its card counts: for a job, each process has its own. */
void tide_run_add_assumed_limit(const tide_run_answer *of, tide_text *to) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_most = of->list->n_assumed < MOST_ROWS ? of->list->n_assumed : MOST_ROWS;
    tide_snapshot_assumed *rows = tide_hostmem_zeroed(mem, n_most + 1, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < of->list->n_processes; i++) {
        const tide_run_place at = {i, tide_run_fullest_card(of, i)};
        size_t n = rows_of(of, of->processes[i].left->pid, rows);
        const tide_assumed_limit limit = tide_assumed_limit_of(rows, n, left_bytes(of, at));
        if (!limit.fits_with_all) {
            tide_text_add(to, "%s", tide_run_is_job(of) ? "," : "");
            tide_assumed_words_add_limit(&limit, to);
            break;
        }
    }
    mem->release(mem->ctx, rows);
}

int64_t tide_run_assumed_bytes(const tide_run_answer *of) {
    int64_t most_bytes = 0;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        tide_assumed_limit limit = {.n_reads = 0};
        for (size_t k = 0; k < of->list->n_assumed; k++) {
            if (of->list->assumed[k].pid == of->processes[i].left->pid) {
                tide_assumed_limit_add(&limit, &of->list->assumed[k].row);
            }
        }
        most_bytes = limit.all_bytes > most_bytes ? limit.all_bytes : most_bytes;
    }
    return most_bytes;
}

/* Whether an earlier row, of another process, has the same line and kind. */
static bool is_said(const tide_run_answer *of, size_t i) {
    const tide_snapshot_assumed *row = &of->list->assumed[i].row;
    for (size_t k = 0; k < i; k++) {
        const tide_snapshot_assumed *other = &of->list->assumed[k].row;
        if (strcmp(row->place, other->place) == 0 && strcmp(row->what, other->what) == 0) {
            return true;
        }
    }
    return false;
}

void tide_run_tell_assumed(const tide_run_answer *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->list->n_assumed; i++) {
        char words[SENTENCE_BYTES];
        tide_text text = tide_text_in(words, sizeof(words));
        if (!is_said(of, i) && n++ < TIDE_ASSUMED_SENTENCES) {
            tide_assumed_words_add(&of->list->assumed[i].row, &text);
            tide_cli_note(TIDE_COMMAND_RUN, "%s", words);
        }
    }
    char words[SENTENCE_BYTES] = "";
    tide_text text = tide_text_in(words, sizeof(words));
    tide_assumed_words_add_all(n, &text);
    if (words[0] != '\0') {
        tide_cli_note(TIDE_COMMAND_RUN, "%s", words);
    }
}
