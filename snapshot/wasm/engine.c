/* engine.c - opens a document and keeps the answers. */
#include "snapshot/wasm/engine_internal.h"

#include <string.h>

#include "common/assert.h"
#include "common/hostmem.h"

tide_engine *tide_engine_create(void) {
    const tide_hostmem *mem = tide_hostmem_default();
    return tide_hostmem_zeroed(mem, 1, sizeof(tide_engine));
}

char *tide_engine_name(tide_engine *engine) {
    return engine->name;
}

static tide_status prepare_document(tide_engine *engine) {
    TIDE_TRY(tide_subjects_make(engine->snapshot, &engine->subjects, &engine->error));
    return tide_frame_kinds_init(&engine->frames, engine->snapshot, tide_hostmem_default());
}

static tide_status load(tide_engine *engine) {
    engine->name[sizeof(engine->name) - 1] = '\0';
    TIDE_ASSERT(engine->snapshot == NULL);
    return tide_snapshot_load(engine->name, NULL, &engine->snapshot, &engine->error);
}

bool tide_engine_open(tide_engine *engine) {
    tide_status status = load(engine);
    return tide_engine_end(engine, status == TIDE_OK ? prepare_document(engine) : status);
}

bool tide_engine_open_layouts(tide_engine *engine) {
    tide_status status = load(engine);
    return tide_engine_end(engine,
                           status == TIDE_OK ? tide_engine_prepare_layouts(engine) : status);
}

const char *tide_engine_error(const tide_engine *engine) {
    return engine->error.message;
}

bool tide_engine_end(tide_engine *engine, tide_status status) {
    if (status == TIDE_NO_MEMORY && engine->error.message[0] == '\0') {
        tide_fail(&engine->error, status, "no host memory left for '%s'", engine->name);
    }
    return status == TIDE_OK;
}

void tide_engine_begin_text(tide_engine *engine) {
    TIDE_ASSERT(engine->snapshot != NULL);
    engine->n_text = 0;
}

tide_status tide_engine_add_text(void *ctx, const char *bytes, size_t n_bytes) {
    tide_engine *engine = ctx;
    char *text = tide_hostmem_grow(tide_hostmem_default(), engine->text, &engine->text_room,
                                   engine->n_text + n_bytes, 1);
    if (text == NULL) {
        return TIDE_NO_MEMORY;
    }
    engine->text = text;
    memcpy(text + engine->n_text, bytes, n_bytes);
    engine->n_text += n_bytes;
    return TIDE_OK;
}

tide_status tide_engine_write(tide_engine *engine, void (*write)(tide_json_writer *json, void *ctx),
                              void *ctx) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_engine_begin_text(engine);
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_writer_init(json, tide_engine_add_text, engine);
    write(json, ctx);
    tide_status status = tide_json_writer_finish(json);
    mem->release(mem->ctx, json);
    return status;
}

const char *tide_engine_text(const tide_engine *engine) {
    return engine->text;
}

size_t tide_engine_text_bytes(const tide_engine *engine) {
    return engine->n_text;
}
