/* The losses of the runs side by side, and whether they could be losses of the same run. */
#include <string.h>

#include "cli/compare/internal.h"
#include "cli/words/loss_words.h"

enum { WORDS_BYTES = 512 };

/* Steps that tables show; which of a run's losses these are depends on its warm-up. */
typedef enum shown_step { FIRST = 0, FIRST_MEASURED, LAST, N_SHOWN } shown_step;

static void loss_row(tide_table *table, const tide_compare *compare, shown_step which) {
    static const char *const NAMES[N_SHOWN] = {"first of the run", "first measured", "last"};
    TIDE_ROW(table, tide_as_text(NAMES[which]));
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_snapshot_timing *timing = &compare->runs[i].snapshot->timing;
        tide_loss_steps steps = tide_loss_steps_of(timing);
        size_t step = which == FIRST ? 0 : which == LAST ? steps.last : steps.first_measured;
        TIDE_CELLS(table, steps.has_any ? tide_as_loss(timing->losses[step]) : tide_as_none());
    }
}

/* Whether the runs may have equal losses: they have the same model, data and seed. */
static bool may_be_same(const tide_snapshot_run *a, const tide_snapshot_run *b) {
    return a->model.d_model == b->model.d_model && a->model.d_ff == b->model.d_ff &&
           a->model.n_layers == b->model.n_layers && a->model.n_heads == b->model.n_heads &&
           a->model.vocab_size == b->model.vocab_size && a->batch_size == b->batch_size &&
           a->context_length == b->context_length && a->seed == b->seed &&
           strcmp(a->mode, b->mode) == 0;
}

static void say_same(tide_report *report, const tide_compare *compare) {
    const tide_compare_run *base = &compare->runs[0];
    for (size_t i = 1; i < compare->n_runs; i++) {
        const tide_compare_run *run = &compare->runs[i];
        char words[WORDS_BYTES];
        if (!may_be_same(&base->snapshot->run, &run->snapshot->run)) {
            continue;
        }
        tide_words_same_losses(base->name, &base->snapshot->timing, run->name,
                               &run->snapshot->timing, words, sizeof(words));
        if (words[0] != '\0') {
            tide_report_say(report, "losses", "%s", words);
        }
    }
}

void tide_compare_report_losses(tide_report *report, const tide_compare *compare) {
    bool has_any = false;
    bool has_warmup = false;
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_loss_steps steps = tide_loss_steps_of(&compare->runs[i].snapshot->timing);
        has_any = has_any || steps.has_any;
        has_warmup = has_warmup || steps.first_measured > 0;
    }
    if (!has_any) {
        return;
    }
    tide_table *table = tide_report_table(report, "loss", "Loss of a step");
    tide_table_column(table, "step", "step", false);
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_run_column(table, i, "loss", compare->runs[i].name, true);
    }
    loss_row(table, compare, FIRST);
    if (has_warmup) {
        loss_row(table, compare, FIRST_MEASURED);
    }
    loss_row(table, compare, LAST);
    say_same(report, compare);
}
