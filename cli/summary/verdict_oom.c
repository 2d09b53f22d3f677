/* Why a run ran out of memory: who asked, what was free, and whether it was only in pieces. */
#include <inttypes.h>
#include <string.h>

#include "cli/summary/verdict.h"
#include "cli/snapshot_words.h"
#include "common/bytes.h"
#include "common/plural.h"
#include "common/text.h"
#include "snapshot/layout.h"
#include "snapshot/user_line.h"

enum { PLACE_BYTES = 512 };

/* Free bytes of the reserved memory at an instant. */
typedef struct free_blocks {
    int64_t bytes;
    int64_t largest_bytes;
    int64_t n;
} free_blocks;

static tide_status count_free(const tide_summary_view *of, int64_t event, free_blocks *ret_free) {
    const tide_instant at = {of->device_number, event};
    tide_layout layout;
    free_blocks found = {0, 0, 0};
    tide_error ignored = {""};
    TIDE_TRY(tide_layout_init(&layout, of->snapshot, of->lifetimes, &at, &ignored));
    for (size_t i = 0; i < layout.n_pieces; i++) {
        const tide_layout_piece *piece = &layout.pieces[i];
        if (piece->lifetime == TIDE_NONE) {
            int64_t bytes = (int64_t)piece->n_bytes;
            found.bytes += bytes;
            found.largest_bytes = bytes > found.largest_bytes ? bytes : found.largest_bytes;
            found.n++;
        }
    }
    tide_layout_fini(&layout);
    *ret_free = found;
    return TIDE_OK;
}

/* "main (train.py:12)"; without a call stack "the program". */
static const char *who_asked(const tide_summary_view *of, const tide_event *row) {
    char words[PLACE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_user_line_add(of->snapshot, row->stack, &text);
    return words[0] != '\0' ? tide_report_text(of->report, "%s", words) : "the program";
}

/* What set the bound: the limit of the process, if one is known that the device does not reach. */
static const char *whose_limit(const tide_summary_view *of) {
    const tide_snapshot *snapshot = of->snapshot;
    int64_t limit = snapshot->run.memory_limit_bytes;
    int64_t total = snapshot->devices[of->device_number].total_bytes;
    if (limit < 0 || (total >= 0 && limit >= total)) {
        return "on the device";
    }
    return tide_report_text(of->report, "of the limit of %s", tide_report_bytes(of->report, limit));
}

static void say_cause(const tide_summary_view *of, const free_blocks *blocks) {
    const tide_summary_device *device = of->device;
    const char *cached = tide_report_bytes(of->report, blocks->bytes);
    const char *largest = tide_report_bytes(of->report, blocks->largest_bytes);
    int64_t asked = device->oom_requested_bytes;
    int64_t all = blocks->bytes + device->oom_free_bytes;
    if (all < asked) {
        tide_report_say(of->report, "oom_cause",
                        "Fragmentation is not to blame: %s on the device and %s in reserved "
                        "memory were free, less than the request together.",
                        tide_report_bytes(of->report, device->oom_free_bytes), cached);
    } else if (blocks->largest_bytes >= asked) {
        tide_report_say(of->report, "oom_cause",
                        "A free block of %s was large enough, but the allocator could not use it "
                        "for this request: it belongs to another stream or another pool.",
                        largest);
    } else {
        tide_report_say(
            of->report, "oom_cause",
            "Fragmentation is to blame: %s of reserved memory were free, but in %" PRId64
            " %s, the largest of %s.",
            cached, blocks->n, tide_plural((uint64_t)blocks->n, "piece", "pieces"), largest);
    }
}

tide_status tide_say_oom(const tide_summary_view *of) {
    const tide_summary_device *device = of->device;
    if (device->n_oom == 0) {
        return TIDE_OK;
    }
    const tide_event *row = &of->snapshot->events[device->oom_event];
    bool is_end = strcmp(of->snapshot->run.outcome, TIDE_SNAPSHOT_OOM) == 0;
    const char *again = "";
    if (device->n_oom > 1) {
        again =
            tide_report_text(of->report, " It ran out %" PRId64 " times in all.", device->n_oom);
    }
    bool is_unlimited = device->oom_free_bytes < 0;
    tide_report_say(of->report, "oom",
                    "Out of memory at event %" PRId64 "%s: %s asked for %s; %s%s were free%s.%s",
                    device->oom_event, is_end ? ", where the run ended" : "", who_asked(of, row),
                    tide_report_bytes(of->report, device->oom_requested_bytes),
                    is_unlimited
                        ? "unlimited bytes "
                        : tide_report_text(of->report, "%s ",
                                           tide_report_bytes(of->report, device->oom_free_bytes)),
                    whose_limit(of),
                    !is_unlimited && device->oom_free_bytes >= device->oom_requested_bytes
                        ? ", too little for a new segment"
                        : "",
                    again);
    if (is_unlimited) {
        return TIDE_OK;
    }
    free_blocks blocks;
    TIDE_TRY(count_free(of, device->oom_event, &blocks));
    say_cause(of, &blocks);
    return TIDE_OK;
}
