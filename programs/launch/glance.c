#include "programs/launch/glance.h"

#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/left/peaks.h"

#define WINDOW_NS INT64_C(10000000000) /* the window for the rate of events */

/* ---- shares ---- */

/* Sums of one device, by index: of category and certainty combined, or of string. */
typedef struct sums {
    tide_glance_share *shares; /* in the arena; shares without blocks have n_blocks 0 */
    size_t n;
} sums;

static void add(sums *to, size_t number, const tide_lifetime *block) {
    to->shares[number].bytes += (int64_t)block->block_bytes;
    to->shares[number].n_blocks++;
}

/* Larger first; then by name and certainty, to make the order unique. */
static int by_bytes(const void *a, const void *b) {
    const tide_glance_share *left = a;
    const tide_glance_share *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes > right->bytes ? -1 : 1;
    }
    int names = strcmp(left->name, right->name);
    return names != 0 ? names : left->certainty - right->certainty;
}

/* Keeps the shares that have blocks. */
static size_t settle(sums *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) {
        if (of->shares[i].n_blocks > 0) {
            of->shares[n++] = of->shares[i];
        }
    }
    qsort(of->shares, n, sizeof(*of->shares), by_bytes);
    return n;
}

/* The string of the innermost module around a scope; TIDE_NONE if there is none. */
static uint32_t module_of(const tide_snapshot *snapshot, uint32_t scope) {
    while (scope != TIDE_NONE && snapshot->scopes[scope].kind != TIDE_SCOPE_LAYER) {
        scope = snapshot->scopes[scope].parent;
    }
    return scope != TIDE_NONE ? snapshot->scopes[scope].name : TIDE_NONE;
}

static tide_status add_shares(tide_arena *arena, const tide_snapshot *snapshot,
                              const tide_lifetimes *lifetimes, size_t device,
                              tide_glance_device *to) {
    sums categories = {.n = (size_t)TIDE_MAX_CATEGORIES * TIDE_N_CERTAINTIES};
    sums modules = {.n = snapshot->n_strings + 1}; /* the last one: outside */
    categories.shares = tide_arena_alloc(arena, categories.n, sizeof(*categories.shares));
    modules.shares = tide_arena_alloc(arena, modules.n, sizeof(*modules.shares));
    if (categories.shares == NULL || modules.shares == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        if (block->device != device || block->freed != TIDE_LIFETIME_FOREVER) {
            continue;
        }
        size_t category = (size_t)block->category * TIDE_N_CERTAINTIES + block->certainty;
        uint32_t module = module_of(snapshot, block->scope);
        size_t number = module < snapshot->n_strings ? module : snapshot->n_strings;
        categories.shares[category].name = tide_snapshot_category(snapshot, block->category);
        categories.shares[category].certainty = block->certainty;
        modules.shares[number].name = tide_snapshot_text(snapshot, module);
        add(&categories, category, block);
        add(&modules, number, block);
    }
    to->n_categories = settle(&categories);
    to->n_modules = settle(&modules);
    to->categories = categories.shares;
    to->modules = modules.shares;
    return TIDE_OK;
}

/* ---- the trend ---- */

/* The number of steps of the whole run, not only of the kept part: the last step has it. */
static int64_t count_steps(const tide_snapshot *snapshot) {
    int64_t n = 0;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &snapshot->scopes[i];
        if (scope->kind == TIDE_SCOPE_STEP && scope->parent == TIDE_NONE && scope->index >= n) {
            n = (int64_t)scope->index + 1;
        }
    }
    return n;
}

static double count_per_second(const tide_snapshot *snapshot) {
    size_t n = snapshot->n_events;
    int64_t last_ns = n > 0 ? snapshot->events.time_ns[n - 1] : 0;
    size_t first = n;
    while (first > 0 && snapshot->events.time_ns[first - 1] > last_ns - WINDOW_NS) {
        first--;
    }
    int64_t span_ns = first > 0 ? WINDOW_NS : n > 0 ? last_ns - snapshot->events.time_ns[0] : 0;
    return span_ns > 0 ? (double)(n - first) * 1e9 / (double)span_ns : -1;
}

static tide_status look(tide_glance *glance, const tide_snapshot *snapshot,
                        const tide_lifetimes *lifetimes) {
    tide_glance_device *devices =
        tide_arena_alloc(&glance->arena, lifetimes->n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < lifetimes->n_devices; i++) {
        const tide_device_lifetimes *from = &lifetimes->devices[i];
        int64_t n_passes = -1;
        devices[i] = (tide_glance_device){
            .now = from->end,
            .allocated_peak_bytes = from->max[TIDE_MAX_ALLOCATED].bytes,
            .reserved_peak_bytes = from->max[TIDE_MAX_RESERVED].bytes,
            .growth_bytes = tide_left_growth_from(snapshot, lifetimes, i, NULL, &n_passes),
            .n_failures = from->counts[TIDE_ACTION_OOM]};
        TIDE_TRY(add_shares(&glance->arena, snapshot, lifetimes, i, &devices[i]));
    }
    glance->devices = devices;
    glance->n_devices = lifetimes->n_devices;
    return TIDE_OK;
}

tide_status tide_glance_init(tide_glance *glance, const tide_snapshot *snapshot,
                             tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = snapshot->n_events;
    tide_lifetimes lifetimes;
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, mem, error));
    *glance = (tide_glance){.n_steps = count_steps(snapshot),
                            .n_events = (uint64_t)n + snapshot->n_dropped,
                            .events_per_second = count_per_second(snapshot),
                            .last_ns = n > 0 ? snapshot->events.time_ns[n - 1] : -1};
    tide_arena_init(&glance->arena, mem);
    tide_status status = look(glance, snapshot, &lifetimes);
    tide_lifetimes_fini(&lifetimes);
    if (status != TIDE_OK) {
        tide_glance_fini(glance);
        return tide_fail(error, status, "no host memory for what the program holds");
    }
    return TIDE_OK;
}

void tide_glance_fini(tide_glance *glance) {
    tide_arena_fini(&glance->arena);
}
