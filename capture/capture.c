#include "capture/capture.h"

#include <string.h>

#include "capture/capture_internal.h"
#include "common/assert.h"

/* A heap on top of an arena. With it the recorder copies its tables straight into the document,
 * which owns that arena, so nothing is copied twice. Each piece is preceded by its size, for
 * resize. */
typedef struct piece {
    _Alignas(16) size_t n_bytes;
} piece;

static void *arena_alloc(void *ctx, size_t n_bytes) {
    if (n_bytes > SIZE_MAX - sizeof(piece)) {
        return NULL;
    }
    piece *made = tide_arena_alloc(ctx, 1, sizeof(piece) + n_bytes);
    if (made == NULL) {
        return NULL;
    }
    made->n_bytes = n_bytes;
    return made + 1;
}

static void arena_release(void *ctx, void *memory) {
    if (memory != NULL) {
        piece *made = (piece *)memory - 1;
        tide_arena_release(ctx, made, sizeof(piece) + made->n_bytes);
    }
}

static void *arena_resize(void *ctx, void *memory, size_t n_bytes) {
    void *made = arena_alloc(ctx, n_bytes);
    if (made != NULL && memory != NULL) {
        size_t n_old = ((const piece *)memory - 1)->n_bytes;
        memcpy(made, memory, n_old < n_bytes ? n_old : n_bytes);
        arena_release(ctx, memory);
    }
    return made;
}

static tide_status out_of_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "no host memory for a snapshot of the recording");
}

void tide_capture_set_boundaries(const tide_boundary *start, const tide_boundary *end,
                                 tide_snapshot *snapshot) {
    snapshot->start_segments = start->segments;
    snapshot->n_start_segments = start->n_segments;
    snapshot->start_blocks = start->blocks;
    snapshot->n_start_blocks = start->n_blocks;
    snapshot->end_segments = end->segments;
    snapshot->n_end_segments = end->n_segments;
    snapshot->end_blocks = end->blocks;
    snapshot->n_end_blocks = end->n_blocks;
}

/* Both ends of the event table. A recording that lost nothing begins with an empty cache. */
static tide_status set_boundaries(const tide_cache_state *state, tide_snapshot *snapshot,
                                  tide_boundary *ret_start, tide_boundary *ret_end,
                                  tide_error *error) {
    const tide_recording *recording = &state->recording;
    tide_boundary start = {NULL, 0, NULL, 0};
    tide_boundary end = {state->segments, state->n_segments, state->blocks, state->n_blocks};
    if (recording->n_dropped > 0 && !recording->has_newest) {
        TIDE_TRY(tide_boundary_after(recording->base, recording->n_base, recording->events,
                                     recording->n_events, &snapshot->arena, &start, &end, error));
    } else if (recording->n_dropped > 0) {
        TIDE_TRY(tide_boundary_before(&end, recording->events, recording->n_events, recording->base,
                                      recording->n_base, &snapshot->arena, &start, error));
    }
    tide_capture_set_boundaries(&start, &end, snapshot);
    *ret_start = start;
    *ret_end = end;
    return TIDE_OK;
}

static void mark_stack(uint32_t *nodes, size_t n_stacks, uint32_t stack) {
    if (stack < n_stacks) {
        nodes[stack] = 0;
    }
}

static uint32_t node_of(const uint32_t *nodes, size_t n_stacks, uint32_t stack) {
    return stack < n_stacks ? nodes[stack] : TIDE_NONE;
}

/* A Python frame of the log is an instruction, so several stacks of the log may be one node.
 * Numbers them in the order of the log. */
static tide_status set_variants(const tide_recording *recording, const uint32_t *nodes,
                                tide_snapshot *snapshot) {
    tide_arena *arena = &snapshot->arena;
    uint16_t *of_stack = tide_arena_alloc(arena, recording->n_stacks, sizeof(*of_stack));
    uint16_t *n_of_node = tide_arena_alloc(arena, snapshot->n_stacks, sizeof(*n_of_node));
    uint16_t *of_event = tide_arena_alloc(arena, recording->n_events, sizeof(*of_event));
    bool differ = false;
    if (of_stack == NULL || n_of_node == NULL || of_event == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(n_of_node, 0, snapshot->n_stacks * sizeof(*n_of_node));
    for (size_t i = 0; i < recording->n_stacks; i++) {
        uint16_t *n = nodes[i] != TIDE_NONE ? &n_of_node[nodes[i]] : NULL;
        of_stack[i] = n != NULL ? *n : 0;
        if (n != NULL && *n < UINT16_MAX) {
            (*n)++;
        }
    }
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        bool is_known = event->action == TIDE_ACTION_ALLOC && event->stack < recording->n_stacks;
        of_event[i] = is_known ? of_stack[event->stack] : 0;
        differ = differ || of_event[i] != 0;
    }
    snapshot->event_variant = differ ? of_event : NULL;
    return TIDE_OK;
}

