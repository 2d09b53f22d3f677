/* The values that are not exact, in one line: calls with the same explanation are grouped. The
 * snapshot has a row for each. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "programs/wire/run_card.h"
#include "programs/launch/document/document.h"

enum { LINE_BYTES = 2048, MAX_SENTENCES = 3, MAX_NAMES = 5, KERNELS_BYTES = 96 };

/* Rows without a function: their sentence names its subject. */
static const char *const WITHOUT_NAME[] = {
    "rows",    "truth",   "integer",  "values",     "generate",      "objects",
    "account", "members", "watchdog", "late reads", "an ended rank", "position_ids"};

static bool has_name(const tide_left_inexact *row) {
    for (size_t i = 0; i < sizeof(WITHOUT_NAME) / sizeof(WITHOUT_NAME[0]); i++) {
        if (strcmp(row->call, WITHOUT_NAME[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* A sum of bounds is one only if every call has one. */
static bool is_alike(const tide_left_inexact *a, const tide_left_inexact *b) {
    return a->is_refused == b->is_refused && a->is_host == b->is_host &&
           strcmp(a->what, b->what) == 0 && (a->bound_bytes >= 0) == (b->bound_bytes >= 0);
}

/* A program that was not built for the card fails like on a real card (tide_run_tell_cause). */
static bool is_of_program(const tide_left_inexact *row) {
    return strcmp(row->call, TIDE_RUN_NO_KERNELS) == 0;
}

/* Whether an earlier row has the same explanation, and was printed together with this one. */
static bool is_told(const tide_left_list *list, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (is_alike(&list->inexact[k], &list->inexact[i])) {
            return true;
        }
    }
    return is_of_program(&list->inexact[i]);
}

/* Whether row `i` is the first of its name among the rows like it. */
static bool is_first_of_name(const tide_left_list *list, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (is_alike(&list->inexact[k], &list->inexact[i]) &&
            strcmp(list->inexact[k].call, list->inexact[i].call) == 0) {
            return false;
        }
    }
    return true;
}

/* "A, B and C: ", each name once, although several processes may have called it. For a single name,
 * also the line of the program: "A, forward (train.py:22): ". */
static void add_names(const tide_left_list *list, size_t first, tide_text *to) {
    size_t n_names = 0;
    size_t n_told = 0;
    for (size_t i = first; i < list->n_inexact; i++) {
        n_names += is_alike(&list->inexact[i], &list->inexact[first]) && is_first_of_name(list, i);
    }
    size_t n_listed = n_names > MAX_NAMES ? MAX_NAMES : n_names;
    for (size_t i = first; i < list->n_inexact && n_told < n_listed; i++) {
        if (is_alike(&list->inexact[i], &list->inexact[first]) && is_first_of_name(list, i)) {
            n_told++;
            tide_text_add(to, "%s%s",
                          n_told == 1                                 ? ""
                          : n_told == n_listed && n_listed == n_names ? " and "
                                                                      : ", ",
                          list->inexact[i].call);
        }
    }
    if (n_listed < n_names) {
        tide_text_add(to, " and %zu more", n_names - n_listed);
    }
    if (n_names == 1 && list->inexact[first].place[0] != '\0') {
        tide_text_add(to, ", %s", list->inexact[first].place);
    }
    tide_text_add(to, ": ");
}

/* ---- bounds ---- */

/* The card of a process: its node, and the card that it filled most. A process without other data
 * is assigned to the first card. */
typedef struct place {
    int64_t node;
    size_t device;
} place;

static place place_of(const tide_run_answer *of, int64_t pid) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        if (of->list->processes[i].pid == pid) {
            int64_t node = of->list->processes[i].node;
            return (place){node > 0 ? node : 0, tide_run_fullest_card(of, i)};
        }
    }
    return (place){.node = 0};
}

/* The bytes that the rows like row `first` may add to one card: the maximum over the cards. */
static int64_t bound_of_a_card(const tide_run_answer *of, size_t first) {
    const tide_left_list *list = of->list;
    int64_t most_bytes = 0;
    for (size_t i = first; i < list->n_inexact; i++) {
        place at = place_of(of, list->inexact[i].pid);
        int64_t n_bytes = 0;
        for (size_t k = first; k < list->n_inexact; k++) {
            place other = place_of(of, list->inexact[k].pid);
            bool counts = is_alike(&list->inexact[k], &list->inexact[first]) &&
                          other.node == at.node && other.device == at.device;
            n_bytes += counts ? list->inexact[k].bound_bytes : 0;
        }
        most_bytes = n_bytes > most_bytes ? n_bytes : most_bytes;
    }
    return most_bytes;
}

/* ---- the line ---- */

static void add_sentence(const tide_run_answer *of, size_t first, tide_text *to) {
    char bound[TIDE_BYTES_TEXT];
    const tide_left_inexact *row = &of->list->inexact[first];
    tide_text_add_item(to, "; ", "%s", row->is_refused ? "refused: " : "");
    if (has_name(row)) {
        add_names(of->list, first, to);
    } else if (row->place[0] != '\0') {
        tide_text_add(to, "at %s, ", row->place);
    }
    tide_text_add(to, "%s", row->what);
    if (row->bound_bytes >= 0) {
        tide_text_add(to, "; up to %s more%s", tide_bytes_format(bound_of_a_card(of, first), bound),
                      tide_run_is_job(of) ? " on a card" : "");
    }
}

/* Prints a line for each request that the host had no memory for although the card had room. True
 * if there is one. */
static bool tell_host(const tide_left_list *list) {
    bool has_failed = false;
    for (size_t i = 0; i < list->n_inexact; i++) {
        const tide_left_inexact *row = &list->inexact[i];
        if (row->is_host && !is_told(list, i)) {
            tide_cli_note(TIDE_COMMAND_RUN, "the host failed, not the card, at %s: %s", row->call,
                          row->what);
            has_failed = true;
        }
    }
    return has_failed;
}

/* "no kernel ran". For a program without PyTorch also how many it launched: its answer has no
 * steps. Returns `text`. */
static const char *kernel_words(const tide_run_answer *of, bool is_pytorch,
                                char text[KERNELS_BYTES]) {
    uint64_t n = 0;
    tide_text to = tide_text_in(text, KERNELS_BYTES);
    for (size_t i = 0; i < TIDE_RUN_DEVICES; i++) {
        n += of->list->devices[i].n_launches;
    }
    if (is_pytorch || n == 0) {
        tide_text_add(&to, "no kernel ran");
    } else if (n == 1) {
        tide_text_add(&to, "the kernel that the program launched did not run");
    } else {
        tide_text_add(&to, "none of the %" PRIu64 " kernels that the program launched ran", n);
    }
    return text;
}

void tide_run_tell_inexact(const tide_run_answer *of) {
    char line[LINE_BYTES];
    char kernel_text[KERNELS_BYTES];
    size_t n_plain = 0;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_snapshot *snapshot = of->processes[i].snapshot;
        n_plain += snapshot != NULL && strcmp(tide_run_who(snapshot), "PyTorch") != 0;
    }
    bool is_pytorch = n_plain == 0;
    const char *kernels = kernel_words(of, is_pytorch, kernel_text);
    const tide_left_list *list = of->list;
    tide_text text = tide_text_in(line, sizeof(line));
    size_t n_told = 0;
    bool has_failed = tell_host(list); /* the bytes that it would have allocated are then unknown */
    for (size_t i = 0; i < list->n_inexact; i++) {
        has_failed = has_failed || is_of_program(&list->inexact[i]);
        if (!list->inexact[i].is_host && !is_told(list, i) && n_told++ < MAX_SENTENCES) {
            add_sentence(of, i, &text);
        }
    }
    if (n_told > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "not exact: %s%s; %s, so results are not real", line,
                      n_told > MAX_SENTENCES ? "; and more, which tidemark summary lists" : "",
                      kernels);
    } else if (!has_failed) {
        tide_cli_note(TIDE_COMMAND_RUN, "every%s size is exact; %s, so %sresults are not real",
                      list->n_assumed > 0 ? " other" : "", kernels,
                      is_pytorch ? "losses and other " : "");
    }
}

/* Whether an earlier process reported the same. */
static bool is_said(const tide_run_answer *of, size_t process, const char *what) {
    for (size_t i = 0; i < process; i++) {
        const tide_snapshot *snapshot = of->processes[i].snapshot;
        for (size_t k = 0; snapshot != NULL && k < snapshot->n_inexact; k++) {
            if (strcmp(snapshot->inexact[k].what, what) == 0) {
                return true;
            }
        }
    }
    return false;
}

void tide_run_tell_limits(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_snapshot *snapshot = of->processes[i].snapshot;
        for (size_t k = 0; snapshot != NULL && k < snapshot->n_inexact; k++) {
            const tide_snapshot_inexact *row = &snapshot->inexact[k];
            if (strcmp(row->call, TIDE_LIVE_RECORDING) == 0 && !is_said(of, i, row->what)) {
                tide_cli_note(TIDE_COMMAND_RUN, "%s", row->what);
            }
        }
    }
}
