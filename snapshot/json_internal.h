/* json_internal.h - what the files of the JSON reader share.
 */
#ifndef TIDE_SNAPSHOT_JSON_INTERNAL_H
#define TIDE_SNAPSHOT_JSON_INTERNAL_H

#include "snapshot/json_reader.h"

/* The text of `size` bytes at offset text_at, between its quotes, without escapes: in `arena`. ""
 * after a failure. */
const char *tide_json_copy_text(tide_json *json, size_t text_at, size_t size, tide_arena *arena);

#endif
