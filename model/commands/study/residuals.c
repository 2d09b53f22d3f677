/* Study residuals: the tensors that a block keeps for backward, and the gradients that its backward
 * makes. Both are taken from the events of a block in the middle. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/commands/study/conclusions.h"
#include "model/commands/study/internal.h"
#include "common/text/plural.h"
#include "snapshot/analysis/lifetimes.h"

enum { N_TOP = 5, MAX_KEPT = 64 };

static void fill(tide_study_options *options) {
    tide_study_fill_size(options, "2.7B");
    tide_study_fill(&options->run.modes, "forward-backward");
    tide_study_fill(&options->run.contexts, "512");
    tide_study_fill(&options->run.precisions, "fp32,bf16-mixed");
    tide_study_fill(&options->warmups, "0");
    if (options->run.steps == TIDE_NOT_GIVEN) {
        options->run.steps = 1;
    }
}

/* A tensor that is kept. */
typedef struct kept {
    const char *name; /* borrowed from the snapshot: "layers.5.ffn.gate" */
    int64_t bytes;    /* requested */
} kept;

/* A block in the middle of the model, as the events show it. */
typedef struct block {
    size_t layer;         /* its number */
    size_t n_layers;      /* of the model */
    kept kept[MAX_KEPT];  /* largest first */
    size_t n_kept;        /* of them */
    int64_t kept_bytes;   /* sum */
    int64_t weight_bytes; /* of them bf16 copies of weights */
    int64_t made_bytes;   /* gradients of its parameters */
    int64_t drop_bytes;   /* requested bytes alive before its backward minus those after it */
} block;

/* ---- the events of a block ---- */

static bool is_named(const tide_snapshot *snapshot, uint32_t scope, int kind, const char *name) {
    return snapshot->scopes[scope].kind == kind &&
           strcmp(tide_snapshot_text(snapshot, snapshot->scopes[scope].name), name) == 0;
}

/* Whether a scope is in a phase of that name (or is that phase), and in the layer (SIZE_MAX: in
 * any). */
static bool lies_in(const tide_snapshot *snapshot, uint32_t scope, const char *phase,
                    size_t layer) {
    bool is_in_layer = layer == SIZE_MAX;
    for (; scope != TIDE_NONE; scope = snapshot->scopes[scope].parent) {
        const tide_scope_row *row = &snapshot->scopes[scope];
        if (row->kind == TIDE_SCOPE_LAYER) {
            is_in_layer = is_in_layer || (size_t)row->index == layer;
        }
        if (is_named(snapshot, scope, TIDE_SCOPE_PHASE, phase)) {
            return is_in_layer;
        }
    }
    return false;
}

/* "layers.5.": the prefix of the names of its tensors. */
static void name_block(size_t layer, char prefix[48]) {
    snprintf(prefix, 48, "layers.%zu.", layer);
}

/* Whether a tensor belongs to the block: its own tensors and its input, but not its output, which
 * is the next block's input. */
static bool belongs(const block *of, const char *name) {
    char prefix[48];
    char input[64] = "embedded";
    name_block(of->layer, prefix);
    if (strncmp(name, prefix, strlen(prefix)) == 0) {
        return strcmp(name + strlen(prefix), "out") != 0;
    }
    if (of->layer > 0) {
        name_block(of->layer - 1, prefix);
        snprintf(input, sizeof(input), "%sout", prefix);
    }
    return strcmp(name, input) == 0;
}

static int larger_first(const void *a, const void *b) {
    const kept *left = a;
    const kept *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes > right->bytes ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

static tide_status keep(block *of, const tide_lifetime *lifetime, const char *name,
                        tide_error *error) {
    if (of->n_kept == MAX_KEPT) {
        return tide_fail(error, TIDE_LIMIT, "a block keeps more than %d tensors", (int)MAX_KEPT);
    }
    of->kept[of->n_kept++] = (kept){.name = name, .bytes = (int64_t)lifetime->requested_bytes};
    of->kept_bytes += (int64_t)lifetime->requested_bytes;
    of->weight_bytes +=
        lifetime->category == TIDE_WEIGHT_COPY ? (int64_t)lifetime->requested_bytes : 0;
    return TIDE_OK;
}

/* Finds the block's tensors that were made in forward and are alive when backward begins. */
static tide_status find_kept(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                             block *of, tide_error *error) {
    int64_t end = -1; /* last event before backward */
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (lies_in(snapshot, tide_index_at(&snapshot->events.scope, i), "backward", SIZE_MAX)) {
            end = (int64_t)i - 1;
            break;
        }
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        const char *name = tide_snapshot_text(snapshot, lifetime->name);
        if (tide_lifetime_is_allocated(lifetime, end) && belongs(of, name) &&
            lies_in(snapshot, lifetime->scope, "forward", SIZE_MAX)) {
            TIDE_TRY(keep(of, lifetime, name, error));
        }
    }
    qsort(of->kept, of->n_kept, sizeof(of->kept[0]), larger_first);
    return TIDE_OK;
}

