/* pickle_writer.h - plain data as a pickle of protocol 4, written fast into a buffer that goes to a
 * sink when full.
 *
 * Items go into lists and dicts in batches of 1000, as in Python's own pickler, because readers in
 * JavaScript choke on more. A text is written once and referred to afterwards. To repeat a
 * container, the caller keeps the number that `remember` returns. Errors stick: after the first one
 * nothing more is written, and tide_pickle_writer_finish returns it.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_PICKLE_WRITER_H
#define TIDE_SNAPSHOT_PYTORCH_PICKLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PICKLE_BUFFER_BYTES = 65536,
    TIDE_PICKLE_BATCH = 1000, /* items of a list, pairs of a dict */
    TIDE_PICKLE_WRITER_LEVELS = 16
};

typedef struct tide_pickle_level {
    bool is_dict;
    size_t n_batch; /* values since the last mark; 0: no mark */
} tide_pickle_level;

typedef struct tide_pickle_writer {
    tide_status (*sink)(void *ctx, const char *data, size_t n_bytes); /* gets full buffers */
    void *ctx;                                                        /* first argument of sink */
    tide_status status;                                               /* first failure */
    tide_pickle_level levels[TIDE_PICKLE_WRITER_LEVELS];
    size_t n_levels;
    tide_strings texts;     /* those written so far */
    uint32_t *memo_of_text; /* owned: of each text */
    size_t memo_capacity;   /* of memo_of_text */
    uint32_t n_memo;
    size_t n_used; /* bytes in the buffer */
    char buffer[TIDE_PICKLE_BUFFER_BYTES];
} tide_pickle_writer;

void tide_pickle_writer_init(tide_pickle_writer *pickle, const tide_hostmem *mem,
                             tide_status (*sink)(void *ctx, const char *data, size_t n_bytes),
                             void *ctx);
/* Ends the pickle, flushes the buffer and releases the writer's memory; returns the first failure.
 */
TIDE_NODISCARD tide_status tide_pickle_writer_finish(tide_pickle_writer *pickle);

void tide_pickle_begin_dict(tide_pickle_writer *pickle);
void tide_pickle_end_dict(tide_pickle_writer *pickle);
void tide_pickle_begin_list(tide_pickle_writer *pickle);
void tide_pickle_end_list(tide_pickle_writer *pickle);
/* The number of the container that has just begun; `refer` puts it into another place. */
uint32_t tide_pickle_remember(tide_pickle_writer *pickle);
void tide_pickle_refer(tide_pickle_writer *pickle, uint32_t memo);

/* UTF-8; also the key of a dict. */
void tide_pickle_write_text(tide_pickle_writer *pickle, const char *text);
void tide_pickle_write_integer(tide_pickle_writer *pickle, int64_t value);
void tide_pickle_write_real(tide_pickle_writer *pickle, double value);
void tide_pickle_write_boolean(tide_pickle_writer *pickle, bool value);
/* A tuple of two integers. */
void tide_pickle_write_pair(tide_pickle_writer *pickle, int64_t first, int64_t second);

#ifdef __cplusplus
}
#endif

#endif