/* Replaces the recording's stacks by nodes of the document's tree, in every row that has one. */
static tide_status resolve_stacks(tide_recording *recording, tide_boundary *boundaries[2],
                                  tide_capture_modules *modules, tide_strings *strings,
                                  tide_snapshot *snapshot) {
    size_t n_stacks = recording->n_stacks;
    uint32_t *nodes = tide_arena_alloc(&snapshot->arena, n_stacks, sizeof(*nodes));
    if (nodes == NULL) {
        return TIDE_NO_MEMORY;
    }
    /* Marks the stacks in use, unless all are wanted: a stack that only dropped rows had needs no
     * symbols. */
    memset(nodes, modules != NULL && modules->wants_all ? 0 : 0xff, n_stacks * sizeof(*nodes));
    for (size_t i = 0; i < recording->n_events; i++) {
        mark_stack(nodes, n_stacks, recording->events[i].stack);
    }
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < boundaries[b]->n_blocks; i++) {
            mark_stack(nodes, n_stacks, boundaries[b]->blocks[i].stack);
        }
    }
    TIDE_TRY(tide_capture_stacks(recording, modules, strings, snapshot, nodes));
    if (modules != NULL) {
        modules->nodes = nodes;
    }
    if (modules != NULL && modules->n_python > 0) {
        TIDE_TRY(set_variants(recording, nodes, snapshot));
    }
    for (size_t i = 0; i < recording->n_events; i++) {
        recording->events[i].stack = node_of(nodes, n_stacks, recording->events[i].stack);
    }
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < boundaries[b]->n_blocks; i++) {
            tide_block_row *block = &boundaries[b]->blocks[i];
            block->stack = node_of(nodes, n_stacks, block->stack);
        }
    }
    return TIDE_OK;
}

