/* The part of `tidemark summary` about private pools: the reserved memory by pool and stream. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/summary/view.h"
#include "snapshot/analysis/layout.h"

/* The segments of one pool on one stream. */
typedef struct pool {
    uint32_t id[2];
    uint8_t stream, pool;
    int64_t n_segments, reserved_bytes, free_bytes;
} pool;

static bool is_same(const pool *a, const tide_layout_segment *b) {
    return a->id[0] == b->pool_id[0] && a->id[1] == b->pool_id[1] && a->stream == b->stream &&
           a->pool == b->pool;
}

/* The default pools first, then by number, then by size, larger first. */
static int by_number(const void *left, const void *right) {
    const pool *a = left;
    const pool *b = right;
    for (int i = 0; i < 2; i++) {
        if (a->id[i] != b->id[i]) {
            return a->id[i] < b->id[i] ? -1 : 1;
        }
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    return a->pool > b->pool ? -1 : a->pool < b->pool;
}

static size_t find_pools(const tide_layout *layout, pool *pools) {
    size_t n = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        const tide_layout_segment *segment = &layout->segments[i];
        size_t at = 0;
        while (at < n && !is_same(&pools[at], segment)) {
            at++;
        }
        if (at == n) {
            pools[n++] = (pool){.id = {segment->pool_id[0], segment->pool_id[1]},
                                .stream = segment->stream,
                                .pool = segment->pool};
        }
        pools[at].n_segments++;
        pools[at].reserved_bytes += (int64_t)segment->total_bytes;
        pools[at].free_bytes += (int64_t)segment->cached_bytes;
    }
    if (n > 0) {
        qsort(pools, n, sizeof(*pools), by_number);
    }
    return n;
}

/* "default", "private, of a graph (3, 0)". */
static const char *pool_words(const tide_summary_view *of, const uint32_t id[2]) {
    const char *whose = id[0] > 0 && id[1] == 0   ? ", of a graph"
                        : id[0] == 0 && id[1] > 0 ? ", of the program"
                                                  : "";
    if (id[0] == 0 && id[1] == 0) {
        return "default";
    }
    return tide_report_text(of->report, "private%s (%" PRIu32 ", %" PRIu32 ")", whose, id[0],
                            id[1]);
}

static const char *stream_words(const tide_summary_view *of, uint8_t stream) {
    uint64_t handle = stream < of->snapshot->n_streams ? of->snapshot->streams[stream].handle : 0;
    return handle == 0 ? "default stream"
                       : tide_report_text(of->report, "stream 0x%" PRIx64, handle);
}

static void add_table(const tide_summary_view *of, const pool *pools, size_t n) {
    tide_table *table = tide_summary_table(of, "pools", "Reserved", ", by pool and stream");
    TIDE_COLUMNS(table, TIDE_TEXT("pool", "pool"), TIDE_TEXT("blocks", "of blocks"),
                 TIDE_TEXT("stream", "stream"), TIDE_NUMBER("segments", "segments"),
                 TIDE_NUMBER("reserved_bytes", "reserved"), TIDE_NUMBER("free_bytes", "free"));
    for (size_t i = 0; i < n; i++) {
        TIDE_ROW(table, tide_as_text(pool_words(of, pools[i].id)),
                 tide_as_text(pools[i].pool == TIDE_SEGMENT_SMALL ? "small" : "large"),
                 tide_as_text(stream_words(of, pools[i].stream)),
                 tide_as_count(pools[i].n_segments), tide_as_bytes(pools[i].reserved_bytes),
                 tide_as_bytes(pools[i].free_bytes));
    }
}

tide_status tide_summary_pools(const tide_summary_view *of) {
    const tide_hostmem *mem = of->lifetimes->mem;
    const tide_instant at = {of->device_number, of->device->peak.event};
    tide_layout layout;
    TIDE_TRY(tide_layout_init(&layout, of->snapshot, of->lifetimes, &at, NULL));
    pool *pools = tide_hostmem_zeroed(mem, layout.n_segments, sizeof(*pools));
    tide_status status = pools != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (pools != NULL) {
        size_t n = find_pools(&layout, pools);
        bool has_private = n > 0 && (pools[n - 1].id[0] > 0 || pools[n - 1].id[1] > 0);
        if (has_private) {
            add_table(of, pools, n);
        }
    }
    mem->release(mem->ctx, pools);
    tide_layout_fini(&layout);
    return status;
}
