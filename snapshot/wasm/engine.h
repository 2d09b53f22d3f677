/* engine.h - what the page calls of the C code that is compiled to WebAssembly.
 *
 * An engine holds one document, which it reads from the bytes that the page gives. Pointers and
 * sizes are numbers of the page: offsets in the memory of the instance. The page reads texts and
 * columns there; they are valid until the next call that is given the same engine.
 *
 * The functions of the page, of the module `page`:
 *   read(to, n_room)   writes the next bytes of the file, at most n_room, and returns how many;
 *                      0: the end; -1: reading failed
 *   rewind()           the next read gives the first byte again
 * The bytes are plain: the page decompresses a file first. Functions of the system, which libraries
 * mention and the engine does not need, are answered by "no such file".
 *
 * A call that allocates may make the memory grow, which ends all views of it. A trap (a failed
 * assertion, a full stack) leaves the memory in no known state: the page drops the instance.
 */
#ifndef TIDE_SNAPSHOT_WASM_ENGINE_H
#define TIDE_SNAPSHOT_WASM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name is that of the export. Other compilers check these files and link nothing. */
#ifdef __wasm__
#define TIDE_EXPORT(name) __attribute__((export_name(#name)))
#define TIDE_IMPORT(name) __attribute__((import_module("page"), import_name(#name)))
#else
#define TIDE_EXPORT(name)
#define TIDE_IMPORT(name)
#endif

enum { TIDE_ENGINE_NAME_BYTES = 4096 };

typedef struct tide_engine tide_engine;

/* The types of columns, as the page numbers them. */
typedef enum tide_engine_type {
    TIDE_ENGINE_I8 = 0,
    TIDE_ENGINE_U8,
    TIDE_ENGINE_I16,
    TIDE_ENGINE_I32,
    TIDE_ENGINE_U32,
    TIDE_ENGINE_F64
} tide_engine_type;

/* One column of the document. The page reads its fields at the offsets 0, 4 and 8. */
typedef struct tide_engine_column {
    const char *key; /* "events.time_ns" */
    size_t n_rows;
    uint32_t type; /* tide_engine_type */
} tide_engine_column;

enum { TIDE_ENGINE_BATCH = 16384 };

/* NULL: no memory. It ends with its instance, which the page drops. */
TIDE_EXPORT(create) tide_engine *tide_engine_create(void);

/* Where the page writes the file's name before it opens it: UTF-8 with a terminating zero, in
 * TIDE_ENGINE_NAME_BYTES. */
TIDE_EXPORT(name) char *tide_engine_name(tide_engine *engine);

/* Reads the file; once per engine. False: `error` says why, in the program's words. */
TIDE_EXPORT(open) bool tide_engine_open(tide_engine *engine);

/* In place of `open`: the engine answers `layout` alone. */
TIDE_EXPORT(open_layouts) bool tide_engine_open_layouts(tide_engine *engine);
TIDE_EXPORT(error) const char *tide_engine_error(const tide_engine *engine);

/* How many columns the events, subjects, frames, stacks and scopes have together. */
TIDE_EXPORT(columns) size_t tide_engine_columns(tide_engine *engine);

/* One of them, after `columns`. */
TIDE_EXPORT(column)
const tide_engine_column *tide_engine_column_at(tide_engine *engine, size_t i);

/* Its rows from `first`, TIDE_ENGINE_BATCH of them or what is left. */
TIDE_EXPORT(rows) const void *tide_engine_rows(tide_engine *engine, size_t column, size_t first);

/* Once: the document without these columns, as the JSON of docs/reference/snapshot-format.md with
 * addresses in bytes and further keys: "odd": {count, first}; "n_blocks". Like every answer it is
 * a `text`; false: `error`. */
TIDE_EXPORT(document) bool tide_engine_document(tide_engine *engine);

/* Once, after the document and all columns, whose memory it uses again: for each device,
 * "sentences": [key, text] of each sentence that `tidemark explain` prints about the recording, in
 * its order and without those of a replay; and of a snapshot by PyTorch "rules": what each rule of
 * the categories explains at the peak. */
TIDE_EXPORT(answer) bool tide_engine_answer(tide_engine *engine);

/* How the reserved memory of a device is divided in a state, which is the number of events before
 * it:
 * {"segments": [{address, bytes, stream, is_expandable, pool, pool_id, pieces, cached_bytes,
 * releasable_bytes, largest_free_bytes}], "account": {...}}, as in snapshot/analysis/layout.h. A
 * piece is [bytes, block, is_pending]: blocks are numbered by birth among those of the device, and
 * -1 is a gap. An engine that was not opened for layouts first
 * makes the lifetimes of all blocks, which then stay in memory. */
TIDE_EXPORT(layout) bool tide_engine_layout(tide_engine *engine, size_t device, size_t state);

/* In place of `open`: reads a digest, or a list of digests (docs/reference/digest.md). The answer
 * is the JSON of a list with an object for each digest, which has what the page draws of it. */
TIDE_EXPORT(ranks) bool tide_engine_ranks(tide_engine *engine);

/* The JSON of `tidemark summary`. Only the engine of the tests has it. */
TIDE_EXPORT(summary) bool tide_engine_summary(tide_engine *engine);

/* The last answer, UTF-8. */
TIDE_EXPORT(text) const char *tide_engine_text(const tide_engine *engine);
TIDE_EXPORT(text_bytes) size_t tide_engine_text_bytes(const tide_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
