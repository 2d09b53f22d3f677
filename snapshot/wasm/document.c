/* document.c - the small parts of a document as the JSON of its format, by the program's writer. */
#include "snapshot/format/writer_friend.h"
#include "snapshot/wasm/engine_internal.h"

static void write_odd(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_json_key(json, "odd");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "count", (int64_t)snapshot->n_odd);
    tide_json_key_text(json, "first", snapshot->first_odd);
    tide_json_end_object(json);
}

/* The columns of engine.h are left out; so is the end, which the page computes. */
static void write_document(tide_json_writer *json, void *ctx) {
    tide_engine *engine = ctx;
    const tide_snapshot *snapshot = engine->snapshot;
    tide_snapshot small = *snapshot;
    small.n_events = small.n_frames = small.n_stacks = small.n_scopes = 0;
    small.n_end_segments = small.n_end_blocks = 0;
    small.event_certainty = NULL;
    small.event_pool = NULL;
    small.event_mode = NULL;
    small.event_variant = NULL;
    tide_json_begin_object(json);
    tide_write_without_summary(json, &small);
    write_odd(json, snapshot);
    tide_json_key_integer(json, "n_blocks", (int64_t)engine->subjects.n_blocks);
    tide_json_end_object(json);
}

bool tide_engine_document(tide_engine *engine) {
    return tide_engine_end(engine, tide_engine_write(engine, write_document, engine));
}
