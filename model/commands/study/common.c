/* Functions that the studies share. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "cli/words/spill_words.h"
#include "model/commands/study/internal.h"
#include "cli/time_runs.h"
#include "common/text/plural.h"
#include "common/text/strings.h"
#include "common/text/text.h"

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
    return run->sizes.n > 0 || run->configs.n > 0 || tide_run_options_is_custom(run);
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

uint32_t tide_study_step_of(const tide_snapshot *snapshot, uint32_t scope) {
    while (scope != TIDE_NONE && snapshot->scopes[scope].kind != TIDE_SCOPE_STEP) {
        scope = snapshot->scopes[scope].parent;
    }
    return scope;
}

/* ---- columns ---- */

#define COLUMN(key, kind, member, list, before, after)                                             \
    {                                                                                              \
        {key, key, TIDE_FIELD_##kind, offsetof(tide_run_labels, member)},                          \
            offsetof(tide_run_options, list), before, after                                        \
    }

static const struct {
    tide_field field;   /* of tide_run_labels */
    size_t list;        /* of its values, in tide_run_options; the last column has none there */
    const char *before; /* its value in words */
    const char *after;
} COLUMNS[TIDE_N_STUDY_COLUMNS] = {
    COLUMN("size", TEXT, size, sizes, "", ""),
    COLUMN("mode", TEXT, mode, modes, "", ""),
    COLUMN("context", COUNT, context_length, contexts, "context ", ""),
    COLUMN("batch", COUNT, batch_size, batches, "batch ", ""),
    COLUMN("precision", TEXT, precision, precisions, "", ""),
    COLUMN("attention", TEXT, attention, attentions, "", " attention"),
    COLUMN("recompute", TEXT, recompute, recomputes, "recompute ", ""),
    COLUMN("warmup", COUNT, warmup_steps, sizes, "", " step"),
};

static bool has(tide_study_columns columns, int column) {
    return (columns & TIDE_STUDY_SET(column)) != 0;
}

/* Whether a run differs from the first one in this column: files of models may differ in batch and
 * context, which then have no list. */
static bool differs(const tide_study_work *work, const tide_run_labels *first, int column) {
    const tide_cell value = tide_as_field(&COLUMNS[column].field, first);
    for (size_t i = 1; i < work->n_cells; i++) {
        tide_run_labels labels;
        tide_run_workload_labels(&work->cells[i].config.workload, &labels);
        const tide_cell other = tide_as_field(&COLUMNS[column].field, &labels);
        if (value.kind == TIDE_CELL_TEXT ? strcmp(value.text, other.text) != 0
                                         : value.integer != other.integer) {
            return true;
        }
    }
    return false;
}

tide_study_columns tide_study_columns_of(const tide_study_work *work) {
    const char *options = (const char *)&work->options->run;
    tide_study_columns varied = work->study->takes_warmups ? TIDE_STUDY_SET(TIDE_STUDY_WARMUP) : 0U;
    tide_run_labels first;
    tide_run_workload_labels(&work->cells[0].config.workload, &first);
    for (int i = 0; i < TIDE_STUDY_WARMUP; i++) {
        const tide_option_list *list = (const void *)(options + COLUMNS[i].list);
        varied |= list->n > 1 || differs(work, &first, i) ? TIDE_STUDY_SET(i) : 0U;
    }
    return varied;
}

tide_study_table tide_study_table_of(tide_study_work *work, tide_study_columns columns,
                                     const char *key, const char *title) {
    tide_table *table = tide_report_table(&work->report, key, title);
    for (int i = 0; i < TIDE_N_STUDY_COLUMNS; i++) {
        tide_table_fields(table, &COLUMNS[i].field, has(columns, i) ? 1 : 0);
    }
    return (tide_study_table){.table = table, .columns = columns};
}

void tide_study_row_begin(const tide_study_table *to, const tide_study_cell *cell) {
    tide_run_labels labels;
    tide_run_workload_labels(&cell->config.workload, &labels);
    tide_table_row_begin(to->table);
    for (int i = 0; i < TIDE_N_STUDY_COLUMNS; i++) {
        tide_table_cells_of(to->table, &COLUMNS[i].field, has(to->columns, i) ? 1 : 0, &labels);
    }
}

/* ---- words ---- */

/* Whether the column applies to the model: an MLP has no context and no attention. */
static bool has_value(int column, const tide_cell *value) {
    return value->kind == TIDE_CELL_TEXT ? value->text[0] != '\0'
                                         : column != TIDE_STUDY_CONTEXT || value->integer > 0;
}

static void add_parts(tide_text *to, tide_study_columns wanted, const tide_study_cell *cell) {
    tide_run_labels labels;
    tide_run_workload_labels(&cell->config.workload, &labels);
    for (int i = 0; i < TIDE_N_STUDY_COLUMNS; i++) {
        tide_cell value = tide_as_field(&COLUMNS[i].field, &labels);
        if (!has(wanted, i) || !has_value(i, &value)) {
            continue;
        }
        tide_text_add_item(to, ", ", "%s", COLUMNS[i].before);
        if (value.kind == TIDE_CELL_TEXT) {
            tide_text_add(to, "%s", value.text);
        } else {
            tide_text_add(to, "%" PRId64, value.integer);
        }
        tide_text_add(to, "%s%s", COLUMNS[i].after,
                      i == TIDE_STUDY_WARMUP && value.integer != 1 ? "s" : "");
    }
}

void tide_study_label(tide_study_columns columns, const tide_study_cell *cell, char *ret_text,
                      size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    add_parts(&to, columns, cell);
}

/* Adds a phrase to the list, if is_wanted. */
static void add(tide_text *to, bool is_wanted, const char *format, ...) TIDE_PRINTF(3, 4);

static void add(tide_text *to, bool is_wanted, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (is_wanted) {
        tide_text_add_item_list(to, ", ", format, arguments);
    }
    va_end(arguments);
}

/* The environment of the first cell that was run; NULL: none. */
static const tide_run_environment *environment_of(const tide_study_work *work) {
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_run_environment *found = &work->cells[i].result.environment;
        if (found->device_kind[0] != '\0') {
            return found;
        }
    }
    return NULL;
}

