/* names.c - numbers of names that a thread uses again and again, without a lock.
 *
 * A program names its tensors with texts at fixed addresses, so each thread remembers the numbers
 * of the pointers it has seen. The text at a pointer may have changed since; it is therefore
 * compared with the recorder's copy before the number is used.
 */
#include <string.h>

#include "recorder/state_internal.h"

/* Names are kept in sets of WAYS, by a hash of the pointer. A program with a few hundred names has
 * more than one in many sets: with one place in each, 18 % of the names of a training step were
 * looked up by their text every time. */
enum { N_SETS = 256, SET_SHIFT = 56 /* 64 - log2(N_SETS) */, WAYS = 4 };

/* A pointer seen before. */
typedef struct known_name {
    const char *given; /* never dereferenced; NULL: empty */
    const char *text;  /* the recorder's copy of the text at that pointer */
    uint32_t number;   /* of that text */
} known_name;

/* The names that a thread passed to a recorder. Not thread-local: that memory would come out of the
 * stack of every thread of a recorded program. */
typedef struct tide_name_cache {
    known_name sets[N_SETS][WAYS]; /* in a set the newest comes first */
} name_cache;

/* Puts a name at the front of its set, replacing its pointer's older text or the set's oldest
 * name. */
static void keep(known_name *set, known_name name) {
    size_t place = 0;
    while (place < WAYS - 1 && set[place].given != name.given) {
        place++;
    }
    memmove(set + 1, set, place * sizeof(*set));
    set[0] = name;
}

/* NULL without memory. */
static name_cache *names_of(tide_recorder *recorder) {
    tide_recorder_thread *thread = tide_recorder_this_thread(recorder);
    if (thread != NULL && thread->names == NULL) {
        thread->names = tide_hostmem_zeroed(recorder->mem, 1, sizeof(*thread->names));
    }
    return thread != NULL ? thread->names : NULL;
}

uint32_t tide_recorder_name(tide_recorder *recorder, const char *name) {
    name_cache *names = names_of(recorder);
    if (names == NULL) {
        return tide_recorder_intern(recorder, name);
    }
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
    known_name *set = names->sets[hash >> SET_SHIFT];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].text != NULL && set[i].given == name && strcmp(set[i].text, name) == 0) {
            return set[i].number;
        }
    }
    uint32_t number = tide_recorder_intern(recorder, name);
    const char *text = tide_recorder_text(recorder, number);
    if (text != NULL) {
        keep(set, (known_name){name, text, number});
    }
    return number;
}
