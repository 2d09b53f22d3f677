/* Why a run ran out of memory: the requester, the free memory, and whether it was fragmented. */
#include <inttypes.h>
#include <string.h>

#include "cli/summary/verdict.h"
#include "cli/words/snapshot_words.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/explain/user_line.h"

enum { PLACE_BYTES = 512 };

/* The reserved memory at an instant, and its free bytes. */
typedef struct free_blocks {
    int64_t reserved_bytes;
    int64_t bytes;
    int64_t largest_bytes;
    int64_t n;
} free_blocks;

static tide_status count_free(const tide_summary_view *of, int64_t event, free_blocks *ret_free) {
    const tide_instant at = {of->device_number, event};
    tide_layout layout;
    free_blocks found = {0, 0, 0, 0};
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
    found.reserved_bytes = layout.account.reserved_bytes;
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

/* The source of the bound: the limit of the process, if one below the device's memory is known. */
static const char *whose_limit(const tide_summary_view *of) {
    const tide_snapshot *snapshot = of->snapshot;
    int64_t limit = snapshot->run.memory_limit_bytes;
    int64_t total = snapshot->devices[of->device_number].total_bytes;
    if (limit < 0 || (total >= 0 && limit >= total)) {
        return "on the device";
    }
    return tide_report_text(of->report, "of the limit of %s", tide_report_bytes(of->report, limit));
}

/* ---- why ---- */

/* The least allocated bytes of the device after any of its rows in [first, end). */
static int64_t lowest(const int64_t *bytes, size_t first, size_t end) {
    int64_t least = bytes[first];
    for (size_t i = first; i < end; i++) {
        least = bytes[i] < least ? bytes[i] : least;
    }
    return least;
}

/* How the allocated bytes developed up to the failure. */
typedef struct development {
    int64_t survived_bytes; /* the highest level from which they fell by the spare amount: the
                               program reached that level before and survived */
    int64_t end_bytes;      /* at the failure */
    int64_t rise_bytes;     /* rise of the lowest level, from the second to the last third of the
                               rows. A program that repeats its work returns to its level */
} development;

static tide_status develop(const tide_summary_view *of, int64_t spare_bytes, development *ret) {
    const tide_snapshot *snapshot = of->snapshot;
    const tide_hostmem *mem = of->lifetimes->mem;
    int64_t *bytes =
        tide_lifetimes_changes(of->lifetimes, snapshot->n_events, of->device_number, false);
    size_t n = 0;
    if (bytes == NULL) {
        return TIDE_NO_MEMORY;
    }
    int64_t sum = bytes[0];
    int64_t highest = sum;
    int64_t survived = 0;
    for (size_t i = 0; i < (size_t)of->device->oom_event; i++) {
        sum += bytes[i + 1];
        highest = sum > highest ? sum : highest;
        survived = sum <= highest - spare_bytes ? highest : survived;
        if (snapshot->events.device[i] == of->device_number) {
            bytes[n++] = sum; /* n is at most i, and everything up to i + 1 was read */
        }
    }
    *ret = (development){.survived_bytes = survived, .end_bytes = sum, .rise_bytes = sum};
    if (n >= 3) {
        ret->rise_bytes = lowest(bytes, n - n / 3, n) - lowest(bytes, n / 3, n - n / 3);
    }
    mem->release(mem->ctx, bytes);
    return TIDE_OK;
}

/* Whether growth or sheer size, and not fragmentation, may have filled the memory: a line grows, or
 * the level rose, or this amount was never needed before, by more than a quarter of the memory to
 * spare in one piece. */
static tide_status may_have_grown(const tide_summary_view *of, const tide_verdict *verdict,
                                  int64_t spare_bytes, bool *ret_may) {
    development until;
    TIDE_TRY(develop(of, spare_bytes, &until));
    int64_t needed = until.end_bytes + of->device->oom_requested_bytes;
    *ret_may = verdict->facts.growth.n_facts > 0 || until.rise_bytes > spare_bytes / 4 ||
               needed - until.survived_bytes > spare_bytes / 4;
    return TIDE_OK;
}

static void say_too_little(const tide_summary_view *of, const free_blocks *blocks,
                           int64_t spare_bytes) {
    const tide_summary_device *device = of->device;
    if (blocks->bytes == 0) {
        tide_report_say(of->report, "oom_cause",
                        "Fragmentation is not to blame: no reserved memory was free.");
    } else if (spare_bytes < 0) {
        tide_report_say(of->report, "oom_cause",
                        "Fragmentation is not to blame: %s on the device and %s in reserved "
                        "memory were free, less than the request together.",
                        tide_report_bytes(of->report, device->oom_free_bytes),
                        tide_report_bytes(of->report, blocks->bytes));
    } else {
        tide_report_say(of->report, "oom_cause",
                        "Fragmentation is not to blame: %s on the device and %s in reserved "
                        "memory were free, only %s more than the request together.",
                        tide_report_bytes(of->report, device->oom_free_bytes),
                        tide_report_bytes(of->report, blocks->bytes),
                        tide_report_bytes(of->report, spare_bytes));
    }
}

/* Fragmentation is blamed if the free memory in one piece would have served the request with this
 * share of the whole to spare. */
enum { SPARE_PERCENT = 3 };

static tide_status say_cause(const tide_summary_view *of, const free_blocks *blocks,
                             tide_verdict *verdict) {
    const tide_summary_device *device = of->device;
    int64_t asked = device->oom_requested_bytes;
    int64_t spare_bytes = blocks->bytes + device->oom_free_bytes - asked;
    int64_t whole_bytes = blocks->reserved_bytes + device->oom_free_bytes;
    bool may_grow = false;
    if (blocks->bytes == 0 || spare_bytes < whole_bytes / 100 * SPARE_PERCENT) {
        verdict->cause =
            blocks->bytes == 0 && spare_bytes >= 0 ? TIDE_OOM_OTHER : TIDE_OOM_TOO_LITTLE;
        say_too_little(of, blocks, spare_bytes);
        return TIDE_OK;
    }
    const char *cached = tide_report_bytes(of->report, blocks->bytes);
    const char *largest = tide_report_bytes(of->report, blocks->largest_bytes);
    TIDE_TRY(may_have_grown(of, verdict, spare_bytes, &may_grow));
    if (blocks->largest_bytes >= asked) {
        tide_report_say(of->report, "oom_cause",
                        "A free block of %s was large enough, but the allocator could not use it "
                        "for this request: it belongs to another stream or another pool.",
                        largest);
        return TIDE_OK;
    }
    verdict->cause = may_grow ? TIDE_OOM_OTHER : TIDE_OOM_FRAGMENTATION;
    const char *on_device = "";
    if (blocks->bytes < asked) {
        on_device = tide_report_text(of->report, "%s on the device and ",
                                     tide_report_bytes(of->report, device->oom_free_bytes));
    }
    tide_report_say(of->report, "oom_cause",
                    "%s%s%s of reserved memory were free, but in %" PRId64
                    " %s, the largest of %s.",
                    may_grow ? "" : "Fragmentation is to blame: ", on_device, cached, blocks->n,
                    tide_plural((uint64_t)blocks->n, "piece", "pieces"), largest);
    return TIDE_OK;
}

/* ---- the failure ---- */

tide_status tide_say_oom(const tide_summary_view *of, tide_verdict *verdict) {
    const tide_summary_device *device = of->device;
    if (device->n_oom == 0) {
        return TIDE_OK;
    }
    const tide_event row = tide_event_at(of->snapshot, (size_t)device->oom_event);
    bool is_end = strcmp(of->snapshot->run.outcome, TIDE_SNAPSHOT_OOM) == 0;
    const char *again = "";
    if (device->n_oom > 1) {
        again =
            tide_report_text(of->report, " It ran out %" PRId64 " times in all.", device->n_oom);
    }
    bool is_unlimited = device->oom_free_bytes < 0;
    tide_report_say(
        of->report, "oom",
        "Out of memory at event %" PRId64 "%s: %s asked for %s; %s%s were free%s.%s",
        device->oom_event, is_end ? ", where the run ended" : "", who_asked(of, &row),
        tide_report_bytes(of->report, device->oom_requested_bytes),
        is_unlimited ? "unlimited bytes "
                     : tide_report_text(of->report, "%s ",
                                        tide_report_bytes(of->report, device->oom_free_bytes)),
        whose_limit(of),
        is_unlimited
            ? ""
            : tide_oom_why_not(of->snapshot, device->oom_requested_bytes, device->oom_free_bytes),
        again);
    if (is_unlimited) {
        return TIDE_OK;
    }
    free_blocks blocks;
    TIDE_TRY(count_free(of, device->oom_event, &blocks));
    return say_cause(of, &blocks, verdict);
}
