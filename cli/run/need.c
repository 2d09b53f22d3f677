/* The result of a run without a limit: the memory that the program needs. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"

/* The bytes of a card that a program may use. */
static int64_t usable_bytes(const tide_card *card) {
    return card->total_bytes - (card->context_bytes > 0 ? card->context_bytes : 0);
}

static const tide_card *smallest_card(int64_t n_bytes) {
    size_t n = 0;
    const tide_card *cards = tide_cards(&n);
    const tide_card *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (usable_bytes(&cards[i]) >= n_bytes &&
            (best == NULL || usable_bytes(&cards[i]) < usable_bytes(best))) {
            best = &cards[i];
        }
    }
    return best;
}

/* " for 3 steps", if --steps or --calls ended the run. */
static const char *for_steps(const tide_run_command_options *options, char *text, size_t n_room) {
    uint64_t n = options->n_steps > 0 ? options->n_steps : options->program.n_calls;
    text[0] = '\0';
    if (n > 0) {
        (void)snprintf(text, n_room, " for %llu %s", (unsigned long long)n,
                       options->n_steps > 0 ? tide_plural(n, "step", "steps")
                                            : tide_plural(n, "call", "calls"));
    }
    return text;
}

void tide_run_tell_need(const tide_run_command_options *options, const tide_run_figures *figures) {
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char steps[64];
    const tide_card *card = smallest_card(figures->reserved_bytes);
    if (figures->n_processes == 0) {
        return;
    }
    (void)tide_bytes_format(figures->allocated_bytes, allocated);
    (void)tide_bytes_format(figures->reserved_bytes, reserved);
    if (figures->growth[0] != '\0') {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "on a card without a limit it needs %s allocated and %s reserved for %llu "
                      "steps; its need depends on the number of steps, because memory grows %s",
                      allocated, reserved, (unsigned long long)figures->n_steps, figures->growth);
        return;
    }
    tide_cli_note(
        TIDE_COMMAND_RUN, "on a card without a limit it needs %s allocated and %s reserved%s: %s%s",
        allocated, reserved, for_steps(options, steps, sizeof(steps)),
        card != NULL ? "the smallest card that has it is " : "no card of the table has it",
        card != NULL ? card->spec : "");
}
