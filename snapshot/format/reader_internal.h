/* reader_internal.h - state and functions that the files of the reader share.
 */
#ifndef TIDE_SNAPSHOT_READER_INTERNAL_H
#define TIDE_SNAPSHOT_READER_INTERNAL_H

#include <stdbool.h>

#include "snapshot/format/json_reader.h"
#include "snapshot/document/snapshot.h"

enum {
    TIDE_MAX_NAMES = 255,
    TIDE_NO_NUMBER = 255,
    TIDE_SHORT_TEXT_BYTES = 4096 /* of one text in tables that may have many */
};

/* Maps the numbers of a file to ours, by name. */
typedef struct tide_name_map {
    bool given;                 /* the file has the table; else numbers are unchanged */
    size_t n;                   /* names in it */
    uint8_t to[TIDE_MAX_NAMES]; /* TIDE_NO_NUMBER: tidemark does not know the name */
} tide_name_map;

typedef struct tide_growing_state tide_growing_state;

/* A document that is being read. Until the end of the file, numbers are the file's and addresses
 * count in units. */
typedef struct tide_reader {
    tide_json json;
    const char *path;          /* borrowed: of the file */
    const tide_hostmem *mem;   /* borrowed */
    tide_snapshot *snapshot;   /* borrowed; filled */
    tide_json_column column;   /* the current column */
    tide_growing_state *state; /* the current state, at the start or the end; else NULL */
    size_t n_paired;           /* samples in the second of two lists of equal length */
    int64_t unit_bytes;        /* of addresses */
    tide_name_map actions, categories, scope_kinds, block_states;
    /* Rows of the snapshot that translating and scaling change; in its arena. */
    tide_scope_row *scopes;
    tide_segment_row *start_segments, *end_segments;
    tide_block_row *start_blocks, *end_blocks;
} tide_reader;

/* Replaces the numbers in a column of events. Returns the first row whose number has no known name;
 * SIZE_MAX: all have one. */
size_t tide_reader_translate_events(const tide_name_map *map, const uint8_t *column,
                                    size_t n_events);

/* Converts the addresses of events from units to bytes. Returns the first row whose address is
 * beyond 2^63 - 1; SIZE_MAX: none. */
size_t tide_reader_scale_events(const tide_snapshot *snapshot, uint64_t unit_bytes);

/* The numbers of a private pool; anything but two integers is read as [0, 0]. */
void tide_read_pool_id(tide_json *json, uint32_t ret_id[2]);

/* Fails at a place whose key path is known; looks up its offset. */
void tide_reader_fail_at(tide_reader *reader, const char *path, const char *message);

#endif
