/* json_writer.h - JSON text, written fast into a buffer that goes to a sink when full.
 *
 * The writer sets commas; the caller keeps objects and arrays balanced and writes a key before each
 * member. Errors stick: after the first one nothing more is written, and tide_json_writer_finish
 * returns it. Texts come out as UTF-8 (invalid bytes become U+FFFD), with control characters and
 * '<' escaped.
 */
#ifndef TIDE_SNAPSHOT_JSON_WRITER_H
#define TIDE_SNAPSHOT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_JSON_BUFFER_BYTES = 65536 };

typedef struct tide_json_writer {
    tide_status (*sink)(void *ctx, const char *text, size_t n_bytes); /* gets full buffers */
    void *ctx;                                                        /* first argument of sink */
    tide_status status;                                               /* first failure of sink */
    bool need_comma; /* the next value of this level is not the first */
    bool need_line;  /* a line break comes before the next token */
    size_t n_used;   /* bytes in the buffer */
    char buffer[TIDE_JSON_BUFFER_BYTES];
} tide_json_writer;

void tide_json_writer_init(tide_json_writer *json,
                           tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                           void *ctx);
/* Flushes the buffer; returns the first failure. */
TIDE_NODISCARD tide_status tide_json_writer_finish(tide_json_writer *json);

void tide_json_begin_object(tide_json_writer *json);
void tide_json_end_object(tide_json_writer *json);
void tide_json_begin_array(tide_json_writer *json);
void tide_json_end_array(tide_json_writer *json);
/* Puts a line break before the next token, for human readers. */
void tide_json_line(tide_json_writer *json);
void tide_json_key(tide_json_writer *json, const char *key);
void tide_json_integer(tide_json_writer *json, int64_t value);
/* Written to read back as the same number; NaN and infinities become -1. */
void tide_json_real(tide_json_writer *json, double value);
/* NULL is written as "". */
void tide_json_text(tide_json_writer *json, const char *text);
void tide_json_boolean(tide_json_writer *json, bool value);
void tide_json_null(tide_json_writer *json);
/* A value that is already JSON, from another writer. */
void tide_json_raw(tide_json_writer *json, const char *text, size_t n_bytes);

/* A key with its value. */
void tide_json_key_integer(tide_json_writer *json, const char *key, int64_t value);
void tide_json_key_real(tide_json_writer *json, const char *key, double value);
void tide_json_key_text(tide_json_writer *json, const char *key, const char *text);

#ifdef __cplusplus
}
#endif

#endif
