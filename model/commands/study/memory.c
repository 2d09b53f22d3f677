/* Study memory: the peaks, the size of a residual-stream tensor, and the largest tensors that a
 * step makes, with their origin. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/beside.h"
#include "cli/words/snapshot_words.h"
#include "model/commands/study/conclusions.h"
#include "model/commands/study/internal.h"
#include "model/eager/eager.h"
#include "model/run/model.h"
#include "snapshot/document/implementation.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/analysis/summary.h"

static void fill(tide_study_options *options) {
    tide_study_fill_size(options, "2.7B");
    tide_study_fill(&options->run.modes, "forward,train");
    tide_study_fill(&options->run.contexts, "128,256,512");
    tide_study_fill(&options->run.precisions, "fp32,bf16-mixed");
    tide_study_fill(&options->warmups, "0");
    if (options->run.steps == TIDE_NOT_GIVEN) {
        options->run.steps = TIDE_RUN_FIT_STEPS;
    }
}

/* ---- the tensors of a step ---- */

enum { NAMES_BYTES = 512, N_NAMES_SHOWN = 3 };

/* The largest tensors of a category. All have the same size. */
typedef struct largest {
    int64_t bytes;            /* requested, of each; 0: none */
    size_t n;                 /* of them in the first step */
    char names[NAMES_BYTES];  /* distinct: "ffn.gate, ffn.up" */
    char origin[NAMES_BYTES]; /* distinct: "forward > layer > ffn" */
} largest;

/* Whether the list, such as "a, b", has the item. */
static bool has_item(const char *list, const char *item) {
    size_t n = strlen(item);
    for (const char *at = strstr(list, item); at != NULL; at = strstr(at + 1, item)) {
        if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ',')) {
            return true;
        }
    }
    return false;
}

static void append_item(char *list, size_t n_room, const char *item) {
    size_t n_used = strlen(list);
    if (!has_item(list, item) && n_used + strlen(item) + 3 < n_room) {
        snprintf(list + n_used, n_room - n_used, "%s%s", n_used > 0 ? ", " : "", item);
    }
}

static void consider(const tide_snapshot *snapshot, const tide_event *event, bool is_first_step,
                     largest *found) {
    char origin[NAMES_BYTES];
    int64_t bytes = (int64_t)event->requested_bytes;
    if (bytes < found->bytes) {
        return;
    }
    if (bytes > found->bytes) {
        *found = (largest){.bytes = bytes};
    }
    (void)tide_scope_describe(snapshot, event->scope, TIDE_SCOPE_STEP, false, origin,
                              sizeof(origin));
    append_item(found->names, sizeof(found->names),
                tide_name_without_layer(tide_snapshot_text(snapshot, event->name)));
    append_item(found->origin, sizeof(found->origin), origin);
    found->n += is_first_step ? 1 : 0;
}

/* Finds the largest tensors of each category among those that steps make. */
static void find_largest(const tide_snapshot *snapshot, largest found[TIDE_N_CATEGORIES]) {
    uint32_t first_step = TIDE_NONE;
    memset(found, 0, TIDE_N_CATEGORIES * sizeof(found[0]));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        uint32_t step = tide_study_step_of(snapshot, event.scope);
        if (event.action != TIDE_ACTION_ALLOC || event.category >= TIDE_N_CATEGORIES ||
            step == TIDE_NONE) {
            continue;
        }
        first_step = first_step == TIDE_NONE ? step : first_step;
        consider(snapshot, &event, step == first_step, &found[event.category]);
    }
}

/* Shortens "a, b, c, d, e" to its first three items: "a, b, c and 2 more". */
static void shorten(const char *list, char *ret_text, size_t n_room) {
    size_t n = 0;
    size_t n_shown_bytes = strlen(list);
    for (const char *at = list; *at != '\0'; at++) {
        if (*at == ',' && ++n == N_NAMES_SHOWN) {
            n_shown_bytes = (size_t)(at - list);
        }
    }
    if (n < N_NAMES_SHOWN) {
        (void)snprintf(ret_text, n_room, "%s", list);
    } else {
        (void)snprintf(ret_text, n_room, "%.*s and %zu more", (int)n_shown_bytes, list,
                       n + 1 - N_NAMES_SHOWN);
    }
}

