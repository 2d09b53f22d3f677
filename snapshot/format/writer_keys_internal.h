/* writer_keys_internal.h - writes the objects of keys.def and summary.def. A key without a function
 * in the writer, and a function without a key in them, do not build.
 */
#ifndef TIDE_SNAPSHOT_WRITER_KEYS_INTERNAL_H
#define TIDE_SNAPSHOT_WRITER_KEYS_INTERNAL_H

#include "snapshot/format/json_writer.h"
#include "snapshot/format/keys_internal.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

typedef struct tide_state_part tide_state_part;

/* A document that is being written. Everything is borrowed. */
typedef struct tide_writer {
    tide_json_writer *json;
    const tide_snapshot *snapshot;
    uint64_t unit_bytes;          /* addresses are divided by it */
    const tide_state_part *state; /* the current one; else NULL */
    const tide_summary *summary;  /* NULL: left out */
    /* Writes the summary. A pointer, so a program that writes none does not link its code. */
    void (*write_summary)(const struct tide_writer *writer, const char *key);
} tide_writer;

typedef struct tide_writable_key {
    tide_key of;
    /* For a part, else NULL: writes the key and its value, or nothing. */
    void (*write)(const tide_writer *writer, const char *key, const void *object);
} tide_writable_key;

typedef struct tide_writable {
    const tide_writable_key *keys;
    size_t n_keys;
} tide_writable;

/* tide_writable_run and the like; tide_write_run_model and the like. */
#define OBJECT(object, type, place) extern const tide_writable tide_writable_##object;
#define KEY(object, key, kind, member, presence, meaning)
#define PART(object, key, shape, presence, meaning) WRITTEN(object, key, shape, meaning)
#define WRITTEN(object, key, shape, meaning)                                                       \
    void tide_write_##object##_##key(const tide_writer *writer, const char *called,                \
                                     const void *from);
#define END(object)
#include "snapshot/format/keys.def"

#define OBJECT(object, type, place) extern const tide_writable tide_writable_##object;
#define KEY(object, key, kind, member, presence, meaning)
#define WRITTEN(object, key, shape, meaning)                                                       \
    void tide_write_##object##_##key(const tide_writer *writer, const char *called,                \
                                     const void *from);
#define END(object)
#include "snapshot/format/summary.def"

/* The summary under its key. */
void tide_write_summary(const tide_writer *writer, const char *key);

/* The members without braces. */
void tide_write_members(const tide_writer *writer, const tide_writable *of, const void *object);
/* The object under its key; `key` NULL: an item of a list. */
void tide_write_object(const tide_writer *writer, const char *key, const tide_writable *of,
                       const void *object);

/* Rows of a list. */
typedef struct tide_row_list {
    const void *rows; /* borrowed */
    size_t n_rows;
    size_t row_bytes;
} tide_row_list;

void tide_write_rows(const tide_writer *writer, const char *key, const tide_writable *of,
                     tide_row_list list);

#endif
