/* The part of `tidemark summary` about free bytes in reserved memory: which blocks hold them there,
 * and which requests they could serve. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/words/snapshot_words.h"
#include "cli/summary/view.h"
#include "common/text/bytes.h"
#include "snapshot/analysis/layout.h"

enum { SHOWN_FRAMES = 2 };

/* A segment whose free bytes cannot be released to the device, and the largest block in it. */
typedef struct pinned {
    const tide_layout_segment *segment; /* borrowed */
    const tide_lifetime *block;         /* borrowed; the first of the largest */
    int64_t held_bytes;                 /* cached and not releasable */
    int64_t n_blocks;                   /* in the segment */
} pinned;

static const char *pool_name(int pool) {
    return pool == TIDE_SEGMENT_SMALL ? "small" : "large";
}

static int by_held(const void *left, const void *right) {
    const pinned *a = left;
    const pinned *b = right;
    if (a->held_bytes != b->held_bytes) {
        return a->held_bytes < b->held_bytes ? 1 : -1;
    }
    return a->segment->address < b->segment->address ? -1
                                                     : a->segment->address > b->segment->address;
}

static size_t find_pinned(const tide_summary_view *of, const tide_layout *layout, pinned *items) {
    size_t n = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        const tide_layout_segment *segment = &layout->segments[i];
        pinned item = {.segment = segment,
                       .held_bytes = (int64_t)(segment->cached_bytes - segment->releasable_bytes)};
        for (size_t j = 0; j < segment->n_pieces; j++) {
            const tide_layout_piece *piece = &layout->pieces[segment->first_piece + j];
            const tide_lifetime *lifetime =
                piece->lifetime != TIDE_NONE ? &of->lifetimes->lifetimes[piece->lifetime] : NULL;
            item.n_blocks += lifetime != NULL;
            if (lifetime != NULL &&
                (item.block == NULL || lifetime->block_bytes > item.block->block_bytes)) {
                item.block = lifetime;
            }
        }
        if (item.held_bytes > 0) {
            items[n++] = item;
        }
    }
    if (n > 0) {
        qsort(items, n, sizeof(*items), by_held);
    }
    return n;
}

/* ---- by cause ---- */

static void cause_row(tide_table *table, const char *cause, int64_t n_bytes, int64_t n_cached,
                      int64_t n_segments) {
    if (n_bytes == 0) {
        return;
    }
    TIDE_ROW(table, tide_as_text(cause), tide_as_bytes(n_bytes),
             tide_as_share((double)n_bytes, (double)n_cached), tide_as_count(n_segments));
}