/* ---- tables ---- */

static int64_t residual_bytes(const tide_workload_config *workload) {
    const tide_model_config *model = &workload->model;
    size_t element = workload->precision == TIDE_PRECISION_BF16_TRUE ? 2 : 4;
    return (int64_t)(model->batch_size * model->context_length * model->d_model * element);
}

/* The same run by PyTorch in eager mode, with the naive attention of the assignment's code. */
static tide_run_config as_eager(const tide_study_cell *cell) {
    tide_run_config eager = cell->config;
    tide_workload_config *model = tide_run_model_of(&eager.workload);
    model->emulate = TIDE_EMULATE_PYTORCH;
    model->edition = TIDE_EDITION_2026;
    model->attention = TIDE_ATTENTION_NAIVE;
    return eager;
}

/* The peaks of PyTorch's run. All are -1 if PyTorch has no such run, if it would have to run on
 * real hardware, or if it does not fit. */
static tide_status run_eager(const tide_study_work *work, const tide_study_cell *cell,
                             tide_run_memory *ret_memory, tide_error *error) {
    const tide_run_config config = as_eager(cell);
    tide_run_memory memory;
    bool fits = false;
    *ret_memory = (tide_run_memory)TIDE_RUN_MEMORY_UNKNOWN;
    if (work->kind != TIDE_DEVICE_VIRTUAL ||
        !tide_eager_knows(tide_run_workload_model(&config.workload)->precision)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_run_try(&config, &fits, &memory, error));
    if (fits) {
        *ret_memory = memory;
    }
    return TIDE_OK;
}

static void add_peak(const tide_study_table *to, const tide_study_cell *cell,
                     const tide_summary_peak *peak, const tide_run_memory *eager) {
    static const tide_run_memory NONE = TIDE_RUN_MEMORY_UNKNOWN;
    bool fits = cell->result.outcome == TIDE_OUTCOME_COMPLETED;
    const tide_run_memory *own = fits ? &cell->result.memory : &NONE;
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_text(tide_outcome_name((int)cell->result.outcome)),
               tide_as_bytes(eager->allocated_peak_bytes),
               tide_as_bytes(eager->reserved_peak_bytes), tide_as_bytes(own->requested_peak_bytes),
               tide_as_bytes(own->allocated_peak_bytes), tide_as_bytes(own->reserved_peak_bytes),
               tide_as_bytes(residual_bytes(tide_study_model(cell))),
               tide_as_words(peak != NULL ? peak->scope_path : NULL));
}

static void add_largest(const tide_study_table *to, const tide_study_cell *cell,
                        const largest found[TIDE_N_CATEGORIES]) {
    char names[NAMES_BYTES];
    for (int category = 0; category < TIDE_N_CATEGORIES; category++) {
        const largest *of = &found[category];
        if (of->bytes < (int64_t)1 << 10) {
            continue; /* statistics of rows, the loss */
        }
        shorten(of->names, names, sizeof(names));
        tide_study_row_begin(to, cell);
        TIDE_CELLS(to->table, tide_as_text(tide_category_name(category)), tide_as_bytes(of->bytes),
                   tide_as_count((int64_t)of->n), tide_as_text(names), tide_as_text(of->origin));
    }
}

/* The tables that all cells share. */
typedef struct tables {
    tide_study_table peaks;
    tide_study_table largest; /* for the longest context only, because a step makes the same tensors
                                 at others */
    uint64_t longest;         /* that context */
} tables;

