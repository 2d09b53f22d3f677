#include "snapshot/analysis/layout.h"

#include <stdlib.h>

#include "common/assert.h"
#include "snapshot/analysis/layout_internal.h"

/* Constants of the caching allocator, in bytes. */
#define ROUNDING_BYTES UINT64_C(512)
#define SMALL_BYTES (UINT64_C(1) << 20)          /* the largest block of a small pool's request */
#define SMALL_SEGMENT_BYTES (UINT64_C(2) << 20)  /* bought for it; also the granule of one */
#define LARGE_GRANULE_BYTES (UINT64_C(20) << 20) /* that expandable segments map for the others */

/* A block that is not yet free, and where to find it. */
typedef struct active_block {
    uint64_t address;  /* of its first byte */
    uint32_t lifetime; /* index in the lifetimes */
} active_block;

typedef struct builder {
    tide_layout *layout;             /* borrowed; filled */
    const tide_lifetimes *lifetimes; /* borrowed */
    active_block *blocks;            /* owned; by address */
    size_t n_blocks;
} builder;

void tide_account_add_block(tide_account *account, const tide_lifetime *lifetime) {
    uint64_t asked = lifetime->requested_bytes;
    TIDE_ASSERT(asked <= lifetime->block_bytes);
    uint64_t slack = lifetime->block_bytes - asked;
    uint64_t rounding = (ROUNDING_BYTES - asked % ROUNDING_BYTES) % ROUNDING_BYTES;
    rounding = rounding < slack ? rounding : slack;
    account->asked_bytes += (int64_t)asked;
    account->rounding_bytes += (int64_t)rounding;
    account->unsplit_bytes += (int64_t)(slack - rounding);
}

static int by_address(const void *left, const void *right) {
    const active_block *a = left;
    const active_block *b = right;
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

static bool is_active(const tide_lifetime *lifetime, int64_t event) {
    int64_t moment = event + 1;
    return (int64_t)lifetime->born <= moment && moment < (int64_t)lifetime->completed;
}

static tide_status find_blocks(builder *build, size_t device, int64_t event) {
    const tide_lifetimes *lifetimes = build->lifetimes;
    for (int pass = 0; pass < 2; pass++) {
        size_t n = 0;
        for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
            if (lifetimes->lifetimes[i].device != device ||
                !is_active(&lifetimes->lifetimes[i], event)) {
                continue;
            }
            if (pass == 1) {
                build->blocks[n] = (active_block){lifetimes->lifetimes[i].address, (uint32_t)i};
            }
            n++;
        }
        if (pass == 0) {
            build->n_blocks = n;
            build->blocks = tide_hostmem_zeroed(build->layout->mem, n, sizeof(*build->blocks));
            if (build->blocks == NULL) {
                return TIDE_NO_MEMORY;
            }
        }
    }
    qsort(build->blocks, build->n_blocks, sizeof(*build->blocks), by_address);
    return TIDE_OK;
}

static void add_piece(tide_layout *layout, tide_layout_segment *segment, uint64_t begin,
                      uint64_t end, uint32_t lifetime, bool is_pending) {
    if (begin < end) {
        layout->pieces[layout->n_pieces++] =
            (tide_layout_piece){begin, end - begin, lifetime, is_pending};
        segment->n_pieces++;
        segment->cached_bytes += lifetime == TIDE_NONE ? end - begin : 0;
    }
}

/* Fills one segment from the first block that may be in it; returns the first after it. */
static size_t fill_segment(builder *build, tide_layout_segment *segment, size_t block,
                           int64_t event) {
    tide_layout *layout = build->layout;
    uint64_t at = segment->address;
    uint64_t end = segment->address + segment->total_bytes;
    segment->first_piece = layout->n_pieces;
    while (block < build->n_blocks && build->blocks[block].address < end) {
        uint32_t index = build->blocks[block++].lifetime;
        const tide_lifetime *lifetime = &build->lifetimes->lifetimes[index];
        if (lifetime->address < at || lifetime->block_bytes > end - lifetime->address) {
            continue; /* it is in no segment: the account shows it as unexplained */
        }
        add_piece(layout, segment, at, lifetime->address, TIDE_NONE, false);
        at = lifetime->address + lifetime->block_bytes;
        add_piece(layout, segment, lifetime->address, at, index,
                  !tide_lifetime_is_allocated(lifetime, event));
    }
    TIDE_ASSERT(at <= end);
    add_piece(layout, segment, at, end, TIDE_NONE, false);
    return block;
}