/* Counts the bytes that the block's backward allocates and releases, in the first step: later ones
 * repeat it. */
static void follow_backward(const tide_snapshot *snapshot, block *of) {
    uint32_t first_step = TIDE_NONE;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (!lies_in(snapshot, event.scope, "backward", of->layer)) {
            continue;
        }
        uint32_t step = tide_study_step_of(snapshot, event.scope);
        first_step = first_step == TIDE_NONE ? step : first_step;
        if (step != first_step) {
            break;
        }
        int64_t bytes = (int64_t)event.requested_bytes;
        if (event.action == TIDE_ACTION_ALLOC) {
            of->drop_bytes -= bytes;
            of->made_bytes +=
                event.category == TIDE_GRADIENT &&
                        strstr(tide_snapshot_text(snapshot, event.name), ".weight.grad") != NULL
                    ? bytes
                    : 0;
        } else if (event.action == TIDE_ACTION_FREE || event.action == TIDE_ACTION_FREE_REQUESTED) {
            of->drop_bytes += bytes;
        }
    }
}

static tide_status read_block(const tide_study_cell *cell, block *of, tide_error *error) {
    tide_lifetimes lifetimes;
    *of = (block){.layer = tide_study_model(cell)->model.n_layers / 2,
                  .n_layers = tide_study_model(cell)->model.n_layers};
    TIDE_TRY(tide_lifetimes_init(&lifetimes, cell->result.snapshot, tide_hostmem_default(), error));
    tide_status status = find_kept(cell->result.snapshot, &lifetimes, of, error);
    tide_lifetimes_fini(&lifetimes);
    follow_backward(cell->result.snapshot, of);
    return status;
}

/* ---- tables ---- */

/* "layers.5.ffn.gate" -> "ffn.gate"; the output of the previous block -> "input". */
static const char *short_name(const block *of, const char *name) {
    char prefix[48];
    name_block(of->layer, prefix);
    return strncmp(name, prefix, strlen(prefix)) == 0 ? name + strlen(prefix) : "input";
}

static void add_kept_row(const tide_study_table *to, const tide_study_cell *cell, const char *label,
                         int64_t bytes, int64_t all_bytes) {
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_text(label), tide_as_bytes(bytes),
               tide_as_share((double)bytes, (double)all_bytes));
}

static void add_kept(const tide_study_table *to, const tide_study_cell *cell, const block *of) {
    int64_t rest = of->kept_bytes;
    char label[64];
    size_t n_top = of->n_kept < N_TOP ? of->n_kept : N_TOP;
    for (size_t i = 0; i < n_top; i++) {
        rest -= of->kept[i].bytes;
        add_kept_row(to, cell, short_name(of, of->kept[i].name), of->kept[i].bytes, of->kept_bytes);
    }
    if (of->n_kept > n_top) {
        snprintf(label, sizeof(label), "(%zu %s)", of->n_kept - n_top,
                 tide_plural(of->n_kept - n_top, "other", "others"));
        add_kept_row(to, cell, label, rest, of->kept_bytes);
    }
    add_kept_row(to, cell, "all", of->kept_bytes, of->kept_bytes);
    if (of->weight_bytes > 0) {
        add_kept_row(to, cell, "of it bf16 copies of weights", of->weight_bytes, of->kept_bytes);
    }
}

/* g (4 C^2 + 3 C F + 2 C). */
static int64_t theory_bytes(const tide_workload_config *workload) {
    size_t C = workload->model.d_model;
    size_t F = workload->model.d_ff;
    size_t g = workload->precision == TIDE_PRECISION_BF16_TRUE ? 2 : 4;
    return (int64_t)(g * (4 * C * C + 3 * C * F + 2 * C));
}

