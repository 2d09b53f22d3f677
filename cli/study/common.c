/* What the studies have in common. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/study/internal.h"
#include "common/plural.h"
#include "common/strings.h"
#include "common/text.h"

/* ---- values that the command line left open ---- */

void tide_study_fill(tide_option_list *list, const char *items) {
    if (list->n > 0) {
        return;
    }
    while (*items != '\0' && list->n < TIDE_OPTION_LIST_ITEMS) {
        size_t n_bytes = strcspn(items, ",");
        uint64_t count = 0;
        for (size_t i = 0; i < n_bytes && items[i] >= '0' && items[i] <= '9'; i++) {
            count = count * 10 + (uint64_t)(items[i] - '0');
        }
        snprintf(list->texts[list->n], sizeof(list->texts[0]), "%.*s", (int)n_bytes, items);
        list->counts[list->n] = count;
        list->n++;
        items += n_bytes + (items[n_bytes] == ',' ? 1 : 0);
    }
}

static bool names_a_model(const tide_run_options *run) {
    return run->sizes.n > 0 || run->config_path != NULL || tide_run_options_is_custom(run);
}

void tide_study_fill_sizes(tide_study_options *options, bool all) {
    if (!names_a_model(&options->run)) {
        tide_study_fill(&options->run.sizes,
                        all ? "small,medium,large,xl,2.7B,10B" : "small,medium,large,xl,2.7B");
    }
}

void tide_study_fill_size(tide_study_options *options, const char *size) {
    if (!names_a_model(&options->run)) {
        tide_study_fill(&options->run.sizes, size);
    }
}

const tide_workload_config *tide_study_model(const tide_study_cell *cell) {
    return tide_run_workload_model(&cell->config.workload);
}

/* ---- columns ---- */

tide_study_columns tide_study_columns_of(const tide_study_work *work) {
    const tide_run_options *run = &work->options->run;
    return (tide_study_columns){
        .size = run->sizes.n > 1,
        .mode = run->modes.n > 1,
        .context = run->contexts.n > 1,
        .batch = run->batches.n > 1,
        .precision = run->precisions.n > 1,
        .attention = run->attentions.n > 1,
        .recompute = run->recomputes.n > 1,
        .warmup = work->study->takes_warmups,
    };
}

void tide_study_add_columns(const tide_study_columns *columns, tide_table *table) {
    const struct {
        bool is_shown;
        const char *key;
        bool is_number;
    } all[] = {{columns->size, "size", false},           {columns->mode, "mode", false},
               {columns->context, "context", true},      {columns->batch, "batch", true},
               {columns->precision, "precision", false}, {columns->attention, "attention", false},
               {columns->recompute, "recompute", false}, {columns->warmup, "warmup", true}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].is_shown) {
            tide_table_column(table, all[i].key, all[i].key, all[i].is_number);
        }
    }
}

void tide_study_add_cells(const tide_study_columns *columns, const tide_study_cell *cell,
                          tide_table *table) {
    tide_run_labels labels;
    tide_run_workload_labels(&cell->config.workload, &labels);
    if (columns->size) {
        tide_cell_text(table, labels.size);
    }
    if (columns->mode) {
        tide_cell_text(table, labels.mode);
    }
    if (columns->context) {
        tide_cell_count(table, labels.context_length);
    }
    if (columns->batch) {
        tide_cell_count(table, labels.batch_size);
    }
    if (columns->precision) {
        tide_cell_text(table, labels.precision);
    }
    if (columns->attention) {
        tide_cell_text(table, labels.attention);
    }
    if (columns->recompute) {
        tide_cell_text(table, labels.recompute);
    }
    if (columns->warmup) {
        tide_cell_count(table, labels.warmup_steps);
    }
}

/* ---- words ---- */

/* Adds a phrase to the list, if it is wanted. */
static void add(tide_text *to, bool is_wanted, const char *format, ...) TIDE_PRINTF(3, 4);

static void add(tide_text *to, bool is_wanted, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (is_wanted) {
        tide_text_add_item_list(to, ", ", format, arguments);
    }
    va_end(arguments);
}

