#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "programs/scratch/lasting.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "programs/scratch/entries/calls_friend.h"

enum { FIRST_BYTES = 16384 }; /* enough for most processes */

char *tide_scratch_lasting(size_t n_bytes) {
    static char first[FIRST_BYTES];
    static atomic_size_t n_used;
    size_t at = n_bytes <= FIRST_BYTES ? atomic_fetch_add(&n_used, n_bytes) : FIRST_BYTES;
    if (at <= FIRST_BYTES - n_bytes && n_bytes <= FIRST_BYTES) {
        return first + at;
    }
    return tide_sys_map(n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

char *tide_scratch_lasting_text(const char *text, size_t n_bytes) {
    char *copy = tide_scratch_lasting(n_bytes + 1);
    if (copy != NULL) {
        memcpy(copy, text, n_bytes);
        copy[n_bytes] = '\0';
    }
    return copy;
}
