#include <stdlib.h>
#include <string.h>

#include "support/event_rows.h"
#include "support/synthetic_internal.h"

/* A copy of the rows in the snapshot's arena. */
static const void *keep(tide_snapshot *snapshot, const synthetic_rows *from, size_t item_bytes) {
    void *copy = tide_arena_alloc(&snapshot->arena, from->n, item_bytes);
    if (copy == NULL) {
        abort();
    }
    if (from->n > 0) {
        memcpy(copy, from->items, from->n * item_bytes);
    }
    return copy;
}

static void keep_strings(tide_snapshot *snapshot, const tide_strings *strings) {
    const char **texts = tide_arena_alloc(&snapshot->arena, strings->n_texts, sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < strings->n_texts; i++) {
        texts[i] = tide_arena_text(&snapshot->arena, strings->texts[i]);
    }
    snapshot->strings = texts;
    snapshot->n_strings = strings->n_texts;
}

/* Blocks are in the order of their creation, so those of one segment are adjacent. */
static void keep_end(tide_snapshot *snapshot, const synthetic_maker *m) {
    tide_segment_row *segments =
        tide_arena_alloc(&snapshot->arena, m->segments.n, sizeof(*segments));
    tide_block_row *blocks =
        tide_arena_alloc(&snapshot->arena, m->blocks.n + m->segments.n, sizeof(*blocks));
    const synthetic_block *from = m->blocks.items;
    size_t n_blocks = 0;
    size_t at = 0;
    for (size_t i = 0; i < m->segments.n; i++) {
        const synthetic_segment *of = (const synthetic_segment *)m->segments.items + i;
        segments[i] = (tide_segment_row){
            .address = of->address, .total_bytes = of->total_bytes, .first_block = n_blocks};
        for (; at < m->blocks.n && from[at].segment == i; at++) {
            bool is_free = from[at].state == TIDE_BLOCK_FREE;
            blocks[n_blocks++] =
                (tide_block_row){.offset_bytes = from[at].address - of->address,
                                 .block_bytes = from[at].block_bytes,
                                 .requested_bytes = is_free ? 0 : from[at].requested_bytes,
                                 .stack = is_free ? TIDE_NONE : from[at].stack,
                                 .scope = is_free ? TIDE_NONE : from[at].scope,
                                 .name = is_free ? TIDE_NONE : from[at].name,
                                 .state = from[at].state,
                                 .category = is_free ? (uint8_t)TIDE_UNKNOWN : from[at].category};
        }
        if (of->used_bytes < of->total_bytes) {
            blocks[n_blocks++] = (tide_block_row){.offset_bytes = of->used_bytes,
                                                  .block_bytes = of->total_bytes - of->used_bytes,
                                                  .stack = TIDE_NONE,
                                                  .scope = TIDE_NONE,
                                                  .name = TIDE_NONE};
        }
        segments[i].n_blocks = n_blocks - segments[i].first_block;
    }
    snapshot->end_segments = segments;
    snapshot->n_end_segments = m->segments.n;
    snapshot->end_blocks = blocks;
    snapshot->n_end_blocks = n_blocks;
}

static void describe(tide_snapshot *snapshot, const synthetic_maker *m) {
    static const double HOST_MS[] = {1.5, 1.25, 1.75};
    static const double NOT_MEASURED[] = {-1.0, -1.0, -1.0};
    static const tide_snapshot_phase PHASES[] = {{"forward", 3, HOST_MS, NOT_MEASURED},
                                                 {"backward", 3, HOST_MS, HOST_MS},
                                                 {"optimizer", 0, NULL, NULL},
                                                 {"step", 3, HOST_MS, NOT_MEASURED}};
    static const tide_snapshot_device DEVICES[] = {
        {"virtual", "made-up card", 85899345920, 90, -1, -1, -1, -1}};
    static const tide_snapshot_setting SETTINGS[] = {{"max_split_size_mb", NULL, -1.0},
                                                     {"garbage_collection_threshold", NULL, 0.75},
                                                     {"roundup_power2_divisions", "0,0,0", 0.0}};
    static const tide_kernel_row KERNELS[] = {{0, TIDE_NONE, 0, 1, 17, 17, 17},
                                              {1, 0, 1, 2000000, INT64_MAX, 0, 5000000000}};
    static const tide_stream_row STREAMS[] = {{0, 0}, {140000000000, 0}};
    snapshot->tool_version = "0.1.0";
    snapshot->tool_build = "made up";
    snapshot->clock_source = "monotonic";
    snapshot->device_uncertainty_ns = 4321;
    snapshot->full_policy = "keep-newest";
    snapshot->devices = DEVICES;
    snapshot->n_devices = 1;
    snapshot->streams = STREAMS;
    snapshot->n_streams = 2;
    if (snapshot->n_strings >= 2) {
        snapshot->kernels = KERNELS;
        snapshot->n_kernels = 2;
    }
    snapshot->settings = SETTINGS;
    snapshot->n_settings = 3;
    const tide_event *events = m->events.items;
    bool oom = m->events.n > 0 && events[m->events.n - 1].action == TIDE_ACTION_OOM;
    tide_snapshot_run *run = &snapshot->run;
    run->command = "tidemark profile --size made-up \"<quoted>\"";
    run->started_unix_us = 1700000000000000;
    run->model = (tide_snapshot_model){
        "custom", SYNTHETIC_MODEL_WIDTH, 2048, (int64_t)m->config.n_layers, 12, 10000, 12345678};
    run->precision = m->config.precision;
    run->mode = "train";
    run->attention = "flash";
    run->recompute = "none";
    run->batch_size = 4;
    run->context_length = 128;
    run->seed = 0;
    run->outcome = oom ? "oom" : "completed";
    run->host_name = "host.example";
    run->host_os = "Linux";
    run->host_computed_by = "kernels";
    run->host_n_cpus = 2;
    snapshot->timing.warmup_steps = 1;
    snapshot->timing.measured_steps = 3;
    snapshot->timing.phases = PHASES;
    snapshot->timing.n_phases = 4;
    snapshot->timing.flops = 1.5e12;
}

tide_snapshot *synthetic_document(synthetic_maker *m) {
    tide_snapshot *snapshot = NULL;
    if (tide_snapshot_create(m->mem, &snapshot) != TIDE_OK) {
        return NULL;
    }
    keep_strings(snapshot, &m->strings);
    snapshot->frames = keep(snapshot, &m->frames, sizeof(tide_frame_row));
    snapshot->n_frames = m->frames.n;
    snapshot->stacks = keep(snapshot, &m->stacks, sizeof(tide_stack_row));
    snapshot->n_stacks = m->stacks.n;
    snapshot->scopes = keep(snapshot, &m->scopes, sizeof(tide_scope_row));
    snapshot->n_scopes = m->scopes.n;
    event_rows_set(snapshot, m->events.items, m->events.n);
    keep_end(snapshot, m);
    describe(snapshot, m);
    return snapshot;
}
