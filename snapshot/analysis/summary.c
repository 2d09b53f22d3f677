#include "snapshot/analysis/summary.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/document/scope_paths.h"

typedef struct summary_builder {
    const tide_snapshot *snapshot;   /* borrowed */
    tide_summary *summary;           /* borrowed; filled */
    const tide_lifetimes *lifetimes; /* borrowed */
    const tide_instant *at;          /* borrowed; NULL: the peaks */
    tide_scope_paths paths;
} summary_builder;

/* The group of a block. */
typedef uint32_t (*key_of)(const summary_builder *builder, const tide_lifetime *lifetime);

static uint32_t category_key(const summary_builder *builder, const tide_lifetime *lifetime) {
    (void)builder;
    return lifetime->category;
}

static uint32_t certainty_key(const summary_builder *builder, const tide_lifetime *lifetime) {
    (void)builder;
    return lifetime->certainty;
}

static uint32_t stack_key(const summary_builder *builder, const tide_lifetime *lifetime) {
    (void)builder;
    return lifetime->stack;
}

static uint32_t scope_key(const summary_builder *builder, const tide_lifetime *lifetime) {
    return lifetime->scope == TIDE_NONE ? TIDE_NONE : builder->paths.of_scope[lifetime->scope];
}

static uint32_t phase_key(const summary_builder *builder, const tide_lifetime *lifetime) {
    return tide_scope_paths_phase(&builder->paths, scope_key(builder, lifetime));
}

static int by_bytes(const void *left, const void *right) {
    const tide_share *a = left;
    const tide_share *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return a->key < b->key ? -1 : a->key > b->key;
}

static void add_block(const summary_builder *builder, tide_share *share,
                      const tide_lifetime *lifetime) {
    share->bytes += (int64_t)lifetime->block_bytes;
    share->requested_bytes += (int64_t)lifetime->requested_bytes;
    share->n_blocks++;
    if ((int64_t)lifetime->block_bytes > share->largest_bytes) {
        share->largest_bytes = (int64_t)lifetime->block_bytes;
        share->largest_name = tide_snapshot_text(builder->snapshot, lifetime->name);
    }
}

