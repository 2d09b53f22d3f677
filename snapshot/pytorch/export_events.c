/* The events of each device, as its trace.
 *
 * The format writes a free as two events, free_requested and free_completed. Viewers that know
 * categories fail unless some event has the category "unknown", so each event that completes a free
 * and each event of a segment has it.
 */
#include <string.h>

#include "snapshot/pytorch/export_internal.h"
#include "snapshot/pytorch/internal.h"

typedef struct trace {
    tide_pytorch_export_state *out; /* borrowed */
    uint8_t device;
    int64_t active_bytes; /* whole blocks in use at the current row */
    bool said_unknown;    /* an event of any trace has that category */
} trace;

static void write_common(trace *of, const tide_event *row, const char *metadata) {
    tide_pytorch_export_state *out = of->out;
    tide_pytorch_sink *to = &out->to;
    tide_sink_key_integer(to, "stream", (int64_t)out->snapshot->streams[row->stream].handle);
    if (out->has_times) {
        tide_sink_key_integer(to, "time_us", tide_export_time_us(out, row->time_ns));
    }
    tide_sink_key_text(to, "compile_context", tide_export_compile(out, row));
    tide_sink_key_text(to, "user_metadata", metadata);
    tide_export_frames(out, row->stack);
}

static void write_category(trace *of, uint8_t category) {
    if (of->out->has_categories) {
        tide_sink_key_text(&of->out->to, "category",
                           tide_snapshot_category(of->out->snapshot, category));
        of->said_unknown = of->said_unknown || category == TIDE_UNKNOWN;
    }
}

/* An event at an address. */
static void write_event(trace *of, const tide_event *row, int action, uint8_t category) {
    tide_pytorch_sink *to = &of->out->to;
    tide_sink_begin_dict(to);
    tide_sink_key_text(to, "action", tide_action_name(action));
    tide_sink_key_integer(to, "addr", (int64_t)row->address);
    tide_sink_key_integer(to, "size", (int64_t)row->requested_bytes);
    write_common(of, row, tide_export_metadata(of->out, row));
    write_category(of, category);
    tide_sink_end_dict(to);
}

static void write_oom(trace *of, const tide_event *row) {
    tide_pytorch_sink *to = &of->out->to;
    int64_t free_bytes = row->block_bytes < (uint64_t)TIDE_PYTORCH_UNLIMITED
                             ? (int64_t)row->block_bytes
                             : TIDE_PYTORCH_UNLIMITED;
    tide_sink_begin_dict(to);
    tide_sink_key_text(to, "action", tide_action_name(TIDE_ACTION_OOM));
    tide_sink_key_integer(to, "device_free", free_bytes);
    tide_sink_key_integer(to, "size", (int64_t)row->requested_bytes);
    write_common(of, row, tide_export_metadata(of->out, row));
    write_category(of, row->category);
    tide_sink_end_dict(to);
}

/* The format has one kind of mark, "snapshot", for a dump. Other marks have their name as metadata.
 */
static void write_mark(trace *of, const tide_event *row) {
    tide_pytorch_sink *to = &of->out->to;
    const char *name = tide_snapshot_text(of->out->snapshot, row->name);
    tide_sink_begin_dict(to);
    tide_sink_key_text(to, "action", TIDE_PYTORCH_DUMP);
    tide_sink_key_integer(to, "addr", 0);
    tide_sink_key_integer(to, "size", of->active_bytes);
    write_common(of, row, strcmp(name, TIDE_PYTORCH_DUMP) == 0 ? "" : name);
    write_category(of, TIDE_UNKNOWN);
    tide_sink_end_dict(to);
}

static void write_row(trace *of, const tide_event *row) {
    switch (row->action) {
    case TIDE_ACTION_ALLOC:
        of->active_bytes += (int64_t)row->block_bytes;
        write_event(of, row, row->action, row->category);
        break;
    case TIDE_ACTION_FREE:
        of->active_bytes -= (int64_t)row->block_bytes;
        write_event(of, row, TIDE_ACTION_FREE_REQUESTED, row->category);
        write_event(of, row, TIDE_ACTION_FREE_COMPLETED, TIDE_UNKNOWN);
        break;
    case TIDE_ACTION_FREE_REQUESTED:
        write_event(of, row, row->action, row->category);
        break;
    case TIDE_ACTION_FREE_COMPLETED:
        of->active_bytes -= (int64_t)row->block_bytes;
        write_event(of, row, row->action, TIDE_UNKNOWN);
        break;
    case TIDE_ACTION_OOM:
        write_oom(of, row);
        break;
    case TIDE_ACTION_MARK:
        write_mark(of, row);
        break;
    default:
        write_event(of, row, row->action, TIDE_UNKNOWN);
    }
}

static int64_t start_bytes(const tide_snapshot *snapshot, uint8_t device) {
    int64_t sum = 0;
    for (size_t s = 0; s < snapshot->n_start_segments; s++) {
        const tide_segment_row *segment = &snapshot->start_segments[s];
        for (size_t i = 0; segment->device == device && i < segment->n_blocks; i++) {
            const tide_block_row *block = &snapshot->start_blocks[segment->first_block + i];
            sum += block->state != TIDE_BLOCK_FREE ? (int64_t)block->block_bytes : 0;
        }
    }
    return sum;
}

void tide_export_traces(tide_pytorch_export_state *out) {
    const tide_snapshot *snapshot = out->snapshot;
    size_t *n_rows = tide_arena_alloc(&out->scratch, snapshot->n_devices + 1, sizeof(*n_rows));
    if (n_rows == NULL) {
        out->status = TIDE_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n_rows[snapshot->events.device[i]]++;
    }
    bool said_unknown = false;
    tide_sink_key(&out->to, "device_traces");
    tide_sink_begin_list(&out->to);
    for (size_t d = 0; d < out->n_devices; d++) {
        trace of = {.out = out,
                    .device = (uint8_t)d,
                    .active_bytes = start_bytes(snapshot, (uint8_t)d),
                    .said_unknown = said_unknown};
        tide_sink_begin_list(&out->to);
        for (size_t i = 0; n_rows[d] > 0 && i < snapshot->n_events; i++) {
            if (snapshot->events.device[i] == d) {
                const tide_event row = tide_event_at(snapshot, i);
                write_row(&of, &row);
            }
        }
        if (out->has_categories && !of.said_unknown && d + 1 == out->n_devices) {
            const tide_event last = tide_event_at(snapshot, snapshot->n_events - 1);
            write_mark(&of, &last);
        }
        said_unknown = of.said_unknown;
        tide_sink_end_list(&out->to);
    }
    tide_sink_end_list(&out->to);
}
