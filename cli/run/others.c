/* Cards other than the one reported first, and why a program may have failed. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "programs/wire/run_card.h"
#include "common/text/text.h"

enum { LINE_BYTES = 512 };

/* ---- further cards ---- */

/* The process that has the highest peak on the card; false if no process used it with PyTorch. */
static bool find_process(const tide_run_answer *of, size_t device, size_t *ret_process) {
    int64_t most = 0;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        tide_run_place at = {i, device};
        int64_t peak =
            device < of->processes[i].left->n_devices ? tide_run_reserved_peak(of, at) : 0;
        if (peak > most) {
            most = peak;
            *ret_process = i;
        }
    }
    return most > 0;
}

size_t tide_run_n_cards_used(const tide_run_answer *of) {
    size_t n = 0;
    size_t process = 0;
    for (size_t d = 0; d < TIDE_RUN_DEVICES; d++) {
        n += find_process(of, d, &process);
    }
    return n;
}

void tide_run_tell_other_cards(const tide_run_answer *of, tide_run_place first) {
    for (size_t d = 0; d < TIDE_RUN_DEVICES; d++) {
        char line[LINE_BYTES];
        char texts[3][TIDE_BYTES_TEXT];
        tide_run_place at = {0, d};
        tide_text text = tide_text_in(line, sizeof(line));
        if (d == first.device || !find_process(of, d, &at.process)) {
            continue;
        }
        tide_text_add(&text, "card %zu (%s): %s allocated %s and reserved %s at their peaks", d,
                      tide_run_card_name(of, at), tide_run_who(of->processes[at.process].snapshot),
                      tide_bytes_format(tide_run_allocated_peak(of, at), texts[0]),
                      tide_bytes_format(tide_run_reserved_peak(of, at), texts[1]));
        if (of->list->devices[d].total_bytes > 0) {
            tide_text_add(&text, "; %s are left",
                          tide_bytes_format(tide_run_left_of(of, at), texts[2]));
        }
        tide_run_add_together(of, at, &text);
        tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
    }
}

/* ---- values ---- */

/* Exceptions that do not result from a computed number. */
static const char *const NO_VALUE[] = {
    "ImportError",       "ModuleNotFoundError", "SyntaxError",         "IndentationError",
    "NameError",         "AttributeError",      "UnboundLocalError",   "FileNotFoundError",
    "FileExistsError",   "PermissionError",     "IsADirectoryError",   "OSError",
    "KeyboardInterrupt", "MemoryError",         "NotImplementedError", "ConnectionError"};

static bool is_told_by(const char *exception) {
    size_t n = strcspn(exception, ":");
    for (size_t i = 0; i < sizeof(NO_VALUE) / sizeof(NO_VALUE[0]); i++) {
        if (strlen(NO_VALUE[i]) == n && strncmp(NO_VALUE[i], exception, n) == 0) {
            return true;
        }
    }
    return false;
}

/* cudaErrorInvalidDevice, as reported by PyTorch. */
static bool has_no_such_card(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        if (strstr(of->processes[i].left->exception, "invalid device ordinal") != NULL) {
            return true;
        }
    }
    return false;
}

/* The row which states that the program was not built for the card; NULL: none. */
static const tide_left_inexact *find_missing_kernels(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_inexact; i++) {
        if (strcmp(of->list->inexact[i].call, TIDE_RUN_NO_KERNELS) == 0) {
            return &of->list->inexact[i];
        }
    }
    return NULL;
}

void tide_run_tell_cause(const tide_run_answer *of) {
    const tide_left_inexact *missing = find_missing_kernels(of);
    if (missing != NULL) {
        tide_cli_note(TIDE_COMMAND_RUN, "%s; install a build for it, or choose another card%s",
                      missing->what,
                      tide_run_has_pytorch(of)
                          ? " (torch.cuda.get_arch_list() lists what PyTorch was built for)"
                          : "");
        return;
    }
    bool is_explained = of->launch->exit_status <= 0 || tide_run_failed_early(of); /* signal: -1 */
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_left *process = of->processes[i].left;
        is_explained = is_explained || process->is_out_of_memory || is_told_by(process->exception);
    }
    for (size_t i = 0; i < of->list->n_inexact; i++) {
        is_explained = is_explained || of->list->inexact[i].is_refused;
    }
    if (has_no_such_card(of)) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "the program asked for a card that %s does not have; xN after the name of a "
                      "card gives N of them, as in virtual:h100-80x8",
                      of->options->device);
    } else if (!is_explained) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "if a computed value made it fail: a virtual card computes none, and losses "
                      "read 0 (docs/guide/virtual-cuda.md, \"What it never does\")");
    }
}
