/* engine_internal.h - the insides of an engine, for the files that fill its answers.
 */
#ifndef TIDE_SNAPSHOT_WASM_ENGINE_INTERNAL_H
#define TIDE_SNAPSHOT_WASM_ENGINE_INTERNAL_H

#include "snapshot/analysis/lifetimes.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/format/json_writer.h"
#include "snapshot/wasm/engine.h"

enum { TIDE_ENGINE_MAX_COLUMNS = 40 };

typedef struct tide_replaced {
    int32_t block; /* that was alive when another was allocated on top of it */
    int32_t event; /* that did so */
} tide_replaced;

/* The blocks in the order of their birth, those of the start first; then what the other events are
 * about, in their order. */
typedef struct tide_subjects {
    size_t n_start;  /* blocks of the start */
    size_t n_blocks; /* all blocks */
    size_t n;
    uint32_t *rows;     /* owned: the event that each comes from; of the first n_start, the block */
    uint32_t *segments; /* owned: n_start; the segments of these blocks */
    int32_t *act;       /* owned, by event: the block that it allocates; ~block that it frees; else
                           -2^30 - subject */
    tide_replaced *replaced; /* owned */
    size_t n_replaced;
    size_t replaced_room;
    uint32_t *n_unmatched; /* owned: by device, events that contradict the state before them */
} tide_subjects;

/* Fills a zeroed `ret`. */
TIDE_NODISCARD tide_status tide_subjects_make(const tide_snapshot *snapshot, tide_subjects *ret,
                                              tide_error *error);
void tide_subjects_fini(tide_subjects *subjects);

/* Makes the lifetimes, or what layouts need, unless it is there already. */
TIDE_NODISCARD tide_status tide_engine_prepare_lifetimes(tide_engine *engine);
TIDE_NODISCARD tide_status tide_engine_prepare_layouts(tide_engine *engine);

/* Adds the key "rules": for each device what the rules of the categories explain at its peak. An
 * empty list for a file that PyTorch did not record. If there are rules, it releases the lifetimes.
 */
void tide_engine_write_rules(tide_json_writer *json, tide_engine *engine);

/* The value of a subject that is a block of the start. */
typedef int64_t tide_engine_start_value(const tide_snapshot *snapshot, size_t row, size_t segment);

/* A column: where its numbers are in the document, and what the page gets. */
typedef struct tide_engine_plan {
    const char *key;
    const void *values; /* borrowed */
    size_t n_rows;
    size_t stride; /* bytes from one number to the next */
    size_t width;  /* bytes of each */
    tide_engine_type type;
    tide_engine_start_value *of_start; /* the rows are those of the subjects; NULL: they are not */
} tide_engine_plan;

struct tide_engine {
    char name[TIDE_ENGINE_NAME_BYTES]; /* of the file, for messages */
    tide_error error;                  /* of the last call that failed */
    tide_snapshot *snapshot;           /* owned; NULL until a file was read */
    tide_subjects subjects;
    tide_lifetimes lifetimes; /* owned; valid if has_lifetimes */
    bool has_lifetimes;       /* an answer or a layout was asked for */
    uint32_t *block_numbers;  /* owned; of each block among those of its device; NULL: no layout was
                                 asked for yet */
    tide_frame_kinds frames;  /* of the snapshot */
    tide_engine_plan plans[TIDE_ENGINE_MAX_COLUMNS];
    size_t n_columns;
    tide_engine_column column;      /* the last one asked for */
    double rows[TIDE_ENGINE_BATCH]; /* some of its rows */
    char *text;                     /* owned: the last answer, without a terminating zero */
    size_t n_text;                  /* its bytes */
    size_t text_room;               /* bytes of `text` */
};

/* Drops the last answer. */
void tide_engine_begin_text(tide_engine *engine);

/* Appends to the answer: fits the sink of tide_json_writer_init. */
TIDE_NODISCARD tide_status tide_engine_add_text(void *engine, const char *bytes, size_t n_bytes);

/* Makes the answer: the JSON that `write` writes. */
TIDE_NODISCARD tide_status tide_engine_write(tide_engine *engine,
                                             void (*write)(tide_json_writer *json, void *ctx),
                                             void *ctx);

/* Ends a call: true for TIDE_OK; adds the message that TIDE_NO_MEMORY lacks. */
bool tide_engine_end(tide_engine *engine, tide_status status);

#endif
