#include "cli/summary/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/map.h"
#include "common/plural.h"
#include "snapshot/user_frame.h"

enum { LABEL_BYTES = 256 };

/* Keys of blocks without a frame. */
#define NO_STACK ((uint64_t)UINT32_MAX)
#define FROM_BEFORE (NO_STACK + 1)

/* The blocks of one key. */
typedef struct group {
    uint64_t key;  /* a frame, or one of the two keys above */
    int64_t bytes; /* whole blocks */
    int64_t requested_bytes;
    int64_t n_blocks;
} group;

bool tide_summary_lacks_categories(const tide_summary_peak *peak) {
    for (size_t i = 0; i < peak->n_blocks; i++) {
        if (peak->blocks[i].category != TIDE_UNKNOWN) {
            return false;
        }
    }
    return true;
}

void tide_summary_say_origin(const tide_summary_view *of) {
    tide_report *report = of->report;
    const tide_summary_peak *peak = &of->device->peak;
    const tide_snapshot_origin *origin = &of->snapshot->origin;
    int64_t bytes = 0;
    int64_t n_blocks = 0;
    if (origin->format[0] == '\0') {
        return;
    }
    tide_report_say(report, "origin",
                    "recorded by %s: %" PRIu64 " %s; sizes of blocks that were gone at the dump "
                    "are derived from what lay behind them",
                    strcmp(origin->format, "pytorch") == 0 ? "PyTorch" : origin->format,
                    origin->n_events, tide_plural(origin->n_events, "event", "events"));
    if (origin->n_contradictions > 0) {
        tide_report_say(report, "contradictions",
                        "warning: events and segments of the dump contradict each other %" PRIu64
                        " %s (was recording stopped before the dump?): bytes below may be wrong",
                        origin->n_contradictions,
                        tide_plural(origin->n_contradictions, "time", "times"));
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        if (peak->blocks[i].born == 0) {
            bytes += (int64_t)peak->blocks[i].block_bytes;
            n_blocks++;
        }
    }
    if (n_blocks > 0) {
        tide_report_say(report, "before",
                        "alive before recording: %s of %s%s, in %" PRId64 " block%s",
                        tide_report_bytes(of->report, bytes), of->is_peak ? "" : "what is alive ",
                        of->is_peak ? "the peak" : of->when, n_blocks,
                        tide_plural((uint64_t)n_blocks, "", "s"));
    }
}

static int by_bytes(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return (a->key > b->key) - (a->key < b->key);
}

static tide_status collect(const tide_snapshot *snapshot, const tide_summary_peak *peak,
                           group *groups, size_t *ret_n) {
    tide_map index_of;
    size_t n = 0;
    tide_status status = TIDE_OK;
    tide_map_init(&index_of, tide_hostmem_default());
    for (size_t i = 0; i < peak->n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        uint64_t key = block->stack != TIDE_NONE ? tide_user_frame(snapshot, block->stack)
                       : block->born == 0        ? FROM_BEFORE
                                                 : NO_STACK;
        uint64_t index = n;
        if (!tide_map_find(&index_of, key, &index)) {
            status = tide_map_put(&index_of, key, n);
            groups[n++] = (group){.key = key};
        }
        groups[index].bytes += (int64_t)block->block_bytes;
        groups[index].requested_bytes += (int64_t)block->requested_bytes;
        groups[index].n_blocks++;
    }
    tide_map_fini(&index_of);
    *ret_n = n;
    return status;
}

static void row(const tide_summary_view *of, tide_table *table, const group *from,
                const char *label) {
    TIDE_ROW(table, tide_as_bytes(from->bytes), tide_summary_share(of, from->bytes),
             tide_as_bytes(from->requested_bytes), tide_as_count(from->n_blocks),
             tide_as_text(label));
}

static void write_table(const tide_summary_view *of, const group *groups, size_t n) {
    tide_table *table =
        tide_summary_table(of, "by_user_frame", "Alive", ", by line of the program");
    size_t top = of->top;
    group rest = {.bytes = 0};
    char label[LABEL_BYTES];
    TIDE_COLUMNS(table, TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("requested_bytes", "requested"), TIDE_NUMBER("blocks", "blocks"),
                 TIDE_TEXT("frame", "first frame of the user's"));
    for (size_t i = 0; i < n; i++) {
        if (i >= top) {
            rest.bytes += groups[i].bytes;
            rest.requested_bytes += groups[i].requested_bytes;
            rest.n_blocks += groups[i].n_blocks;
            continue;
        }
        if (groups[i].key < NO_STACK) {
            tide_frame_text(of->snapshot, (uint32_t)groups[i].key, label, sizeof(label));
        }
        row(of, table, &groups[i],
            groups[i].key < NO_STACK    ? label
            : groups[i].key == NO_STACK ? "(no call stack)"
                                        : "(alive before recording)");
    }
    if (n > top) {
        row(of, table, &rest,
            tide_report_text(of->report, "(%zu other%s)", n - top, tide_plural(n - top, "", "s")));
    }
}

tide_status tide_summary_user_frames(const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = 0;
    group *groups = tide_hostmem_zeroed(mem, peak->n_blocks, sizeof(*groups));
    if (groups == NULL && peak->n_blocks > 0) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = collect(of->snapshot, peak, groups, &n);
    if (status == TIDE_OK) {
        if (n > 0) {
            qsort(groups, n, sizeof(*groups), by_bytes);
        }
        write_table(of, groups, n);
    }
    mem->release(mem->ctx, groups);
    return status;
}
