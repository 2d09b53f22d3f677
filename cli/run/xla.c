/* The sentences about XLA's own figures: what a JAX program uses of the pool that the card sees. */
#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"

enum { LINE_BYTES = 1024 };

static bool is_card(const tide_left_xla *row) {
    return row->array_bytes < 0;
}

const tide_left_xla *tide_run_xla_refusal(const tide_run_answer *of) {
    for (size_t i = 0; tide_run_has_failed(of) && i < of->list->n_xla; i++) {
        const tide_left_xla *row = &of->list->xla[i];
        if (is_card(row) && row->asked_bytes >= 0) {
            return row;
        }
    }
    return NULL;
}

void tide_run_add_xla_refusal(const tide_left_xla *row, tide_text *to) {
    char asked[TIDE_BYTES_TEXT];
    char peak[TIDE_BYTES_TEXT];
    tide_text_add(to, "XLA found no room for %s", tide_bytes_format(row->asked_bytes, asked));
    if (row->place[0] != '\0') {
        tide_text_add(to, " at %s", row->place);
    }
    if (row->peak_bytes >= 0) {
        tide_text_add(to, "; it had used up to %s at once",
                      tide_bytes_format(row->peak_bytes, peak));
    }
}

/* What XLA used; nothing if its allocator does not count. */
static void add_use(const tide_left_xla *row, tide_text *to) {
    char peak[TIDE_BYTES_TEXT];
    char limit[TIDE_BYTES_TEXT];
    if (row->peak_bytes < 0) {
        return;
    }
    tide_text_add_item(to, "; ", "XLA used up to %s at once by its own count",
                       tide_bytes_format(row->peak_bytes, peak));
    if (row->limit_bytes > 0) {
        tide_text_add(to, ", of a pool of up to %s", tide_bytes_format(row->limit_bytes, limit));
    }
}

static void tell_card(const tide_left_xla *row, bool has_several) {
    char line[LINE_BYTES];
    char bytes[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    add_use(row, &text);
    if (row->program_bytes >= 0) {
        tide_text_add_item(&text, "; ", "XLA's largest compiled function needs %s",
                           tide_bytes_format(row->program_bytes, bytes));
    }
    if (has_several && text.n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "card %lld: %s", (long long)row->card, line);
    } else if (text.n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
    }
}

static void tell_arrays(const tide_left_list *list) {
    char line[LINE_BYTES];
    char bytes[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    for (size_t i = 0; i < list->n_xla; i++) {
        const tide_left_xla *row = &list->xla[i];
        if (!is_card(row) && row->place[0] != '\0') {
            tide_text_add_item(&text, ", ", "%s in %lld %s of %s",
                               tide_bytes_format(row->array_bytes, bytes), (long long)row->n_arrays,
                               tide_plural((uint64_t)row->n_arrays, "array", "arrays"), row->place);
        }
    }
    if (text.n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "JAX held at the end: %s", line);
    }
}

void tide_run_tell_xla(const tide_run_answer *of) {
    size_t n_cards = 0;
    for (size_t i = 0; i < of->list->n_xla; i++) {
        n_cards += is_card(&of->list->xla[i]);
    }
    for (size_t i = 0; i < of->list->n_xla; i++) {
        if (is_card(&of->list->xla[i])) {
            tell_card(&of->list->xla[i], n_cards > 1);
        }
    }
    tell_arrays(of->list);
    if (n_cards > 0 && of->config->cards != NULL) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "XLA ran without CUDA graphs and without autotuning: tidemark "
                      "adds --xla_gpu_enable_command_buffer= and "
                      "--xla_gpu_autotune_level=0 to XLA_FLAGS");
    }
}
