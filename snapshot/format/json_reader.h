/* json_reader.h - a strict pull parser of untrusted JSON, in memory or from a source. From a source
 * it holds only the value that is being read in memory.
 *
 * The caller asks for the values that it expects. The first failure sticks: every later call does
 * nothing and returns 0, NULL or false, and tide_json_status returns the failure. A caller
 * therefore reads a whole part and checks once. Messages name the byte offset and the key path.
 * Failures are nesting that is too deep, text that is too long, numbers out of range, duplicate
 * keys and text that is not UTF-8.
 */
#ifndef TIDE_SNAPSHOT_JSON_READER_H
#define TIDE_SNAPSHOT_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/format/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_JSON_DEPTH = 32,           /* nested objects and arrays */
    TIDE_JSON_TEXT_BYTES = 1 << 20, /* of one text, as written in the file */
    TIDE_JSON_NUMBER_BYTES = 512,   /* digits of one number */
    TIDE_JSON_MAX_FIELDS = 64,      /* known keys of one object */
    TIDE_JSON_KEY_SHOWN = 48,       /* bytes of a key that a message shows */
    TIDE_JSON_PLACE_BYTES = 256,    /* room for a key path in a message */
    TIDE_JSON_MAX_ROWS = 100000000  /* values of one column */
};

typedef enum tide_json_kind {
    TIDE_JSON_NOTHING = 0, /* after a failure, or no value here */
    TIDE_JSON_OBJECT,
    TIDE_JSON_ARRAY,
    TIDE_JSON_STRING,
    TIDE_JSON_NUMBER,
    TIDE_JSON_BOOLEAN,
    TIDE_JSON_NULL
} tide_json_kind;

/* One level of nesting. */
typedef struct tide_json_level {
    bool is_array;                 /* else an object */
    bool has_items;                /* an item of this level was read */
    size_t n_items;                /* array: items begun */
    size_t key_at;                 /* object: offset of the current key, after its quote */
    size_t key_size;               /* bytes of the key, as written in the file */
    char key[TIDE_JSON_KEY_SHOWN]; /* its first bytes, for messages */
    uint64_t seen;                 /* bit i: known key i was read */
} tide_json_level;

typedef struct tide_json {
    tide_window window; /* owned: the current part of the text */
    size_t at;          /* offset of the next byte */
    size_t keep;       /* bytes from this offset on are still needed; SIZE_MAX: only those from `at`
                          on */
    size_t text_limit; /* bytes of one text; the caller may lower it for a part of the document */
    tide_status status; /* first failure */
    tide_error *error;  /* borrowed; may be NULL */
    size_t n_levels;    /* depth */
    tide_json_level levels[TIDE_JSON_DEPTH];
    uint64_t n_odd;                        /* values that were read as unknown */
    char first_odd[TIDE_JSON_PLACE_BYTES]; /* place of the first of them; "": none */
} tide_json;

void tide_json_init(tide_json *json, const char *text, size_t n_bytes, tide_error *error);
/* Reads a source, which must outlive the parser. The caller closes the parser. */
void tide_json_open(tide_json *json, const tide_source *source, const tide_hostmem *mem,
                    tide_error *error);
void tide_json_close(tide_json *json);
tide_status tide_json_status(const tide_json *json);

/* Fails at offset `at`; "byte 12, events.stack[3]: " is put before the message. */
void tide_json_fail(tide_json *json, tide_status status, size_t at, const char *format, ...)
    TIDE_PRINTF(4, 5);

/* The kind of the next value. */
tide_json_kind tide_json_peek(tide_json *json);

/* `enter` takes the opening bracket; then `next` returns whether another item follows, until it has
 * taken the closing bracket. */
void tide_json_enter_array(tide_json *json);
bool tide_json_next_item(tide_json *json);

/* The same for an object: returns the number of the next known key of `fields`, -1 at the end.
 * Unknown keys are skipped. A duplicate known key is a failure, and so is a missing key of
 * `required` (bits). At most TIDE_JSON_MAX_FIELDS fields. */
void tide_json_enter_object(tide_json *json);
int tide_json_next_field(tide_json *json, const char *const *fields, size_t n_fields,
                         uint64_t required);

/* For objects whose keys are data: the next key, copied into `arena`; NULL at the end. The caller
 * checks for duplicates. */
const char *tide_json_next_key(tide_json *json, tide_arena *arena);

/* An integer in [min, max]. */
int64_t tide_json_get_integer(tide_json *json, int64_t min, int64_t max);
double tide_json_get_real(tide_json *json);
/* The 64 bits of a native handle: some programs write it as a negative number, some as a number of
 * 2^63 or more. Any other value is counted as odd and read as all ones. */
uint64_t tide_json_get_handle(tide_json *json);
bool tide_json_get_boolean(tide_json *json);
/* Copied into `arena`, never NULL ("" after a failure). */
const char *tide_json_get_text(tide_json *json, tide_arena *arena);
/* The same for a text of less than n_room bytes, into `buffer`, which is returned. For a choice of
 * short texts: a longer one is none of them and is read as "". */
const char *tide_json_get_short_text(tide_json *json, char *buffer, size_t n_room);

/* How to read an odd ornament (docs/reference/snapshot-format.md, "Odd values"). */
typedef struct tide_json_odd {
    int64_t unknown;    /* read as this */
    bool range_is_fine; /* an integer out of range is not counted as odd */
} tide_json_odd;

/* Ornaments: an odd one does not make a file unreadable. Reads an integer in [min, max]; any other
 * value is skipped, counted and read as unknown. */
int64_t tide_json_get_odd_integer(tide_json *json, int64_t min, int64_t max, tide_json_odd odd);
/* Any value but a text is skipped, counted and read as "". */
const char *tide_json_get_odd_text(tide_json *json, tide_arena *arena);
/* Any value but a boolean is skipped, counted and read as false. */
bool tide_json_get_odd_boolean(tide_json *json);
/* null is skipped, counted and read as -1. */
double tide_json_get_odd_real(tide_json *json);
/* Enters an object; anything else is skipped and counted: false. */
bool tide_json_enter_odd_object(tide_json *json);
/* Counts the current value as odd; the caller takes it. */
void tide_json_count_odd(tide_json *json);

/* Takes any value. */
void tide_json_skip(tide_json *json);
/* Fails if anything but white space follows. */
void tide_json_expect_end(tide_json *json);

/* Takes the next items of the current array, integers in [min, max], at most n_room. Fewer: the
 * array's end has been taken, or the parser has failed. `odd` NULL: odd values are failures. An
 * array of more than TIDE_JSON_MAX_ROWS fails. */
size_t tide_json_get_integers(tide_json *json, int64_t min, int64_t max, const tide_json_odd *odd,
                              int64_t *values, size_t n_room);

/* Integers in one growing array that is reused for each column. */
typedef struct tide_json_column {
    const tide_hostmem *mem; /* borrowed */
    int64_t *values;         /* owned */
    size_t n_values;
    size_t capacity; /* of values */
} tide_json_column;

/* A whole array of such integers. */
void tide_json_get_column(tide_json *json, int64_t min, int64_t max, const tide_json_odd *odd,
                          tide_json_column *column);

/* The offset of the value at a key path ("start.segments[0].blocks[3].name"), as
 * tide_snapshot_validate writes it; 0 if it does not exist. `json` must be at the beginning of the
 * document. */
size_t tide_json_find(tide_json *json, const char *path);

#ifdef __cplusplus
}
#endif

#endif