/* The recording's strings come first and keep their numbers; those of symbols come after them. */
static tide_status set_strings(const tide_recording *recording, const tide_strings *strings,
                               tide_snapshot *snapshot) {
    TIDE_ASSERT(recording->n_strings <= strings->n_texts);
    const char **texts = tide_arena_alloc(&snapshot->arena, strings->n_texts, sizeof(const char *));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < strings->n_texts; i++) {
        texts[i] = i < recording->n_strings ? recording->strings[i]
                                            : tide_arena_text(&snapshot->arena, strings->texts[i]);
        if (texts[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    snapshot->strings = texts;
    snapshot->n_strings = strings->n_texts;
    return TIDE_OK;
}

tide_status tide_capture_tables(tide_recording *recording, tide_boundary *boundaries[2],
                                tide_capture_modules *modules, tide_snapshot *snapshot) {
    tide_strings strings;
    tide_strings_init(&strings, snapshot->arena.mem);
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < recording->n_strings && status == TIDE_OK; i++) {
        uint32_t number = 0;
        status = tide_strings_intern(&strings, recording->strings[i], &number);
        TIDE_ASSERT(status != TIDE_OK || number == i);
    }
    if (status == TIDE_OK) {
        status = resolve_stacks(recording, boundaries, modules, &strings, snapshot);
    }
    if (status == TIDE_OK) {
        status = set_strings(recording, &strings, snapshot);
    }
    tide_strings_fini(&strings);
    if (status == TIDE_OK) {
        status = tide_event_table_from_rows(&snapshot->arena, recording->events,
                                            recording->n_events, &snapshot->events);
    }
    snapshot->n_events = status == TIDE_OK ? recording->n_events : 0;
    snapshot->scopes = recording->scopes;
    snapshot->n_scopes = recording->n_scopes;
    snapshot->kernels = recording->kernels;
    snapshot->n_kernels = recording->n_kernels;
    /* Without a recorder streams have no numbers, so all segments count as those of the default
     * one. */
    static const tide_stream_row DEFAULT_STREAM = {.handle = 0, .device = 0};
    snapshot->streams = recording->n_streams > 0 ? recording->streams : &DEFAULT_STREAM;
    snapshot->n_streams = recording->n_streams > 0 ? recording->n_streams : 1;
    snapshot->n_dropped = recording->n_dropped;
    snapshot->n_scopes_dropped = recording->n_scopes_dropped;
    snapshot->full_policy = recording->full_policy == TIDE_FULL_STOP ? "stop" : "keep-newest";
    return status;
}

static tide_status set_descriptions(tide_cache *cache, const tide_capture_options *options,
                                    tide_snapshot *snapshot) {
    snapshot->tool_version = TIDEMARK_VERSION;
    snapshot->tool_build = TIDEMARK_BUILD;
    snapshot->clock_source = "monotonic";
    TIDE_TRY(tide_capture_device(tide_device_get_info(tide_cache_device(cache)), snapshot));
    TIDE_TRY(tide_capture_settings(tide_cache_get_config(cache), snapshot));
    TIDE_TRY(tide_capture_run(options->run, snapshot));
    return tide_capture_timing(options->timing, snapshot);
}

/* Copies the recording's figures about itself; without a recorder they are all 0. */
static void describe_recording(const tide_recording *recording, tide_snapshot *snapshot) {
    if (recording->clock_source != NULL) {
        snapshot->clock_source = recording->clock_source;
    }
    if (snapshot->run.started_unix_us < 0 && recording->created_unix_us > 0) {
        snapshot->run.started_unix_us = recording->created_unix_us;
    }
    snapshot->device_uncertainty_ns =
        recording->n_scopes > 0 ? recording->device_uncertainty_ns : -1;
}

struct tide_captured {
    const tide_hostmem *mem; /* borrowed */
    tide_snapshot *snapshot; /* owned until it is returned */
    tide_hostmem arena_mem;  /* of the snapshot's arena */
    tide_cache_state state;  /* all of it in the arena: nothing to release */
};

tide_status tide_capture_begin(tide_recorder *recorder, tide_cache *cache,
                               const tide_capture_options *options, tide_captured **ret_captured,
                               tide_error *error) {
    const tide_capture_options none = {.mem = NULL};
    options = options != NULL ? options : &none;
    if (recorder != tide_cache_recorder(cache)) {
        tide_fail(error, TIDE_INVALID,
                  "the cache records into another recorder than the one given; pass the one "
                  "it was created with");
        return TIDE_INVALID;
    }
    const tide_hostmem *mem = options->mem != NULL ? options->mem : tide_hostmem_default();
    tide_captured *captured = tide_hostmem_zeroed(mem, 1, sizeof(*captured));
    if (captured == NULL) {
        out_of_memory(error);
        return TIDE_NO_MEMORY;
    }
    captured->mem = mem;
    tide_status status = tide_snapshot_create(mem, &captured->snapshot);
    if (status != TIDE_OK) {
        out_of_memory(error);
        goto fail_snapshot;
    }
    captured->arena_mem =
        (tide_hostmem){arena_alloc, arena_resize, arena_release, &captured->snapshot->arena};
    status = set_descriptions(cache, options, captured->snapshot);
    if (status != TIDE_OK) {
        out_of_memory(error);
        goto fail_copy;
    }
    status = tide_cache_copy_state(cache, &captured->arena_mem, &captured->state, error);
    if (status != TIDE_OK) {
        goto fail_copy;
    }
    describe_recording(&captured->state.recording, captured->snapshot);
    *ret_captured = captured;
    return TIDE_OK;

fail_copy:
    tide_snapshot_destroy(captured->snapshot);
fail_snapshot:
    mem->release(mem->ctx, captured);
    return status;
}

int64_t tide_captured_pause_ns(const tide_captured *captured) {
    return captured->state.pause_ns;
}

static tide_status fill(tide_captured *captured, tide_error *error) {
    tide_snapshot *snapshot = captured->snapshot;
    tide_boundary start, end;
    TIDE_TRY(set_boundaries(&captured->state, snapshot, &start, &end, error));
    tide_status status = tide_capture_tables(&captured->state.recording,
                                             (tide_boundary *[2]){&start, &end}, NULL, snapshot);
    /* The document has columns now. */
    captured->arena_mem.release(captured->arena_mem.ctx, captured->state.recording.events);
    captured->state.recording.events = NULL;
    return status == TIDE_OK ? TIDE_OK : out_of_memory(error);
}

tide_status tide_capture_end(tide_captured *captured, tide_snapshot **ret_snapshot,
                             tide_error *error) {
    tide_status status = fill(captured, error);
    if (status == TIDE_OK) {
        *ret_snapshot = captured->snapshot;
        captured->snapshot = NULL;
    }
    tide_captured_destroy(captured);
    return status;
}

void tide_captured_destroy(tide_captured *captured) {
    if (captured != NULL) {
        tide_snapshot_destroy(captured->snapshot);
        captured->mem->release(captured->mem->ctx, captured);
    }
}

tide_status tide_capture(tide_recorder *recorder, tide_cache *cache,
                         const tide_capture_options *options, tide_snapshot **ret_snapshot,
                         tide_error *error) {
    tide_captured *captured = NULL;
    TIDE_TRY(tide_capture_begin(recorder, cache, options, &captured, error));
    return tide_capture_end(captured, ret_snapshot, error);
}

tide_status tide_snapshot_write(tide_recorder *recorder, tide_cache *cache, const char *path,
                                tide_error *error) {
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_capture(recorder, cache, NULL, &snapshot, error));
    tide_status status = tide_snapshot_save(snapshot, path, error);
    tide_snapshot_destroy(snapshot);
    return status;
}
