#include "snapshot/pytorch/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/export/export_friend.h"
#include "snapshot/pytorch/export_internal.h"

/* Viewers are written in JavaScript, which represents integers exactly only up to here. */
#define MAX_EXACT ((INT64_C(1) << 53) - 1)
#define SMALL_BLOCK_BYTES (UINT64_C(1) << 20)   /* the largest block of the small pool */
#define SMALL_SEGMENT_BYTES (UINT64_C(2) << 20) /* of each segment of the small pool */

int64_t tide_export_time_us(const tide_pytorch_export_state *out, int64_t time_ns) {
    return out->started_us + time_ns / 1000;
}

/* Every block has frames and requested_size, even a free one: without them viewers lay out blocks
 * wrongly. */
static void write_block(tide_pytorch_export_state *out, const tide_segment_row *segment,
                        const tide_block_row *block) {
    static const char *const STATES[TIDE_N_BLOCK_STATES] = {"inactive", "active_allocated",
                                                            "active_pending_free"};
    tide_pytorch_sink *to = &out->to;
    tide_sink_begin_dict(to);
    tide_sink_key_integer(to, "address", (int64_t)(segment->address + block->offset_bytes));
    tide_sink_key_integer(to, "size", (int64_t)block->block_bytes);
    tide_sink_key_integer(to, "requested_size", (int64_t)block->requested_bytes);
    tide_sink_key_text(to, "state", STATES[block->state]);
    tide_export_frames(out, block->stack);
    tide_sink_end_dict(to);
}

/* Sums over the blocks of a segment. */
typedef struct segment_sums {
    uint64_t allocated_bytes, active_bytes, requested_bytes;
    bool is_small; /* by its size and blocks */
} segment_sums;

static segment_sums sums_of(const tide_snapshot *snapshot, const tide_segment_row *segment) {
    segment_sums sums = {.is_small = segment->total_bytes <= SMALL_SEGMENT_BYTES};
    for (size_t i = 0; i < segment->n_blocks; i++) {
        const tide_block_row *block = &snapshot->end_blocks[segment->first_block + i];
        if (block->state == TIDE_BLOCK_FREE) {
            continue;
        }
        sums.active_bytes += block->block_bytes;
        sums.requested_bytes += block->requested_bytes;
        sums.allocated_bytes += block->state == TIDE_BLOCK_ALLOCATED ? block->block_bytes : 0;
        /* A pool that does not split gives a whole segment to a small request. */
        uint64_t asked = block->requested_bytes > 0 ? block->requested_bytes : block->block_bytes;
        sums.is_small = sums.is_small && asked <= SMALL_BLOCK_BYTES;
    }
    if (segment->pool != TIDE_SEGMENT_UNKNOWN) {
        sums.is_small = segment->pool == TIDE_SEGMENT_SMALL;
    }
    return sums;
}

static void write_segment(tide_pytorch_export_state *out, const tide_segment_row *segment) {
    const tide_snapshot *snapshot = out->snapshot;
    tide_pytorch_sink *to = &out->to;
    segment_sums sums = sums_of(snapshot, segment);
    tide_sink_begin_dict(to);
    tide_sink_key_integer(to, "device", segment->device);
    tide_sink_key_integer(to, "address", (int64_t)segment->address);
    tide_sink_key_integer(to, "total_size", (int64_t)segment->total_bytes);
    tide_sink_key_integer(to, "allocated_size", (int64_t)sums.allocated_bytes);
    tide_sink_key_integer(to, "active_size", (int64_t)sums.active_bytes);
    tide_sink_key_integer(to, "requested_size", (int64_t)sums.requested_bytes);
    tide_sink_key_integer(to, "stream", (int64_t)snapshot->streams[segment->stream].handle);
    tide_sink_key_text(to, "segment_type", sums.is_small ? "small" : "large");
    tide_sink_key(to, "segment_pool_id");
    tide_sink_pair(to, segment->pool_id[0], segment->pool_id[1]);
    tide_sink_key(to, "is_expandable");
    tide_sink_boolean(to, segment->is_expandable);
    tide_export_frames(out, segment->stack_after != 0 ? segment->stack_after - 1 : TIDE_NONE);
    tide_sink_key(to, "blocks");
    tide_sink_begin_list(to);
    for (size_t i = 0; i < segment->n_blocks; i++) {
        write_block(out, segment, &snapshot->end_blocks[segment->first_block + i]);
    }
    tide_sink_end_list(to);
    tide_sink_end_dict(to);
}

static int by_place(const void *a, const void *b) {
    const tide_segment_row *left = *(const tide_segment_row *const *)a;
    const tide_segment_row *right = *(const tide_segment_row *const *)b;
    if (left->device != right->device) {
        return left->device < right->device ? -1 : 1;
    }
    return (left->address > right->address) - (left->address < right->address);
}

static void write_segments(tide_pytorch_export_state *out) {
    const tide_snapshot *snapshot = out->snapshot;
    size_t n = snapshot->n_end_segments;
    const tide_segment_row **order = tide_arena_alloc(&out->scratch, n, sizeof(const void *));
    if (order == NULL) {
        out->status = TIDE_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &snapshot->end_segments[i];
    }
    if (n > 0) {
        qsort(order, n, sizeof(const void *), by_place);
    }
    tide_sink_key(&out->to, "segments");
    tide_sink_begin_list(&out->to);
    for (size_t i = 0; i < n; i++) {
        if (order[i]->device < out->n_devices) {
            write_segment(out, order[i]);
        }
    }
    tide_sink_end_list(&out->to);
}