static void add_parts(tide_text *to, const tide_study_columns *wanted,
                      const tide_study_cell *cell) {
    tide_run_labels labels;
    tide_run_workload_labels(&cell->config.workload, &labels);
    add(to, wanted->size, "%s", labels.size);
    add(to, wanted->mode, "%s", labels.mode);
    add(to, wanted->context, "context %" PRId64, labels.context_length);
    add(to, wanted->batch, "batch %" PRId64, labels.batch_size);
    add(to, wanted->precision, "%s", labels.precision);
    add(to, wanted->attention, "%s attention", labels.attention);
    add(to, wanted->recompute, "recompute %s", labels.recompute);
    add(to, wanted->warmup, "%" PRId64 " step%s", labels.warmup_steps,
        tide_plural((uint64_t)labels.warmup_steps, "", "s"));
}

void tide_study_label(const tide_study_columns *columns, const tide_study_cell *cell,
                      char *ret_text, size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    add_parts(&to, columns, cell);
}

/* The first cell that was run; NULL: none. */
static const tide_run_environment *environment_of(const tide_study_work *work) {
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_run_environment *found = &work->cells[i].result.environment;
        if (found->device_kind[0] != '\0') {
            return found;
        }
    }
    return NULL;
}

void tide_study_say_setting(tide_study_work *work) {
    char text[512];
    tide_text to = tide_text_in(text, sizeof(text));
    const tide_study_columns varied = tide_study_columns_of(work);
    tide_run_labels labels;
    tide_run_workload_labels(&work->cells[0].config.workload, &labels);
    const tide_study_columns constant = {
        .size = !varied.size,
        .mode = !varied.mode,
        .context = !varied.context,
        .batch = !varied.batch,
        .precision = !varied.precision,
        .attention = !varied.attention,
        .recompute = !varied.recompute &&
                     strcmp(labels.recompute, tide_recompute_name(TIDE_RECOMPUTE_NONE)) != 0,
    };
    const tide_run_environment *environment = environment_of(work);
    bool computes = work->kind != TIDE_DEVICE_VIRTUAL;
    add_parts(&to, &constant, &work->cells[0]);
    add(&to, computes && !varied.warmup, "%" PRId64 " step%s of warm-up", labels.warmup_steps,
        tide_plural((uint64_t)labels.warmup_steps, "", "s"));
    add(&to, true, "%" PRId64 " step%s%s", labels.steps,
        tide_plural((uint64_t)labels.steps, "", "s"), computes ? " measured" : "");
    add(&to, true, "on %s", work->device);
    if (environment != NULL && strcmp(environment->device_name, work->device) != 0) {
        add(&to, computes, "%s", environment->device_name);
    }
    add(&to, environment != NULL && environment->computed_by[0] != '\0', "computed by %s",
        environment != NULL ? environment->computed_by : "");
    tide_report_say(&work->report, "setting", "%s", text);
    if (!computes && work->study->kind == TIDE_STUDY_SUBPROCESS) {
        tide_report_say(&work->report, "timing",
                        "times: not computed (the virtual device has none)");
    }
}

/* bf16 on the cpu is fp32 with rounding, so its times say nothing about a card. */
static void say_emulated(tide_study_work *work) {
    for (size_t i = 0; work->kind == TIDE_DEVICE_CPU && i < work->n_run; i++) {
        if (tide_study_model(&work->cells[i])->precision >= TIDE_PRECISION_BF16_MIXED &&
            work->cells[i].result.n_samples > 0) {
            tide_report_say(&work->report, "emulated",
                            "note: bf16 is emulated on the cpu: its bytes are real, its times are "
                            "not representative");
            return;
        }
    }
}

void tide_study_say_failures(tide_study_work *work) {
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_study_cell *cell = &work->cells[i];
        if (cell->result.outcome != TIDE_OUTCOME_COMPLETED) {
            tide_report_say(&work->report, "outcome", "%s: %s: %s", cell->name,
                            tide_outcome_name((int)cell->result.outcome), cell->result.reason);
        }
    }
    if (work->n_run < work->n_cells) {
        tide_report_say(&work->report, "outcome", "interrupted: %zu of %zu %s missing",
                        work->n_cells - work->n_run, work->n_cells,
                        work->n_cells == 1
                            ? "run is"
                            : tide_plural(work->n_cells - work->n_run, "runs is", "runs are"));
    }
    say_emulated(work);
}
