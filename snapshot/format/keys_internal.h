/* keys_internal.h - the facts of keys.def about one value of an object, for the reader and the
 * writer.
 */
#ifndef TIDE_SNAPSHOT_KEYS_INTERNAL_H
#define TIDE_SNAPSHOT_KEYS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* keys.def explains both enums. */
typedef enum tide_key_kind {
    TIDE_KEY_PART,
    TIDE_KEY_TEXT,
    TIDE_KEY_SHOWN_TEXT,
    TIDE_KEY_COUNT,
    TIDE_KEY_SMALL,
    TIDE_KEY_ADDRESS,
    TIDE_KEY_NUMBER,
    TIDE_KEY_SHOWN_NUMBER,
    TIDE_KEY_SHOWN_INTEGER,
    TIDE_KEY_SHOWN_BOOLEAN,
    TIDE_KEY_SHOWN_REAL,
    TIDE_KEY_HANDLE
} tide_key_kind;

typedef enum tide_key_presence {
    TIDE_KEY_OPTIONAL,
    TIDE_KEY_REQUIRED,
    TIDE_KEY_IF_KNOWN,
    TIDE_KEY_DERIVED
} tide_key_presence;

typedef struct tide_key {
    const char *name;
    uint16_t offset;  /* of the member in its type; unused for a part */
    uint8_t width;    /* bytes of the member */
    uint8_t kind;     /* tide_key_kind */
    uint8_t presence; /* tide_key_presence */
} tide_key;

/* A row of the key "oom". */
typedef struct tide_oom_part {
    int64_t event;           /* row of the events */
    int64_t requested_bytes; /* of the failed allocation */
    int64_t free_bytes;      /* on the device at that time; -1: unlimited */
} tide_oom_part;

/* The initialisers of a KEY and of a PART. OBJECT must have defined its type as type_of_OBJECT. */
#define TIDE_KEY_VALUE(object, key, its_kind, member, its_presence)                                \
    {                                                                                              \
        .name = #key, .offset = offsetof(type_of_##object, member),                                \
        .width = sizeof(((type_of_##object *)0)->member), .kind = TIDE_KEY_##its_kind,             \
        .presence = TIDE_KEY_##its_presence                                                        \
    }
#define TIDE_KEY_PART_OF(key, its_presence)                                                        \
    { .name = #key, .kind = TIDE_KEY_PART, .presence = TIDE_KEY_##its_presence }

#endif