static void write_document(tide_pytorch_export_state *out) {
    tide_sink_begin_dict(&out->to);
    write_segments(out);
    if (out->status == TIDE_OK) {
        tide_export_traces(out);
    }
    tide_export_settings(out);
    tide_export_annotations(out);
    tide_sink_end_dict(&out->to);
}

/* ---- limits of the format ---- */

static tide_status check_exact(const char *what, size_t row, uint64_t value, tide_error *error) {
    if (value <= (uint64_t)MAX_EXACT) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_LIMIT,
                     "%s %zu: %" PRIu64 " is 2^53 or more, which viewers in JavaScript cannot hold",
                     what, row, value);
}

static tide_status check(const tide_snapshot *snapshot, tide_error *error) {
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        const tide_segment_row *row = &snapshot->end_segments[i];
        TIDE_TRY(check_exact("end of segment", i, row->address + row->total_bytes, error));
    }
    for (size_t i = 0; i < snapshot->n_streams; i++) {
        TIDE_TRY(check_exact("handle of stream", i, snapshot->streams[i].handle, error));
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        TIDE_TRY(check_exact("bytes of event", i, row.requested_bytes, error));
        if (tide_action_has_address(row.action)) {
            TIDE_TRY(check_exact("address of event", i, row.address, error));
        }
    }
    return TIDE_OK;
}

/* ---- the whole ---- */

static tide_status prepare(tide_pytorch_export_state *out) {
    const tide_snapshot *snapshot = out->snapshot;
    out->is_foreign = strcmp(snapshot->origin.format, "pytorch") == 0;
    out->n_devices = snapshot->n_devices;
    if (out->n_devices > 0 && tide_snapshot_is_pinned(snapshot, out->n_devices - 1)) {
        out->n_devices--;
    }
    out->has_times = strcmp(snapshot->clock_source, "none") != 0;
    out->started_us = snapshot->run.started_unix_us > 0 ? snapshot->run.started_unix_us : 0;
    for (size_t i = 0; i < snapshot->n_events && !out->has_categories; i++) {
        out->has_categories = snapshot->events.category[i] != TIDE_UNKNOWN;
    }
    out->memo_of_stack =
        tide_arena_alloc(&out->scratch, snapshot->n_stacks, sizeof(*out->memo_of_stack));
    out->memo_of_frame =
        tide_arena_alloc(&out->scratch, snapshot->n_frames, sizeof(*out->memo_of_frame));
    out->json_of_frame =
        tide_arena_alloc(&out->scratch, snapshot->n_frames, sizeof(*out->json_of_frame));
    out->texts = tide_arena_alloc(&out->scratch, snapshot->n_scopes, sizeof(*out->texts));
    return out->memo_of_stack != NULL && out->memo_of_frame != NULL && out->json_of_frame != NULL &&
                   out->texts != NULL
               ? TIDE_OK
               : TIDE_NO_MEMORY;
}

static tide_status write_pickle(tide_pytorch_export_state *out, const tide_export_sink *sink) {
    const tide_hostmem *mem = out->scratch.mem;
    tide_pickle_writer *pickle = mem->alloc(mem->ctx, sizeof(*pickle));
    if (pickle == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_pickle_writer_init(pickle, mem, sink->write, sink->ctx);
    out->to.pickle = pickle;
    write_document(out);
    tide_status status = tide_pickle_writer_finish(pickle);
    mem->release(mem->ctx, pickle);
    return status;
}

static tide_status write_json(tide_pytorch_export_state *out, const tide_export_sink *sink) {
    const tide_hostmem *mem = out->scratch.mem;
    tide_json_writer *json = mem->alloc(mem->ctx, 2 * sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_writer_init(json, sink->write, sink->ctx);
    out->to.json = json;
    out->frame_writer = json + 1;
    write_document(out);
    tide_status status = tide_json_writer_finish(json);
    mem->release(mem->ctx, json);
    return status;
}

tide_status tide_pytorch_export(const tide_snapshot *snapshot, tide_pytorch_form form,
                                const tide_export_sink *sink, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    TIDE_TRY(check(snapshot, error));
    tide_pytorch_export_state out = {.snapshot = snapshot};
    tide_arena_init(&out.scratch, mem);
    tide_status status = prepare(&out);
    if (status == TIDE_OK) {
        status = form == TIDE_PYTORCH_PICKLE ? write_pickle(&out, sink) : write_json(&out, sink);
        status = out.status != TIDE_OK ? out.status : status;
    }
    tide_arena_fini(&out.scratch);
    mem->release(mem->ctx, out.buffer);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "no host memory to export the snapshot")
               : status;
}

static tide_status export_pickle(const tide_snapshot *snapshot, const tide_export_options *options,
                                 const tide_export_sink *sink, tide_error *error) {
    (void)options; /* the whole recording */
    return tide_pytorch_export(snapshot, TIDE_PYTORCH_PICKLE, sink, error);
}

static tide_status export_json(const tide_snapshot *snapshot, const tide_export_options *options,
                               const tide_export_sink *sink, tide_error *error) {
    (void)options; /* the whole recording */
    return tide_pytorch_export(snapshot, TIDE_PYTORCH_JSON, sink, error);
}

const tide_exporter tide_exporter_pytorch = {
    .name = "pytorch",
    .what = "a pickle for PyTorch's memory_viz and its tools",
    .is_binary = true,
    .write = export_pickle,
};

const tide_exporter tide_exporter_pytorch_json = {
    .name = "pytorch-json",
    .what = "the same as JSON, for the memory_viz of 2026",
    .write = export_json,
};
