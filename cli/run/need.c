/* What further runs of the program tell: what it needs without a limit, and how much depends on
 * when work on streams completes. */
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

void tide_run_tell_range(const tide_run_figures *now, const tide_run_figures *late) {
    char texts[4][TIDE_BYTES_TEXT];
    if (now->allocated_bytes == late->allocated_bytes &&
        now->reserved_bytes == late->reserved_bytes) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "the peaks are the same when work on streams completes late");
        return;
    }
    tide_cli_note(
        TIDE_COMMAND_RUN,
        "the peaks depend on when work on streams completes: allocated %s to %s, reserved "
        "%s to %s; the first figure is for work that completes at once, the second for "
        "work that completes when the host waits%s",
        tide_bytes_format(now->allocated_bytes, texts[0]),
        tide_bytes_format(late->allocated_bytes, texts[1]),
        tide_bytes_format(now->reserved_bytes, texts[2]),
        tide_bytes_format(late->reserved_bytes, texts[3]),
        late->fits ? "" : ", which does not fit");
}
