/* What a run without a limit tells: what the program needs. */
#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/bytes.h"

/* What a program may use of a card. */
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

void tide_run_tell_need(const tide_run_figures *figures) {
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    const tide_card *card = smallest_card(figures->reserved_bytes);
    if (figures->n_processes == 0) {
        return;
    }
    tide_cli_note(
        TIDE_COMMAND_RUN, "on a card without a limit it needs %s allocated and %s reserved: %s%s",
        tide_bytes_format(figures->allocated_bytes, allocated),
        tide_bytes_format(figures->reserved_bytes, reserved),
        card != NULL ? "the smallest card that has it is " : "no card of the table has it",
        card != NULL ? card->spec : "");
}