/* The pool follows from the size of any block in the segment, else from that of the segment. */
static void find_pool(const builder *build, tide_layout_segment *segment) {
    const tide_layout *layout = build->layout;
    for (size_t i = 0; i < segment->n_pieces && segment->pool == TIDE_SEGMENT_UNKNOWN; i++) {
        const tide_layout_piece *piece = &layout->pieces[segment->first_piece + i];
        if (piece->lifetime != TIDE_NONE) {
            uint64_t asked = build->lifetimes->lifetimes[piece->lifetime].requested_bytes;
            segment->pool = asked > SMALL_BYTES ? TIDE_SEGMENT_LARGE : TIDE_SEGMENT_SMALL;
        }
    }
    if (segment->pool == TIDE_SEGMENT_UNKNOWN) {
        segment->pool =
            segment->total_bytes <= SMALL_SEGMENT_BYTES ? TIDE_SEGMENT_SMALL : TIDE_SEGMENT_LARGE;
    }
}

static void find_releasable(const tide_layout *layout, tide_layout_segment *segment) {
    uint64_t granule =
        segment->pool == TIDE_SEGMENT_SMALL ? SMALL_SEGMENT_BYTES : LARGE_GRANULE_BYTES;
    if (!segment->is_expandable) {
        segment->releasable_bytes =
            segment->cached_bytes == segment->total_bytes ? segment->total_bytes : 0;
        return;
    }
    for (size_t i = 0; i < segment->n_pieces; i++) {
        const tide_layout_piece *piece = &layout->pieces[segment->first_piece + i];
        if (piece->lifetime == TIDE_NONE) {
            uint64_t begin = piece->address - segment->address;
            uint64_t first = (begin + granule - 1) / granule;
            uint64_t last = (begin + piece->n_bytes) / granule;
            segment->releasable_bytes += last > first ? (last - first) * granule : 0;
        }
    }
    TIDE_ASSERT(segment->releasable_bytes <= segment->cached_bytes);
}

static tide_status make_account(builder *build, int64_t event, int64_t n_reserved,
                                tide_error *error) {
    tide_account *account = &build->layout->account;
    for (size_t i = 0; i < build->n_blocks; i++) {
        const tide_lifetime *lifetime = &build->lifetimes->lifetimes[build->blocks[i].lifetime];
        if (tide_lifetime_is_allocated(lifetime, event)) {
            tide_account_add_block(account, lifetime);
        } else {
            account->pending_bytes += (int64_t)lifetime->block_bytes;
        }
    }
    for (size_t i = 0; i < build->layout->n_segments; i++) {
        const tide_layout_segment *segment = &build->layout->segments[i];
        account->releasable_bytes += (int64_t)segment->releasable_bytes;
        account->splittable_bytes += (int64_t)(segment->cached_bytes - segment->releasable_bytes);
    }
    /* Each of the two is below 2^63: the lifetimes and the range of addresses see to it. */
    int64_t n_active = account->asked_bytes + account->rounding_bytes + account->unsplit_bytes +
                       account->pending_bytes;
    int64_t n_cached = account->splittable_bytes + account->releasable_bytes;
    if (n_active > INT64_MAX - n_cached) {
        return tide_fail(error, TIDE_LIMIT, "the bytes alive and cached exceed 2^63 - 1");
    }
    account->reserved_bytes = n_reserved;
    account->unexplained_bytes = n_reserved - (n_active + n_cached);
    return TIDE_OK;
}

static tide_status fill(builder *build, int64_t event) {
    tide_layout *layout = build->layout;
    size_t n_most = 2 * build->n_blocks + layout->n_segments;
    layout->pieces = tide_hostmem_zeroed(layout->mem, n_most, sizeof(*layout->pieces));
    if (layout->pieces == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t block = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        tide_layout_segment *segment = &layout->segments[i];
        TIDE_ASSERT(i == 0 || segment[-1].address + segment[-1].total_bytes <= segment->address);
        block = fill_segment(build, segment, block, event);
        find_pool(build, segment);
        find_releasable(layout, segment);
    }
    TIDE_ASSERT(layout->n_pieces <= n_most);
    return TIDE_OK;
}

tide_status tide_layout_init(tide_layout *layout, const tide_snapshot *snapshot,
                             const tide_lifetimes *lifetimes, const tide_instant *at,
                             tide_error *error) {
    *layout = (tide_layout){.mem = lifetimes->mem};
    builder build = {.layout = layout, .lifetimes = lifetimes};
    tide_status status = tide_layout_find_segments(layout, snapshot, at);
    if (status == TIDE_OK) {
        status = find_blocks(&build, at->device, at->event);
    }
    if (status == TIDE_OK) {
        status = fill(&build, at->event);
    }
    if (status == TIDE_OK) {
        tide_totals totals;
        tide_lifetimes_reserved_at(snapshot, at, &totals);
        status = make_account(&build, at->event, totals.reserved_bytes, error);
    }
    layout->mem->release(layout->mem->ctx, build.blocks);
    if (status != TIDE_OK) {
        tide_layout_fini(layout);
    }
    return status;
}

void tide_layout_fini(tide_layout *layout) {
    if (layout->mem == NULL) {
        return;
    }
    layout->mem->release(layout->mem->ctx, layout->segments);
    layout->mem->release(layout->mem->ctx, layout->pieces);
    *layout = (tide_layout){.mem = layout->mem};
}
