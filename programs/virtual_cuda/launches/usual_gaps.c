#include "programs/virtual_cuda/launches/usual_gaps.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map.h"

/* Gaps that are kept of each pair of calls, those needed for a quartile, and pairs. A program of a
 * model has some hundred pairs. */
enum { N_KEPT = 16, N_ENOUGH = 4, MAX_PAIRS = 8192 };

typedef struct pair {
    int64_t gaps_ns[N_KEPT]; /* a ring */
    uint64_t n;              /* gaps so far */
} pair;

static struct {
    tide_map places; /* from keys to places in `pairs` */
    pair *pairs;
    size_t n, room;
} usual;

/* NULL: there are too many pairs, or no host memory. Valid until the next call. */
static pair *find(uint64_t key) {
    const tide_hostmem *mem = tide_hostmem_default();
    uint64_t place = usual.n;
    if (tide_map_find(&usual.places, key, &place)) {
        return &usual.pairs[place];
    }
    pair *larger = usual.n < MAX_PAIRS
                       ? tide_hostmem_grow(mem, usual.pairs, &usual.room, usual.n + 1, sizeof(pair))
                       : NULL;
    usual.pairs = larger != NULL ? larger : usual.pairs;
    if (larger == NULL || tide_map_put(&usual.places, key, place) != TIDE_OK) {
        return NULL;
    }
    usual.n++;
    memset(&larger[place], 0, sizeof(*larger));
    return &larger[place];
}

static int by_length(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

int64_t tide_vc_usual_gap(uint64_t key, int64_t gap_ns) {
    pair *of = gap_ns < TIDE_VC_LONGEST_GAP_NS ? find(key) : NULL;
    if (of == NULL) {
        return gap_ns;
    }
    int64_t sorted[N_KEPT];
    of->gaps_ns[of->n++ % N_KEPT] = gap_ns;
    size_t n = of->n < N_KEPT ? (size_t)of->n : N_KEPT;
    memcpy(sorted, of->gaps_ns, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_length);
    int64_t quartile_ns = sorted[(n - 1) / 4];
    return n >= N_ENOUGH && quartile_ns < gap_ns ? quartile_ns : gap_ns;
}
