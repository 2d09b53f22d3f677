#include "programs/virtual_cuda/launches/usual_gaps.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/map_rows.h"

/* Gaps that are kept of each pair of calls, those needed for a quartile, and pairs. A program of a
 * model has some hundred pairs. */
enum { N_KEPT = 16, N_ENOUGH = 4, MAX_PAIRS = 8192 };

typedef struct pair {
    int64_t gaps_ns[N_KEPT]; /* a ring */
    uint64_t n;              /* gaps so far */
} pair;

static tide_map_rows usual; /* of pair, by their keys */

/* NULL: there are too many pairs, or no host memory. Valid until the next call. */
static pair *find(uint64_t key) {
    bool has_room = usual.n < MAX_PAIRS || tide_map_find(&usual.places, key, NULL);
    return has_room ? tide_map_rows_at(&usual, key, sizeof(pair)) : NULL;
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
