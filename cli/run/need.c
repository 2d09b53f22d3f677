/* The result of a run without a limit: the memory that the program needs. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"

/* The bytes of a card that a program may use for certain: a context that is not measured counts
 * with its margin. */
static int64_t usable_bytes(const tide_card *card) {
    return card->total_bytes -
           (card->context_bytes >= 0 ? card->context_bytes : TIDE_CONTEXT_MARGIN_BYTES);
}

static const tide_card *smallest_card(int64_t n_bytes) {
    size_t n = 0;
    const tide_card *cards = tide_cards(&n);
    const tide_card *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!cards[i].shares_host && usable_bytes(&cards[i]) >= n_bytes &&
            (best == NULL || usable_bytes(&cards[i]) < usable_bytes(best))) {
            best = &cards[i];
        }
    }
    return best;
}

static int64_t nccl_bytes(const tide_run_figures *figures) {
    return (int64_t)(figures->nccl.charged_bytes + figures->nccl.missing_bytes);
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

/* "; with all rows of the values that are assumed, up to 2.00 GiB more, it is virtual:l4". `card`:
 * the smallest without them. */
static void add_assumed(const tide_card *card, int64_t needed_bytes, int64_t assumed_bytes,
                        tide_text *to) {
    static const char ALL[] = "all rows of the values that are assumed, up to";
    char bytes[TIDE_BYTES_TEXT];
    if (card == NULL || assumed_bytes <= 0) {
        return;
    }
    bool is_possible = assumed_bytes < INT64_MAX - needed_bytes;
    const tide_card *other = is_possible ? smallest_card(needed_bytes + assumed_bytes) : NULL;
    (void)tide_bytes_format(assumed_bytes, bytes);
    if (other == card) {
        tide_text_add(to, ", also with %s %s more", ALL, bytes);
    } else if (other != NULL) {
        tide_text_add(to, "; with %s %s more, it is %s", ALL, bytes, other->spec);
    } else {
        tide_text_add(to, "; with %s %s more, no card of the table has it", ALL, bytes);
    }
}

/* ", and 518.00 MiB for NCCL's buffers (a model)"; nothing if no communicator was made. */
static void add_nccl(const tide_run_command_options *options, const tide_run_figures *figures,
                     tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    bool is_modelled = options->nccl_bytes == TIDE_LAUNCH_NCCL_MODEL;
    if (nccl_bytes(figures) > 0) {
        tide_text_add(to, ", and %s for NCCL's buffers (%s)",
                      tide_bytes_format(nccl_bytes(figures), bytes),
                      is_modelled ? "a model" : "--nccl-bytes");
    }
    if (is_modelled && figures->nccl.n_made > figures->nccl.n_modelled) {
        tide_text_add(to, "%s", ", without NCCL's buffers that are unknown");
    }
}

/* ", and up to 14.00 MiB more for the largest work areas of cuDNN" */
static void add_areas(const tide_run_figures *figures, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    if (figures->area_bytes > 0) {
        tide_text_add(to, ", and up to %s more for the largest work areas of cuDNN",
                      tide_bytes_format(figures->area_bytes, bytes));
    }
}

/* Whether the card has another compute capability than the one that ran: libraries then choose
 * other kernels, with other memory. */
static bool is_other_chip(const tide_run_command_options *options, const tide_card *card) {
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    tide_card own;
    return options->device != NULL && tide_launch_cards(options->device, cards, NULL) == TIDE_OK &&
           tide_launch_card(cards, 0, &own) && own.compute_capability != card->compute_capability;
}

void tide_run_tell_need(const tide_run_command_options *options, const tide_run_figures *figures) {
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char steps[64];
    char more[256] = "";
    tide_text text = tide_text_in(more, sizeof(more));
    char nccl[512] = "";
    const char *margin = "";
    tide_text nccl_text = tide_text_in(nccl, sizeof(nccl));
    int64_t needed_bytes = figures->reserved_bytes + nccl_bytes(figures) + figures->area_bytes;
    const tide_card *card = smallest_card(needed_bytes);
    if (figures->n_processes == 0) {
        return;
    }
    (void)tide_bytes_format(figures->allocated_bytes, allocated);
    (void)tide_bytes_format(figures->reserved_bytes, reserved);
    add_nccl(options, figures, &nccl_text);
    add_areas(figures, &nccl_text);
    if (figures->growth[0] != '\0') {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "on a card without a limit it needs %s allocated and %s reserved%s for %llu "
                      "steps; its need depends on the number of steps, because memory grows %s",
                      allocated, reserved, nccl, (unsigned long long)figures->n_steps,
                      figures->growth);
        return;
    }
    if (card != NULL && card->context_bytes < 0) {
        margin = " (with 1.50 GiB for its context, which is not measured)";
    }
    add_assumed(card, needed_bytes, figures->assumed_bytes, &text);
    if (card != NULL && is_other_chip(options, card)) {
        tide_text_add(&text, "; other kernels may run there, and need more or less");
    }
    tide_cli_note(TIDE_COMMAND_RUN,
                  "on a card without a limit it needs %s allocated and %s reserved%s%s: %s%s%s%s",
                  allocated, reserved, nccl, for_steps(options, steps, sizeof(steps)),
                  card != NULL ? "the smallest card that has it is "
                               : "no card of the table has it",
                  card != NULL ? card->spec : "", margin, more);
}