static void add_gradients(const tide_study_table *to, const tide_study_cell *cell,
                          const block *of) {
    int64_t theory = theory_bytes(tide_study_model(cell));
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_count((int64_t)of->layer), tide_as_bytes(of->kept_bytes),
               tide_as_change(-of->drop_bytes), tide_as_bytes(of->kept_bytes - of->drop_bytes),
               tide_as_bytes(of->made_bytes), tide_as_bytes(theory),
               tide_as_count(of->made_bytes - theory));
}

/* The tables that all cells share. */
typedef struct tables {
    tide_study_table kept;
    tide_study_table gradients;
} tables;

static tables add_tables(tide_study_work *work) {
    tide_study_columns columns = tide_study_columns_of(work) & ~TIDE_STUDY_SET(TIDE_STUDY_WARMUP);
    tables to = {
        tide_study_table_of(work, columns, "kept", "what a block keeps for backward"),
        tide_study_table_of(work, columns, "gradients", "what the block's backward makes")};
    TIDE_COLUMNS(to.kept.table, TIDE_TEXT("tensor", "tensor"), TIDE_NUMBER("bytes", "bytes"),
                 TIDE_NUMBER("share", "share"));
    TIDE_COLUMNS(to.gradients.table, TIDE_NUMBER("layer", "block"),
                 TIDE_NUMBER("kept_bytes", "kept"), TIDE_NUMBER("change_bytes", "change"),
                 TIDE_NUMBER("made_bytes", "kept + change"),
                 TIDE_NUMBER("gradient_bytes", "gradients"), TIDE_NUMBER("theory_bytes", "theory"),
                 TIDE_NUMBER("off_bytes", "bytes off"));
    return to;
}

static tide_status add_cell(const tide_study_cell *cell, const tables *to,
                            tide_conclusion_block *ret_block, tide_error *error) {
    block *of = tide_hostmem_zeroed(tide_hostmem_default(), 1, sizeof(*of));
    if (of == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = read_block(cell, of, error);
    if (status == TIDE_OK) {
        add_kept(&to->kept, cell, of);
        add_gradients(&to->gradients, cell, of);
        *ret_block = (tide_conclusion_block){
            .label = cell->name,
            .kept_bytes = of->kept_bytes,
            .largest = of->n_kept > 0 ? short_name(of, of->kept[0].name) : "",
            .largest_bytes = of->n_kept > 0 ? of->kept[0].bytes : 0,
            .n_top = of->n_kept < N_TOP ? of->n_kept : N_TOP,
            .gradient_bytes = of->made_bytes,
            .theory_bytes = theory_bytes(tide_study_model(cell)),
            .allocated_drop_bytes = of->drop_bytes,
        };
        for (size_t i = 0; i < ret_block->n_top; i++) {
            ret_block->top_bytes += of->kept[i].bytes;
        }
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, of);
    return status;
}

static tide_status report(tide_study_work *work, tide_error *error) {
    char conclusion[TIDE_CONCLUSION_BYTES];
    const tide_hostmem *mem = tide_hostmem_default();
    tide_conclusion_block *blocks = tide_hostmem_zeroed(mem, work->n_cells, sizeof(*blocks));
    tide_status status = TIDE_OK;
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables to = add_tables(work);
    for (size_t i = 0; i < work->n_run && status == TIDE_OK; i++) {
        blocks[i].kept_bytes = -1;
        if (work->cells[i].result.outcome == TIDE_OUTCOME_COMPLETED) {
            status = add_cell(&work->cells[i], &to, &blocks[i], error);
        }
    }
    if (status == TIDE_OK) {
        tide_conclusion_of_residuals(blocks, work->n_run, conclusion);
        tide_report_say(&work->report, "conclusion", "%s", conclusion);
    }
    mem->release(mem->ctx, blocks);
    return status;
}

const tide_study tide_study_residuals = {
    .name = "residuals",
    .summary = "what a block keeps for backward, tensor by tensor, and the gradients it makes",
    .device = "virtual",
    .kind = TIDE_STUDY_RECORDED,
    .needs_backward = true,
    .fill = fill,
    .report = report,
};