static void cause_table(const tide_summary_view *of, const tide_layout *layout, const pinned *items,
                        size_t n_items) {
    int64_t bytes[TIDE_MAX_CATEGORIES] = {0};
    int64_t segments[TIDE_MAX_CATEGORIES] = {0};
    int64_t rest_bytes = 0, rest_segments = 0, whole_segments = 0;
    for (size_t i = 0; i < n_items; i++) {
        if (items[i].block != NULL) {
            bytes[items[i].block->category] += items[i].held_bytes;
            segments[items[i].block->category]++;
        } else { /* of an expandable segment without blocks: less than a granule */
            rest_bytes += items[i].held_bytes;
            rest_segments++;
        }
    }
    for (size_t i = 0; i < layout->n_segments; i++) {
        whole_segments += layout->segments[i].releasable_bytes > 0;
    }
    int64_t cached = layout->account.splittable_bytes + layout->account.releasable_bytes;
    tide_table *table = tide_summary_table(of, "cached_by_cause", "Cached bytes", ", by cause");
    TIDE_COLUMNS(table, TIDE_TEXT("cause", "why they are not the device's"),
                 TIDE_NUMBER("bytes", "cached"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("segments", "segments"));
    cause_row(table, "no block there", layout->account.releasable_bytes, cached, whole_segments);
    for (size_t i = 0; i < tide_snapshot_n_categories(of->snapshot); i++) {
        cause_row(table,
                  tide_report_text(of->report, "largest block there: %s",
                                   tide_snapshot_category(of->snapshot, i)),
                  bytes[i], cached, segments[i]);
    }
    cause_row(table, "less than a granule", rest_bytes, cached, rest_segments);
    cause_row(table, "all", cached, cached, (int64_t)layout->n_segments);
}

/* ---- by segment ---- */

static void pinned_row(const tide_summary_view *of, tide_table *table, const pinned *item) {
    const tide_lifetime *block = item->block;
    TIDE_ROW(table,
             tide_as_text(tide_report_text(of->report, "0x%" PRIx64, item->segment->address)),
             tide_as_text(pool_name(item->segment->pool)),
             tide_as_bytes((int64_t)item->segment->total_bytes), tide_as_bytes(item->held_bytes),
             tide_as_count(item->n_blocks));
    if (block == NULL) {
        return;
    }
    TIDE_CELLS(
        table, tide_as_bytes((int64_t)block->block_bytes),
        tide_as_text(tide_summary_name(of, block->name)),
        tide_as_text(tide_snapshot_category(of->snapshot, block->category)),
        block->born > 0 ? tide_as_count(of->device->peak.event - ((int64_t)block->born - 1))
                        : tide_as_text("before recording"),
        tide_as_text(tide_summary_scope(of, block->scope)),
        tide_as_text(tide_report_stack(of->report, of->snapshot, block->stack, SHOWN_FRAMES)));
}

static void pinned_table(const tide_summary_view *of, const pinned *items, size_t n_items) {
    tide_table *table = tide_summary_table(of, "pinned", "Cached bytes that blocks hold",
                                           ", by segment and its largest block");
    TIDE_COLUMNS(table, TIDE_TEXT("segment", "segment"), TIDE_TEXT("pool", "pool"),
                 TIDE_NUMBER("segment_bytes", "of bytes"), TIDE_NUMBER("bytes", "cached"),
                 TIDE_NUMBER("blocks", "blocks"), TIDE_NUMBER("block_bytes", "largest"),
                 TIDE_TEXT("name", "its name"), TIDE_TEXT("category", "category"),
                 TIDE_NUMBER("age_events", "age in events"), TIDE_TEXT("scope", "scope"),
                 TIDE_TEXT("stack", "call stack, innermost first"));
    int64_t rest_bytes = 0, rest_total = 0, rest_blocks = 0;
    for (size_t i = 0; i < n_items; i++) {
        if (i < of->top) {
            pinned_row(of, table, &items[i]);
        } else {
            rest_bytes += items[i].held_bytes;
            rest_total += (int64_t)items[i].segment->total_bytes;
            rest_blocks += items[i].n_blocks;
        }
    }
    if (n_items > of->top) {
        TIDE_ROW(table, tide_as_text(tide_report_text(of->report, "(%zu more)", n_items - of->top)),
                 tide_as_none(), tide_as_bytes(rest_total), tide_as_bytes(rest_bytes),
                 tide_as_count(rest_blocks));
    }
}

/* ---- by request ---- */

/* The requests that the free blocks of a pool could serve. */
static void fit_row(tide_table *table, const tide_layout *layout, int pool, uint64_t request) {
    int64_t all = 0, usable = 0, n_fit = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        const tide_layout_segment *segment = &layout->segments[i];
        for (size_t j = 0; j < segment->n_pieces && segment->pool == pool; j++) {
            const tide_layout_piece *piece = &layout->pieces[segment->first_piece + j];
            if (piece->lifetime == TIDE_NONE) {
                all += (int64_t)piece->n_bytes;
                usable += piece->n_bytes >= request ? (int64_t)piece->n_bytes : 0;
                n_fit += piece->n_bytes >= request;
            }
        }
    }
    TIDE_ROW(table, tide_as_text(pool_name(pool)), tide_as_bytes((int64_t)request),
             tide_as_count(n_fit), tide_as_bytes(usable), tide_as_bytes(all - usable),
             tide_as_share((double)(all - usable), (double)all));
}