static tables add_tables(tide_study_work *work) {
    const tide_study_columns of_peaks =
        tide_study_columns_of(work) & ~TIDE_STUDY_SET(TIDE_STUDY_WARMUP);
    tables to = {.longest = 0};
    for (size_t i = 0; i < work->n_cells; i++) {
        size_t context = tide_study_model(&work->cells[i])->model.context_length;
        to.longest = context > to.longest ? context : to.longest;
    }
    to.peaks = tide_study_table_of(work, of_peaks, "peaks",
                                   "peaks of " TIDE_WORDS_PYTORCH ", and of " TIDE_WORDS_OWN);
    to.largest = tide_study_table_of(
        work, of_peaks & ~TIDE_STUDY_SET(TIDE_STUDY_CONTEXT), "largest",
        tide_report_text(&work->report,
                         "the largest tensors that a step makes, of each category, at context "
                         "%" PRIu64,
                         to.longest));
    TIDE_COLUMNS(to.peaks.table, TIDE_TEXT("outcome", "outcome"),
                 TIDE_NUMBER("eager_allocated_bytes", "PyTorch allocated"),
                 TIDE_NUMBER("eager_reserved_bytes", "PyTorch reserved"),
                 TIDE_NUMBER("requested_bytes", "own requested"),
                 TIDE_NUMBER("allocated_bytes", "own allocated"),
                 TIDE_NUMBER("reserved_bytes", "own reserved"),
                 TIDE_NUMBER("residual_stream_bytes", "residual stream"),
                 TIDE_TEXT("peak", "own peak in"));
    TIDE_COLUMNS(to.largest.table, TIDE_TEXT("category", "category"), TIDE_NUMBER("bytes", "each"),
                 TIDE_NUMBER("n_first_step", "in the first step"), TIDE_TEXT("names", "tensors"),
                 TIDE_TEXT("origin", "made in"));
    return to;
}

/* Describes the tensors in the snapshot of a cell. */
static void describe_largest(const tide_study_cell *cell, const tables *to,
                             tide_conclusion_peak *peak) {
    largest found[TIDE_N_CATEGORIES];
    find_largest(cell->result.snapshot, found);
    if (tide_study_model(cell)->model.context_length == to->longest) {
        add_largest(&to->largest, cell, found);
    }
    if (found[TIDE_ACTIVATION].bytes > 0) {
        shorten(found[TIDE_ACTIVATION].names, peak->tensor, sizeof(peak->tensor));
        peak->tensor_bytes = found[TIDE_ACTIVATION].bytes;
    }
}

static tide_status add_cell(const tide_study_work *work, const tide_study_cell *cell,
                            const tables *to, tide_conclusion_peak *ret_peak, tide_error *error) {
    tide_run_memory eager;
    tide_summary *summary = NULL;
    const tide_summary_peak *peak = NULL;
    bool fits = cell->result.outcome == TIDE_OUTCOME_COMPLETED;
    TIDE_TRY(run_eager(work, cell, &eager, error));
    *ret_peak = (tide_conclusion_peak){
        .size = tide_study_model(cell)->model.size,
        .mode = tide_mode_name((int)tide_study_model(cell)->mode),
        .precision = tide_precision_name((int)tide_study_model(cell)->precision),
        .context_length = tide_study_model(cell)->model.context_length,
        .allocated_bytes = fits ? cell->result.memory.allocated_peak_bytes : -1,
        .eager_bytes = eager.allocated_peak_bytes,
        .residual_bytes = residual_bytes(tide_study_model(cell)),
        .tensor_bytes = -1,
    };
    const tide_study_columns rest = TIDE_STUDY_SET(TIDE_STUDY_BATCH) |
                                    TIDE_STUDY_SET(TIDE_STUDY_ATTENTION) |
                                    TIDE_STUDY_SET(TIDE_STUDY_RECOMPUTE);
    tide_study_label(tide_study_columns_of(work) & rest, cell, ret_peak->rest,
                     sizeof(ret_peak->rest));
    if (fits && cell->result.snapshot != NULL) {
        TIDE_TRY(tide_summary_create(cell->result.snapshot, &summary, error));
        if (summary->n_devices > 0) {
            peak = &summary->devices[tide_summary_main_device(summary)].peak;
            for (size_t i = 0; i < TIDE_N_CATEGORIES; i++) {
                ret_peak->category_bytes[i] = peak->by_category.shares[i].bytes;
            }
        }
        describe_largest(cell, to, ret_peak);
    }
    add_peak(&to->peaks, cell, peak, &eager);
    tide_summary_destroy(summary);
    return TIDE_OK;
}

