#include "programs/step_time/steady.h"

#include <stdlib.h>

#include "common/assert.h"
#include "common/map.h"

/* A step, by what it launches. */
typedef struct step {
    uint64_t key;  /* of all its rows */
    size_t first;  /* its first row */
    size_t n_gaps; /* from its first row to the first row after it */
    size_t number;
} step;

uint64_t tide_time_step_key(const tide_time_log *log, const tide_time_range *of) {
    uint64_t key = of->last - of->first;
    for (size_t i = of->first; i < of->last; i++) {
        const tide_run_launch *row = &log->rows[i];
        key = tide_hash_u64(key ^ row->name);
        key = tide_hash_u64(key ^ ((uint64_t)row->kind << 8 | row->flags));
    }
    return key;
}

static int by_key(const void *a, const void *b) {
    const step *one = a;
    const step *other = b;
    return one->key != other->key ? (one->key > other->key) - (one->key < other->key)
                                  : (one->number > other->number) - (one->number < other->number);
}

static int by_size(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* gaps[i]: the host's time from row i - 1 to row i. Rows of two threads may go back a little: then
 * the later row adds nothing. */
static void read_gaps(const tide_time_log *log, int64_t *gaps) {
    int64_t seen_ns = log->n_rows > 0 ? log->rows[0].host_ns : 0;
    for (size_t i = 0; i < log->n_rows; i++) {
        int64_t host_ns = log->rows[i].host_ns;
        gaps[i] = host_ns > seen_ns ? host_ns - seen_ns : 0;
        seen_ns = host_ns > seen_ns ? host_ns : seen_ns;
    }
}

static void write_gaps(const int64_t *gaps, tide_time_log *log) {
    for (size_t i = 1; i < log->n_rows; i++) {
        TIDE_ASSERT(gaps[i] >= 0);
        log->rows[i].host_ns = log->rows[i - 1].host_ns + gaps[i];
    }
}

/* Steps of one key, in order of their numbers. room: for a gap of each. */
static void level(const step *steps, size_t n, int64_t *room, int64_t *gaps) {
    size_t from = n > 2 && steps[0].number == 0 ? 1 : 0;
    for (size_t k = 1; n > 1 && k <= steps[0].n_gaps; k++) {
        for (size_t i = from; i < n; i++) {
            room[i - from] = gaps[steps[i].first + k];
        }
        qsort(room, n - from, sizeof(*room), by_size);
        for (size_t i = 0; i < n; i++) {
            gaps[steps[i].first + k] = room[(n - from - 1) / 4];
        }
    }
}

static void level_all(step *steps, size_t n, int64_t *room, int64_t *gaps) {
    qsort(steps, n, sizeof(*steps), by_key);
    for (size_t i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && steps[end].key == steps[i].key;) {
            end++;
        }
        level(&steps[i], end - i, room, gaps);
    }
}

/* The share of the real time from the first to the last mark; the rows still have their own times.
 */
static double waited_share(const tide_time_log *log) {
    const tide_run_launch *first = NULL;
    const tide_run_launch *last = NULL;
    for (size_t i = 0; i < log->n_rows; i++) {
        const tide_run_launch *row = &log->rows[i];
        if (row->kind == TIDE_RUN_LAUNCH_MARK) {
            first = first != NULL ? first : row;
            last = row;
        }
    }
    if (first == last || last->bytes <= first->bytes || last->host_ns < first->host_ns) {
        return 0.0;
    }
    double waited_ns = (double)(last->bytes - first->bytes);
    return waited_ns / (waited_ns + (double)(last->host_ns - first->host_ns));
}

tide_status tide_time_log_steady(tide_time_log *log, const tide_time_ranges *ranges) {
    const tide_hostmem *mem = log->mem;
    size_t n = ranges->n_steps;
    step *steps = tide_hostmem_zeroed(mem, n + 1, sizeof(*steps));
    int64_t *room = tide_hostmem_zeroed(mem, n + 1, sizeof(*room));
    int64_t *gaps = tide_hostmem_zeroed(mem, log->n_rows + 1, sizeof(*gaps));
    bool has_room = steps != NULL && room != NULL && gaps != NULL;
    if (has_room) {
        log->waited_share = waited_share(log);
        read_gaps(log, gaps);
        for (size_t i = 0; i < n; i++) {
            const tide_time_range *range = &ranges->steps[i];
            size_t last = range->last < log->n_rows ? range->last : log->n_rows - 1;
            steps[i] = (step){tide_time_step_key(log, range), range->first, last - range->first, i};
        }
        level_all(steps, n, room, gaps);
        write_gaps(gaps, log);
    }
    mem->release(mem->ctx, steps);
    mem->release(mem->ctx, room);
    mem->release(mem->ctx, gaps);
    return has_room ? TIDE_OK : TIDE_NO_MEMORY;
}