static uint64_t largest_free(const tide_layout *layout, int pool) {
    uint64_t largest = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        const tide_layout_segment *segment = &layout->segments[i];
        for (size_t j = 0; j < segment->n_pieces && segment->pool == pool; j++) {
            const tide_layout_piece *piece = &layout->pieces[segment->first_piece + j];
            largest =
                piece->lifetime == TIDE_NONE && piece->n_bytes > largest ? piece->n_bytes : largest;
        }
    }
    return largest;
}

static void fit_table(const tide_summary_view *of, const tide_layout *layout) {
    static const struct {
        int pool;
        uint64_t request;
    } REQUESTS[] = {
        {TIDE_SEGMENT_SMALL, UINT64_C(4) << 10},   {TIDE_SEGMENT_SMALL, UINT64_C(64) << 10},
        {TIDE_SEGMENT_SMALL, UINT64_C(1) << 20},   {TIDE_SEGMENT_LARGE, UINT64_C(2) << 20},
        {TIDE_SEGMENT_LARGE, UINT64_C(10) << 20},  {TIDE_SEGMENT_LARGE, UINT64_C(32) << 20},
        {TIDE_SEGMENT_LARGE, UINT64_C(128) << 20}, {TIDE_SEGMENT_LARGE, UINT64_C(512) << 20},
        {TIDE_SEGMENT_LARGE, UINT64_C(2) << 30},   {TIDE_SEGMENT_LARGE, UINT64_C(8) << 30}};
    tide_table *table = tide_summary_table(of, "cached_by_request", "Cached bytes",
                                           ", by the requests that they could serve");
    TIDE_COLUMNS(table, TIDE_TEXT("pool", "pool"), TIDE_NUMBER("request_bytes", "request"),
                 TIDE_NUMBER("free_blocks", "blocks that fit"),
                 TIDE_NUMBER("usable_bytes", "in blocks that fit"),
                 TIDE_NUMBER("unusable_bytes", "in smaller ones"),
                 TIDE_NUMBER("unusable_percent", "share of no use"));
    for (int pool = TIDE_SEGMENT_SMALL; pool <= TIDE_SEGMENT_LARGE; pool++) {
        uint64_t largest = largest_free(layout, pool);
        uint64_t before = 0;
        for (size_t i = 0; i < sizeof(REQUESTS) / sizeof(REQUESTS[0]); i++) {
            if (largest > 0 && REQUESTS[i].pool == pool && before < largest) {
                if (REQUESTS[i].request > largest) {
                    fit_row(table, layout, pool, largest);
                }
                fit_row(table, layout, pool, REQUESTS[i].request);
                before = REQUESTS[i].request;
            }
        }
    }
}

static void say_largest(const tide_summary_view *of, const tide_layout *layout) {
    const tide_account *account = &layout->account;
    tide_report_say(
        of->report, "fragmentation",
        "%s cached %s; the largest free block has %s in the small pool, %s in the large one",
        tide_report_bytes(of->report, account->splittable_bytes + account->releasable_bytes),
        of->when, tide_report_bytes(of->report, (int64_t)largest_free(layout, TIDE_SEGMENT_SMALL)),
        tide_report_bytes(of->report, (int64_t)largest_free(layout, TIDE_SEGMENT_LARGE)));
}

tide_status tide_summary_fragmentation(const tide_summary_view *of) {
    const tide_hostmem *mem = of->lifetimes->mem;
    const tide_instant at = {of->device_number, of->device->peak.event};
    tide_layout layout;
    TIDE_TRY(tide_layout_init(&layout, of->snapshot, of->lifetimes, &at, NULL));
    pinned *items = tide_hostmem_zeroed(mem, layout.n_segments, sizeof(*items));
    tide_status status = TIDE_NO_MEMORY;
    if (items != NULL) {
        size_t n = find_pinned(of, &layout, items);
        say_largest(of, &layout);
        cause_table(of, &layout, items, n);
        pinned_table(of, items, n);
        fit_table(of, &layout);
        status = TIDE_OK;
    }
    mem->release(mem->ctx, items);
    tide_layout_fini(&layout);
    return status;
}