/* Sets the number of steps of a run that tests whether it fits, because it determines the reserved
 * bytes. */
static void ask_for_fit(tide_run_config *config) {
    tide_run_model_of(&config->workload)->warmup_steps = 0;
    tide_run_model_of(&config->workload)->steps = TIDE_RUN_FIT_STEPS;
}

/* Explains PyTorch's bytes in the run with the highest peak. */
static tide_status add_difference(tide_study_work *work, const tide_conclusion_peak *peaks,
                                  tide_error *error) {
    enum { N_TENSORS = 12 };
    const tide_study_cell *highest = NULL;
    int64_t most = -1;
    char label[TIDE_CONCLUSION_LABEL_BYTES];
    for (size_t i = 0; i < work->n_run; i++) {
        if (peaks[i].eager_bytes > most && peaks[i].allocated_bytes >= 0) {
            most = peaks[i].eager_bytes;
            highest = &work->cells[i];
        }
    }
    if (highest == NULL) {
        return TIDE_OK;
    }
    (void)snprintf(label, sizeof(label), "%s, %s, context %zu, %s",
                   tide_study_model(highest)->model.size,
                   tide_mode_name((int)tide_study_model(highest)->mode),
                   tide_study_model(highest)->model.context_length,
                   tide_precision_name((int)tide_study_model(highest)->precision));
    tide_run_config own = highest->config;
    tide_run_config eager = as_eager(highest);
    ask_for_fit(&own);
    ask_for_fit(&eager);
    return tide_beside_run(&work->report, label, &own, &eager, N_TENSORS, error);
}

/* Explains the columns of PyTorch, or why they are empty. */
static void say_pytorch(tide_study_work *work) {
    const char *unknown = NULL;
    for (size_t i = 0; i < work->n_cells; i++) {
        tide_precision precision = tide_study_model(&work->cells[i])->precision;
        if (!tide_eager_knows(precision)) {
            unknown = tide_precision_name((int)precision);
        }
    }
    if (work->kind != TIDE_DEVICE_VIRTUAL) {
        tide_report_say(&work->report, "pytorch",
                        "%s: not known here: its peaks are forecast on the virtual device "
                        "(--device virtual)",
                        TIDE_WORDS_PYTORCH);
    } else if (unknown != NULL) {
        tide_report_say(&work->report, "pytorch",
                        "%s: no forecast is possible of %s, only of fp32, tf32, "
                        "bf16-mixed and fp16-mixed",
                        TIDE_WORDS_PYTORCH, unknown);
    }
    if (work->kind == TIDE_DEVICE_VIRTUAL) {
        tide_report_say(&work->report, "whose",
                        "%s: with naive attention, as the assignment's code has it; the columns "
                        "called own, and the largest tensors, are those of %s",
                        TIDE_WORDS_PYTORCH, TIDE_WORDS_OWN);
    }
}

static tide_status report(tide_study_work *work, tide_error *error) {
    char conclusion[TIDE_CONCLUSION_BYTES];
    const tide_hostmem *mem = tide_hostmem_default();
    tide_conclusion_peak *peaks = tide_hostmem_zeroed(mem, work->n_cells, sizeof(*peaks));
    tide_status status = TIDE_OK;
    if (peaks == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables to = add_tables(work);
    for (size_t i = 0; i < work->n_run && status == TIDE_OK; i++) {
        status = add_cell(work, &work->cells[i], &to, &peaks[i], error);
    }
    say_pytorch(work);
    if (status == TIDE_OK) {
        status = add_difference(work, peaks, error);
    }
    if (status == TIDE_OK) {
        tide_conclusion_of_memory(peaks, work->n_run, conclusion);
        tide_report_say(&work->report, "conclusion", "%s", conclusion);
    }
    mem->release(mem->ctx, peaks);
    return status;
}

const tide_study tide_study_memory = {
    .name = "memory",
    .summary = "the peaks of 2.7B, forward and train: contexts, precisions, the largest tensors",
    .device = "virtual",
    .kind = TIDE_STUDY_RECORDED,
    .fill = fill,
    .report = report,
};
