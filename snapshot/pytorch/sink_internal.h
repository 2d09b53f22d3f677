/* sink_internal.h - writes the tree of an export as a pickle or as JSON, with the same functions.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_SINK_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_SINK_INTERNAL_H

#include "snapshot/format/json_writer.h"
#include "snapshot/pytorch/pickle_writer.h"

/* One of the two; errors stick in the writers. */
typedef struct tide_pytorch_sink {
    tide_pickle_writer *pickle; /* borrowed; NULL: JSON */
    tide_json_writer *json;     /* borrowed; NULL: a pickle */
} tide_pytorch_sink;

void tide_sink_begin_dict(tide_pytorch_sink *to);
void tide_sink_end_dict(tide_pytorch_sink *to);
void tide_sink_begin_list(tide_pytorch_sink *to);
void tide_sink_end_list(tide_pytorch_sink *to);
void tide_sink_key(tide_pytorch_sink *to, const char *key);
void tide_sink_text(tide_pytorch_sink *to, const char *text);
void tide_sink_integer(tide_pytorch_sink *to, int64_t value);
void tide_sink_real(tide_pytorch_sink *to, double value);
void tide_sink_boolean(tide_pytorch_sink *to, bool value);
void tide_sink_pair(tide_pytorch_sink *to, int64_t first, int64_t second);

/* A key with its value. */
void tide_sink_key_text(tide_pytorch_sink *to, const char *key, const char *text);
void tide_sink_key_integer(tide_pytorch_sink *to, const char *key, int64_t value);

/* Refers to a container that was written before: *memo is its number + 1. False: it must be
 * written, as always in JSON. */
bool tide_sink_refer(tide_pytorch_sink *to, const uint32_t *memo);
/* Stores the number of the container that has just begun in *memo. */
void tide_sink_remember(tide_pytorch_sink *to, uint32_t *memo);

#endif
