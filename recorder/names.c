/* names.c - numbers of names that a thread gives again and again, without a lock.
 *
 * A program names its tensors with texts that stay in one place, so each thread remembers the
 * numbers of the pointers that it was given. The text at a pointer may have changed since; it is
 * therefore compared with the recorder's copy before the number is used.
 */
#include <string.h>

#include "recorder/state_internal.h"

enum { N_KNOWN = 1024, KNOWN_SHIFT = 54 }; /* 2^(64 - KNOWN_SHIFT) */

/* A pointer that was given before. Pointers with the same hash replace each other. */
typedef struct known_name {
    const char *given; /* never dereferenced */
    const char *text;  /* the recorder's own copy of what stood there */
    uint32_t number;   /* of that text */
} known_name;

/* The names of one recorder, the one that the thread used last. */
typedef struct name_cache {
    const tide_recorder *recorder; /* never dereferenced; NULL: the cache is empty */
    int64_t created_ns;            /* of the recorder: a later one may get its address */
    known_name known[N_KNOWN];
} name_cache;

static _Thread_local name_cache names;

uint32_t tide_recorder_name(tide_recorder *recorder, const char *name) {
    if (names.recorder != recorder || names.created_ns != recorder->created_ns) {
        memset(&names, 0, sizeof(names));
        names.recorder = recorder;
        names.created_ns = recorder->created_ns;
    }
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
    known_name *known = &names.known[hash >> KNOWN_SHIFT];
    if (known->given == name && known->text != NULL && strcmp(known->text, name) == 0) {
        return known->number;
    }
    uint32_t number = tide_recorder_intern(recorder, name);
    const char *text = tide_recorder_text(recorder, number);
    if (text != NULL) {
        *known = (known_name){name, text, number};
    }
    return number;
}