static void say_forecasts(tide_study_work *work) {
    char words[TIDE_TIME_WORDS];
    tide_time_runs forecasts = {.n = 0};
    for (size_t i = 0; i < work->n_run; i++) {
        tide_time_runs_add(&forecasts, &work->cells[i].result);
    }
    tide_time_runs_words(&forecasts, work->device, words);
    tide_report_say(&work->report, "timing", "%s", words);
}

void tide_study_say_setting(tide_study_work *work) {
    char text[512];
    tide_text to = tide_text_in(text, sizeof(text));
    const tide_study_columns varied = tide_study_columns_of(work);
    tide_run_labels labels;
    tide_run_workload_labels(&work->cells[0].config.workload, &labels);
    tide_study_columns constant = ~varied & ~TIDE_STUDY_SET(TIDE_STUDY_WARMUP);
    if (strcmp(labels.recompute, tide_recompute_name(TIDE_RECOMPUTE_NONE)) == 0) {
        constant &= ~TIDE_STUDY_SET(TIDE_STUDY_RECOMPUTE);
    }
    const tide_run_environment *environment = environment_of(work);
    bool computes = work->kind != TIDE_DEVICE_VIRTUAL;
    add_parts(&to, constant, &work->cells[0]);
    add(&to, computes && !has(varied, TIDE_STUDY_WARMUP), "%" PRId64 " step%s of warm-up",
        labels.warmup_steps, tide_plural((uint64_t)labels.warmup_steps, "", "s"));
    add(&to, true, "%" PRId64 " step%s%s", labels.steps,
        tide_plural((uint64_t)labels.steps, "", "s"), computes ? " measured" : "");
    add(&to, work->options->repeats > 1, "%" PRIu64 " repeats", work->options->repeats);
    add(&to, true, "on %s", work->device);
    if (environment != NULL && strcmp(environment->device_name, work->device) != 0) {
        add(&to, computes, "%s", environment->device_name);
    }
    add(&to, environment != NULL && environment->computed_by[0] != '\0', "computed by %s",
        environment != NULL ? environment->computed_by : "");
    tide_report_say(&work->report, "setting", "%s", text);
    if (!computes && work->study->kind == TIDE_STUDY_SUBPROCESS) {
        say_forecasts(work);
    }
}

static void say_emulated(tide_study_work *work) {
    unsigned types = 0;
    for (size_t i = 0; work->kind == TIDE_DEVICE_CPU && i < work->n_run; i++) {
        if (work->cells[i].result.n_samples > 0) {
            types |= tide_emulated_types(
                tide_precision_name((int)tide_study_model(&work->cells[i])->precision));
        }
    }
    tide_say_emulated(&work->report, types, NULL);
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
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_study_cell *cell = &work->cells[i];
        tide_say_spill(&work->report, cell->name, &cell->config.limits, &cell->result.memory, NULL);
    }
    say_emulated(work);
}
