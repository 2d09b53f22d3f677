/* engine_internal.h - the insides of an engine, for the files that fill its answers.
 */
#ifndef TIDE_SNAPSHOT_WASM_ENGINE_INTERNAL_H
#define TIDE_SNAPSHOT_WASM_ENGINE_INTERNAL_H

#include "common/arena.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/wasm/engine.h"

enum { TIDE_ENGINE_MAX_COLUMNS = 32 };

struct tide_engine {
    char name[TIDE_ENGINE_NAME_BYTES]; /* of the file, for messages */
    tide_error error;                  /* of the last call that failed */
    tide_snapshot *snapshot;           /* owned; NULL until a file was read */
    tide_arena arena;                  /* of the columns */
    tide_engine_column columns[TIDE_ENGINE_MAX_COLUMNS];
    size_t n_columns;
    char *text;       /* owned: the last answer, without a terminating zero */
    size_t n_text;    /* its bytes */
    size_t text_room; /* bytes of `text` */
};

/* Drops the last answer. */
void tide_engine_begin_text(tide_engine *engine);

/* Appends to the answer: fits the sink of tide_json_writer_init. */
TIDE_NODISCARD tide_status tide_engine_add_text(void *engine, const char *bytes, size_t n_bytes);

/* Ends a call: true for TIDE_OK; adds the message that TIDE_NO_MEMORY lacks. */
bool tide_engine_end(tide_engine *engine, tide_status status);

#endif
