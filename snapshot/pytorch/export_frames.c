/* Lists of frames. A pickle has each list and each frame once, and refers to them. JSON repeats
 * both in every event and consists mostly of frames, so each frame is turned into JSON once and
 * then copied.
 */
#include <string.h>

#include "snapshot/pytorch/export_internal.h"

static void write_dict(tide_pytorch_export_state *out, const tide_frame_row *row, uint32_t *memo) {
    tide_pytorch_sink *to = &out->to;
    tide_sink_begin_dict(to);
    tide_sink_remember(to, memo);
    tide_sink_key_text(to, "name", tide_snapshot_text(out->snapshot, row->function));
    tide_sink_key_text(to, "filename", tide_snapshot_text(out->snapshot, row->file));
    tide_sink_key_integer(to, "line", row->line);
    tide_sink_end_dict(to);
}

/* The bytes so far, in scratch. Each piece makes a longer copy, because frames rarely exceed a
 * writer's buffer. */
typedef struct growing {
    tide_arena *arena; /* borrowed */
    tide_export_frame text;
} growing;

static tide_status grow(void *ctx, const char *bytes, size_t n_bytes) {
    growing *to = ctx;
    char *copy = tide_arena_alloc_raw(to->arena, to->text.n_bytes + n_bytes, 1);
    if (copy == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (to->text.n_bytes > 0) {
        memcpy(copy, to->text.bytes, to->text.n_bytes);
    }
    memcpy(copy + to->text.n_bytes, bytes, n_bytes);
    to->text = (tide_export_frame){copy, to->text.n_bytes + n_bytes};
    return TIDE_OK;
}

static tide_status make_json(tide_pytorch_export_state *out, uint32_t frame) {
    growing text = {.arena = &out->scratch};
    tide_json_writer *whole = out->to.json;
    tide_json_writer_init(out->frame_writer, grow, &text);
    out->to.json = out->frame_writer;
    write_dict(out, &out->snapshot->frames[frame], NULL);
    out->to.json = whole;
    TIDE_TRY(tide_json_writer_finish(out->frame_writer));
    out->json_of_frame[frame] = text.text;
    return TIDE_OK;
}

static void write_json(tide_pytorch_export_state *out, uint32_t frame) {
    const tide_export_frame *text = &out->json_of_frame[frame];
    if (text->bytes == NULL && out->status == TIDE_OK) {
        out->status = make_json(out, frame);
    }
    if (out->status == TIDE_OK) {
        tide_json_raw(out->to.json, text->bytes, text->n_bytes);
    }
}

static void write_frame(tide_pytorch_export_state *out, uint32_t frame) {
    uint32_t *memo = &out->memo_of_frame[frame];
    if (out->frame_writer != NULL) {
        write_json(out, frame);
    } else if (!tide_sink_refer(&out->to, memo)) {
        write_dict(out, &out->snapshot->frames[frame], memo);
    }
}

void tide_export_frames(tide_pytorch_export_state *out, uint32_t stack) {
    tide_pytorch_sink *to = &out->to;
    tide_sink_key(to, "frames");
    if (stack != TIDE_NONE && tide_sink_refer(to, &out->memo_of_stack[stack])) {
        return;
    }
    tide_sink_begin_list(to);
    if (stack != TIDE_NONE) {
        tide_sink_remember(to, &out->memo_of_stack[stack]);
    }
    for (uint32_t node = stack; node != TIDE_NONE; node = out->snapshot->stacks[node].parent) {
        write_frame(out, out->snapshot->stacks[node].frame);
    }
    tide_sink_end_list(to);
}
