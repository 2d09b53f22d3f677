#include "snapshot/explain/work_shares.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/document/scope_paths.h"

enum { MAX_ROWS = 512, PATH_BYTES = 256 };

bool tide_work_is_product(const char *kernel) {
    /* The generations of cuBLAS; splitKreduce sums the partial results of a product. */
    static const char *const PARTS[] = {"gemm", "nvjet", "cutlass", "gemv", "splitkreduce"};
    char lower[PATH_BYTES];
    size_t n = 0;
    for (; kernel[n] != '\0' && n + 1 < sizeof(lower); n++) {
        lower[n] = (char)tolower((unsigned char)kernel[n]);
    }
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strstr(lower, PARTS[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Operators that spend most of their time in products: the projections of attention (naive
 * attention has operators of its own for the other parts), the FFN, lm_head, and the linear layers
 * of an MLP. */
static bool is_product_operator(const char *path) {
    static const char *const ENDS[] = {"attention", "scores", "value", "ffn", "lm_head", "linear"};
    const char *last = strrchr(path, ' ');
    last = last != NULL ? last + 1 : path;
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        if (strcmp(last, ENDS[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- rows and phases ---- */

/* The phase of that name; added if new. SIZE_MAX: there are too many. */
static size_t find_phase(tide_work_shares *shares, const char *name) {
    for (size_t i = 0; i < shares->n_phases; i++) {
        if (strcmp(shares->phases[i].name, name) == 0) {
            return i;
        }
    }
    if (shares->n_phases == TIDE_WORK_MAX_PHASES) {
        return SIZE_MAX;
    }
    shares->phases[shares->n_phases] = (tide_work_phase){.name = name};
    return shares->n_phases++;
}

/* The row of that name in that phase; added if new. NULL: no memory or too many rows; its time is
 * then in no row. */
static tide_work_row *find_row(tide_work_shares *shares, size_t phase, const char *name) {
    for (size_t i = 0; i < shares->n_rows; i++) {
        if (shares->rows[i].phase == phase && strcmp(shares->rows[i].name, name) == 0) {
            return &shares->rows[i];
        }
    }
    const char *copy = shares->n_rows < MAX_ROWS ? tide_arena_text(&shares->arena, name) : NULL;
    if (copy == NULL) {
        return NULL;
    }
    shares->rows[shares->n_rows] = (tide_work_row){.name = copy, .phase = phase};
    return &shares->rows[shares->n_rows++];
}

static int by_phase_and_time(const void *a, const void *b) {
    const tide_work_row *left = a;
    const tide_work_row *right = b;
    if (left->phase != right->phase) {
        return left->phase < right->phase ? -1 : 1;
    }
    if (left->ms > right->ms || left->ms < right->ms) {
        return left->ms > right->ms ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

static bool ends_in(const char *path, const char *name) {
    size_t n = strlen(path);
    size_t n_name = strlen(name);
    return n >= n_name && strcmp(path + n - n_name, name) == 0;
}

/* Adds up the parts of naive attention in forward. */
static void note_attention(tide_work_shares *shares, const char *phase, const char *path,
                           double ms) {
    if (strcmp(phase, "forward") != 0) {
        return;
    }
    if (ends_in(path, "attention > softmax")) {
        shares->softmax_ms += ms;
    } else if (ends_in(path, "attention > scores") || ends_in(path, "attention > value")) {
        shares->products_ms += ms;
    }
}

/* ---- by kernel ---- */

static void add_kernels(tide_work_shares *shares, const tide_snapshot *snapshot, double n_steps) {
    shares->is_by_kernel = true;
    for (size_t i = 0; i < snapshot->n_kernels; i++) {
        const tide_kernel_row *kernel = &snapshot->kernels[i];
        if (kernel->phase == TIDE_NONE) {
            continue; /* outside a step's phases */
        }
        const char *name = tide_snapshot_text(snapshot, kernel->name);
        const char *phase_name = tide_snapshot_text(snapshot, kernel->phase);
        double ms = (double)kernel->total_ns * 1e-6 / n_steps;
        size_t phase = find_phase(shares, phase_name);
        tide_work_row *row = phase != SIZE_MAX ? find_row(shares, phase, name) : NULL;
        if (row == NULL) {
            continue;
        }
        row->is_product = tide_work_is_product(name);
        row->n_calls += (double)kernel->n_launches / n_steps;
        row->ms += ms;
        shares->phases[phase].ms += ms;
        shares->phases[phase].product_ms += row->is_product ? ms : 0.0;
        note_attention(shares, phase_name, tide_snapshot_text(snapshot, kernel->path), ms);
    }
}

/* ---- by operator ---- */

/* The device's time if known, else the host's. */
static double ms_of(const tide_scope_row *scope) {
    int64_t ns = scope->device_duration_ns >= 0 ? scope->device_duration_ns : scope->duration_ns;
    return ns > 0 ? (double)ns * 1e-6 : 0.0;
}

/* Whether the time of a scope is known. If only its allocations name it, its time and its number of
 * calls are unknown. */
static bool has_time(const tide_scope_row *scope) {
    return scope->duration_ns != TIDE_SCOPE_NO_INTERVAL || scope->device_duration_ns >= 0;
}

/* The place of a scope of a measured step. */
typedef struct place {
    uint32_t phase;        /* scope of its phase, which it may be; TIDE_NONE: not in a measured
                              step */
    char path[PATH_BYTES]; /* below the phase, without numbers: "layer > ffn"; "" for the phase */
} place;

static place place_of(const tide_snapshot *snapshot, uint32_t scope) {
    place found = {.phase = TIDE_NONE};
    uint32_t phase = tide_scope_describe(snapshot, scope, TIDE_SCOPE_PHASE, false, found.path,
                                         sizeof(found.path));
    uint32_t step = phase != TIDE_NONE ? snapshot->scopes[phase].parent : TIDE_NONE;
    if (step != TIDE_NONE && snapshot->scopes[step].kind == TIDE_SCOPE_STEP &&
        strcmp(tide_snapshot_text(snapshot, snapshot->scopes[step].name), "step") == 0) {
        found.phase = phase;
    }
    return found;
}

/* Adds a scope's time to its row, or to its phase. */
static void add_scope(tide_work_shares *shares, const tide_snapshot *snapshot, uint32_t scope,
                      double self_ms, double n_steps) {
    place at = place_of(snapshot, scope);
    if (at.phase == TIDE_NONE) {
        return;
    }
    const char *name = tide_snapshot_text(snapshot, snapshot->scopes[at.phase].name);
    size_t phase = find_phase(shares, name);
    if (phase == SIZE_MAX || !has_time(&snapshot->scopes[scope])) {
        return;
    }
    if (at.phase == scope) {
        shares->phases[phase].ms += ms_of(&snapshot->scopes[scope]) / n_steps;
        return;
    }
    if (snapshot->scopes[scope].kind != TIDE_SCOPE_OPERATOR) {
        return;
    }
    tide_work_row *row = find_row(shares, phase, at.path);
    if (row == NULL) {
        return;
    }
    row->is_product = is_product_operator(at.path);
    row->n_calls += 1.0 / n_steps;
    row->ms += self_ms / n_steps;
    shares->phases[phase].product_ms += row->is_product ? self_ms / n_steps : 0.0;
    note_attention(shares, name, at.path, self_ms / n_steps);
}

static tide_status add_operators(tide_work_shares *shares, const tide_snapshot *snapshot,
                                 double n_steps) {
    const tide_hostmem *mem = shares->arena.mem;
    double *self_ms = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*self_ms));
    if (self_ms == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &snapshot->scopes[i];
        TIDE_ASSERT(scope->parent == TIDE_NONE || scope->parent < i);
        self_ms[i] += ms_of(scope);
        if (scope->kind == TIDE_SCOPE_OPERATOR && scope->parent != TIDE_NONE) {
            self_ms[scope->parent] -= ms_of(scope);
        }
    }
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        add_scope(shares, snapshot, (uint32_t)i, self_ms[i], n_steps);
    }
    mem->release(mem->ctx, self_ms);
    return TIDE_OK;
}

/* ---- the whole ---- */

static bool computes(const tide_snapshot *snapshot) {
    return snapshot->n_devices > 0 && strcmp(snapshot->devices[0].kind, "virtual") != 0 &&
           snapshot->timing.measured_steps > 0;
}

tide_status tide_work_shares_init(tide_work_shares *shares, const tide_snapshot *snapshot,
                                  bool by_kernel) {
    tide_status status = TIDE_OK;
    *shares = (tide_work_shares){.n_phases = 0};
    tide_arena_init(&shares->arena, tide_hostmem_default());
    if (!computes(snapshot)) {
        return TIDE_OK;
    }
    shares->rows = tide_arena_alloc(&shares->arena, MAX_ROWS, sizeof(*shares->rows));
    if (shares->rows == NULL) {
        status = TIDE_NO_MEMORY;
    } else if (by_kernel) {
        add_kernels(shares, snapshot, (double)snapshot->timing.measured_steps);
    } else {
        status = add_operators(shares, snapshot, (double)snapshot->timing.measured_steps);
    }
    if (status != TIDE_OK) {
        tide_work_shares_fini(shares);
        return status;
    }
    qsort(shares->rows, shares->n_rows, sizeof(*shares->rows), by_phase_and_time);
    return TIDE_OK;
}

void tide_work_shares_fini(tide_work_shares *shares) {
    tide_arena_fini(&shares->arena);
    *shares = (tide_work_shares){.n_phases = 0};
}

const tide_work_row *tide_work_shares_top(const tide_work_shares *shares, size_t phase,
                                          double *ret_ms) {
    const tide_work_row *top = NULL;
    double most_ms = 0.0;
    for (size_t i = 0; i < shares->n_rows; i++) {
        const tide_work_row *row = &shares->rows[i];
        double ms = 0.0;
        if (phase != SIZE_MAX && row->phase != phase) {
            continue;
        }
        for (size_t k = 0; k < shares->n_rows; k++) {
            bool counts = phase == SIZE_MAX ? strcmp(shares->rows[k].name, row->name) == 0 : k == i;
            ms += counts ? shares->rows[k].ms : 0.0;
        }
        if (ms > most_ms) {
            most_ms = ms;
            top = row;
        }
    }
    *ret_ms = most_ms;
    return top;
}