/* Counts the distinct keys and allocates a share for each, in `by_key`. */
static tide_status group(summary_builder *builder, const tide_summary_peak *peak,
                         key_of key_of_life, tide_map *by_key, tide_split *ret_split) {
    tide_arena *arena = &builder->summary->arena;
    for (size_t i = 0; i < peak->n_blocks; i++) {
        uint32_t key = key_of_life(builder, &peak->blocks[i]);
        if (!tide_map_find(by_key, key, NULL)) {
            TIDE_TRY(tide_map_put(by_key, key, by_key->n_used));
        }
    }
    size_t n_shares = by_key->n_used;
    tide_share *shares = tide_arena_alloc(arena, n_shares, sizeof(*shares));
    if (shares == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        uint32_t key = key_of_life(builder, &peak->blocks[i]);
        uint64_t number = 0;
        bool is_known = tide_map_find(by_key, key, &number);
        TIDE_ASSERT(is_known && number < n_shares);
        shares[number].key = key;
        add_block(builder, &shares[number], &peak->blocks[i]);
    }
    qsort(shares, n_shares, sizeof(*shares), by_bytes);
    for (size_t i = 0; i < n_shares; i++) {
        shares[i].label = "";
        if (key_of_life != stack_key) {
            shares[i].label =
                tide_scope_paths_text(&builder->paths, builder->snapshot, shares[i].key, arena);
        }
        if (shares[i].label == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    *ret_split = (tide_split){shares, n_shares};
    return TIDE_OK;
}

static tide_status split(summary_builder *builder, const tide_summary_peak *peak,
                         key_of key_of_life, tide_split *ret_split) {
    tide_map by_key;
    tide_map_init(&by_key, builder->lifetimes->mem);
    tide_status status = group(builder, peak, key_of_life, &by_key, ret_split);
    tide_map_fini(&by_key);
    return status;
}

/* Shares of groups numbered from 0; each has a share even without a block. */
static tide_status split_by_number(summary_builder *builder, const tide_summary_peak *peak,
                                   size_t n_shares, key_of key_of_life, tide_split *ret_split) {
    tide_share *shares = tide_arena_alloc(&builder->summary->arena, n_shares, sizeof(*shares));
    if (shares == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_shares; i++) {
        shares[i].label = key_of_life == category_key ? tide_snapshot_category(builder->snapshot, i)
                                                      : tide_certainty_name((int)i);
        shares[i].key = (uint32_t)i;
        shares[i].largest_name = "";
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        uint32_t key = key_of_life(builder, &peak->blocks[i]);
        TIDE_ASSERT(key < n_shares);
        add_block(builder, &shares[key], &peak->blocks[i]);
    }
    *ret_split = (tide_split){shares, n_shares};
    return TIDE_OK;
}

static tide_status split_by_numbers(summary_builder *builder, tide_summary_peak *peak) {
    const tide_snapshot *snapshot = builder->snapshot;
    size_t n_certainties = tide_snapshot_has_certainty(snapshot) ? TIDE_N_CERTAINTIES : 0;
    TIDE_TRY(split_by_number(builder, peak, tide_snapshot_n_categories(snapshot), category_key,
                             &peak->by_category));
    return n_certainties == 0
               ? TIDE_OK
               : split_by_number(builder, peak, n_certainties, certainty_key, &peak->by_certainty);
}

static int by_size(const void *left, const void *right) {
    const tide_lifetime *a = left;
    const tide_lifetime *b = right;
    if (a->block_bytes != b->block_bytes) {
        return a->block_bytes < b->block_bytes ? 1 : -1;
    }
    if (a->born != b->born) {
        return a->born < b->born ? -1 : 1;
    }
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Collects the blocks of one device that are allocated at its peak. */
static tide_status collect(summary_builder *builder, size_t device, tide_summary_peak *peak) {
    size_t n_blocks = (size_t)peak->totals.n_blocks;
    tide_lifetime *blocks = tide_arena_alloc(&builder->summary->arena, n_blocks, sizeof(*blocks));
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < builder->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &builder->lifetimes->lifetimes[i];
        if (lifetime->device == device && tide_lifetime_is_allocated(lifetime, peak->event) &&
            n < n_blocks) {
            blocks[n++] = *lifetime;
        }
    }
    qsort(blocks, n, sizeof(*blocks), by_size);
    peak->blocks = blocks;
    peak->n_blocks = n;
    return TIDE_OK;
}

/* Finds step, phase and scope of the peak's row. */
static tide_status locate(summary_builder *builder, tide_summary_peak *peak) {
    const tide_snapshot *snapshot = builder->snapshot;
    peak->time_ns = -1;
    peak->step = -1;
    peak->step_name = "";
    peak->phase = "";
    peak->scope_path = "";
    if (peak->event < 0) {
        return TIDE_OK;
    }
    const tide_event event = tide_event_at(snapshot, (size_t)peak->event);
    peak->time_ns = event.time_ns;
    if (event.scope == TIDE_NONE) {
        return TIDE_OK;
    }
    uint32_t path = builder->paths.of_scope[event.scope];
    uint32_t phase = tide_scope_paths_phase(&builder->paths, path);
    if (phase != TIDE_NONE) {
        peak->phase = tide_snapshot_text(snapshot, builder->paths.paths[phase].name);
    }
    for (uint32_t i = event.scope; i != TIDE_NONE; i = snapshot->scopes[i].parent) {
        if (snapshot->scopes[i].kind == TIDE_SCOPE_STEP) {
            peak->step = snapshot->scopes[i].index;
            peak->step_name = tide_snapshot_text(snapshot, snapshot->scopes[i].name);
            break;
        }
    }
    peak->scope_path =
        tide_scope_paths_text(&builder->paths, snapshot, path, &builder->summary->arena);
    return peak->scope_path != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* Computes the account of the reserved bytes. */
static tide_status account(summary_builder *builder, size_t device, tide_summary_peak *peak,
                           tide_error *error) {
    tide_layout layout;
    const tide_instant at = {device, peak->event};
    TIDE_TRY(tide_layout_init(&layout, builder->snapshot, builder->lifetimes, &at, error));
    peak->account = layout.account;
    tide_layout_fini(&layout);
    return TIDE_OK;
}

/* The totals after an instant's row. */
static tide_totals totals_at(const summary_builder *builder, const tide_instant *at) {
    tide_totals totals = {.n_segments = 0};
    for (size_t i = 0; i < builder->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &builder->lifetimes->lifetimes[i];
        if (lifetime->device != at->device || (int64_t)lifetime->born > at->event + 1 ||
            at->event + 1 >= (int64_t)lifetime->completed) {
            continue;
        }
        totals.requested_bytes += (int64_t)lifetime->requested_bytes;
        totals.active_bytes += (int64_t)lifetime->block_bytes;
        if (tide_lifetime_is_allocated(lifetime, at->event)) {
            totals.allocated_bytes += (int64_t)lifetime->block_bytes;
            totals.n_blocks++;
        }
    }
    tide_lifetimes_reserved_at(builder->snapshot, at, &totals);
    return totals;
}

static tide_status summarise_device(summary_builder *builder, size_t device,
                                    tide_summary_device *of, tide_error *error) {
    const tide_device_lifetimes *lifetimes = &builder->lifetimes->devices[device];
    memcpy(of->counts, lifetimes->counts, sizeof(of->counts));
    memcpy(of->max, lifetimes->max, sizeof(of->max));
    of->n_unmatched = lifetimes->n_unmatched;
    of->end = lifetimes->end;
    tide_summary_peak *peak = &of->peak;
    peak->event = lifetimes->max[TIDE_MAX_ALLOCATED].event;
    peak->totals = lifetimes->at_peak;
    if (builder->at != NULL && builder->at->device == device && builder->at->event != peak->event) {
        peak->event = builder->at->event;
        peak->totals = totals_at(builder, builder->at);
    }
    TIDE_TRY(locate(builder, peak));
    TIDE_TRY(collect(builder, device, peak));
    TIDE_TRY(account(builder, device, peak, error));
    TIDE_TRY(split_by_numbers(builder, peak));
    TIDE_TRY(split(builder, peak, phase_key, &peak->by_phase));
    TIDE_TRY(split(builder, peak, scope_key, &peak->by_scope));
    return split(builder, peak, stack_key, &peak->by_stack);
}

int64_t tide_oom_free_bytes(const tide_event *event) {
    return event->block_bytes >= INT64_MAX ? -1 : (int64_t)event->block_bytes;
}

static void note_oom(const tide_snapshot *snapshot, tide_summary_device *devices) {
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        devices[i].is_pinned = tide_snapshot_is_pinned(snapshot, i);
        devices[i].oom_event = -1;
        devices[i].oom_requested_bytes = -1;
        devices[i].oom_free_bytes = -1;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.action[i] != TIDE_ACTION_OOM) {
            continue;
        }
        const tide_event event = tide_event_at(snapshot, i);
        tide_summary_device *of = &devices[event.device];
        if (of->n_oom++ == 0) {
            of->oom_event = (int64_t)i;
            of->oom_requested_bytes = (int64_t)event.requested_bytes;
            of->oom_free_bytes = tide_oom_free_bytes(&event);
        }
    }
}

#define MIB (INT64_C(1) << 20)

/* The bytes of the segment that the allocator gets for a request (docs/internals/allocator.md). */
static int64_t bought_for(const tide_snapshot *snapshot, int64_t requested_bytes) {
    double large_bytes = (double)(20 * MIB);
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        const tide_snapshot_setting *setting = &snapshot->settings[i];
        if (strcmp(setting->name, "large_segment_size") == 0 && setting->text == NULL &&
            setting->number > 0 && setting->number < 0x1p50) {
            large_bytes = setting->number;
        }
    }
    return requested_bytes <= MIB       ? 2 * MIB
           : requested_bytes < 10 * MIB ? (int64_t)large_bytes
           : requested_bytes > INT64_MAX - 2 * MIB
               ? INT64_MAX
               : (requested_bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

const char *tide_oom_why_not(const tide_snapshot *snapshot, int64_t requested_bytes,
                             int64_t free_bytes) {
    if (free_bytes < requested_bytes) {
        return "";
    }
    return free_bytes < bought_for(snapshot, requested_bytes) ? ", too little for a new segment"
                                                              : ", and yet it gave out no more";
}

static tide_status summarise(summary_builder *builder, tide_error *error) {
    const tide_snapshot *snapshot = builder->snapshot;
    tide_summary_device *devices =
        tide_arena_alloc(&builder->summary->arena, snapshot->n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    note_oom(snapshot, devices);
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        TIDE_TRY(summarise_device(builder, i, &devices[i], error));
    }
    builder->summary->devices = devices;
    builder->summary->n_devices = snapshot->n_devices;
    builder->summary->n_dropped = snapshot->n_dropped;
    return TIDE_OK;
}

tide_status tide_summary_create_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                                     const tide_instant *at, tide_summary **ret_summary,
                                     tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    summary_builder builder = {.snapshot = snapshot, .lifetimes = lifetimes, .at = at};
    tide_summary *summary = tide_hostmem_zeroed(mem, 1, sizeof(*summary));
    if (summary == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for a summary");
    }
    tide_arena_init(&summary->arena, mem);
    builder.summary = summary;
    tide_status status = tide_scope_paths_init(&builder.paths, snapshot, mem);
    if (status == TIDE_OK) {
        status = summarise(&builder, error);
        tide_scope_paths_fini(&builder.paths);
    }
    if (status == TIDE_OK) {
        *ret_summary = summary;
    } else {
        tide_summary_destroy(summary);
    }
    if (status == TIDE_NO_MEMORY) {
        return tide_fail(error, status, "no host memory for a summary");
    }
    return status;
}

tide_status tide_summary_create(const tide_snapshot *snapshot, tide_summary **ret_summary,
                                tide_error *error) {
    tide_lifetimes lifetimes;
    tide_status status = tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, error);
    if (status == TIDE_NO_MEMORY) {
        return tide_fail(error, status, "no host memory for a summary");
    }
    if (status == TIDE_OK) {
        status = tide_summary_create_from(snapshot, &lifetimes, NULL, ret_summary, error);
        tide_lifetimes_fini(&lifetimes);
    }
    return status;
}

void tide_summary_destroy(tide_summary *summary) {
    if (summary == NULL) {
        return;
    }
    const tide_hostmem *mem = summary->arena.mem;
    tide_arena_fini(&summary->arena);
    mem->release(mem->ctx, summary);
}

size_t tide_summary_main_device(const tide_summary *summary) {
    size_t main_device = 0;
    for (size_t i = 1; i < summary->n_devices; i++) {
        if (!summary->devices[i].is_pinned &&
            summary->devices[i].peak.totals.allocated_bytes >
                summary->devices[main_device].peak.totals.allocated_bytes) {
            main_device = i;
        }
    }
    return main_device;
}
