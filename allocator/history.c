/* history.c - messages about an address that cannot be released, or for which no stream can be
 * recorded, with the recording's data on its block. Runs only before a refusal, so speed does not
 * matter here.
 */
#include <inttypes.h>
#include <stdio.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"

enum {
    MAX_ROWS = 1 << 20, /* searched from the newest back: a few milliseconds */
    LINE_BYTES = 640,   /* of one line below the first: a scope, a name and numbers */
    SCOPE_BYTES = 256
};

/* The refused calls, and what to do instead. */
typedef struct refusal {
    const char *what;    /* before the address */
    const char *inside;  /* the address is inside a block, or where no block was */
    const char *again;   /* its block was released */
    const char *foreign; /* it is not of this cache */
} refusal;

static const refusal RELEASE = {.what = "release",
                                .inside = "release the address that was handed out",
                                .again = "release each block once",
                                .foreign = "release it where it was allocated"};
static const refusal STREAM = {.what = "record a stream for",
                               .inside = "give the address that was handed out",
                               .again = "record streams before the release",
                               .foreign = "ask the cache that allocated it"};

/* ", in step 0/forward"; "" if no scope is known. */
static void format_place(const tide_cache *cache, uint32_t scope, char text[LINE_BYTES / 2]) {
    char path[SCOPE_BYTES];
    tide_recorder_scope_path(cache->recorder, scope, path, sizeof(path));
    (void)snprintf(text, LINE_BYTES / 2, "%s%s", path[0] == '\0' ? "" : ", in ", path);
}

/* The last line, if any of the rows has a call stack. The message points at the snapshot instead of
 * naming the stack: a stack's number means nothing, and its symbols are resolved only there. */
static const char *stacks_hint(const tide_address_history *history) {
    const tide_found_row *const rows[] = {&history->alloc, &history->freed, &history->completed,
                                          &history->segment_free};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i]->is_found && rows[i]->event.stack != TIDE_NONE) {
            return "\n  their call stacks: in a snapshot, at these events";
        }
    }
    return "";
}

/* " as event 17, 3.2 ms ago"; "" for a row that was not found. */
static void format_time(const tide_address_history *history, const tide_found_row *row,
                        char text[64]) {
    text[0] = '\0';
    if (row->is_found) {
        (void)snprintf(text, 64, " as event %" PRIu64 ", %.1f ms ago", row->number,
                       (double)(history->now_ns - row->event.time_ns) * 1e-6);
    }
}

/* "\n  the block: activation logits, 4096 bytes, allocated ..." from the row that describes it, its
 * alloc row or its free row. */
static void format_block(const tide_cache *cache, const tide_address_history *history,
                         const tide_event *block, char text[LINE_BYTES]) {
    char time[64];
    char place[LINE_BYTES / 2] = "";
    const char *name = tide_recorder_text(cache->recorder, block->name);
    format_time(history, &history->alloc, time);
    if (block->action == TIDE_ACTION_ALLOC) {
        format_place(cache, block->scope, place);
    }
    (void)snprintf(text, LINE_BYTES, "\n  the block: %s%s%.80s, %" PRIu64 " bytes%s%s%s",
                   tide_category_name(block->category), name == NULL ? "" : " ",
                   name == NULL ? "" : name, block->requested_bytes,
                   time[0] == '\0' && place[0] == '\0' ? "" : ", allocated", time, place);
}

/* "\n  released as event 20, 1.5 ms ago, in ..." */
static void format_row(const tide_cache *cache, const tide_address_history *history,
                       const char *what, const tide_found_row *row, char text[LINE_BYTES]) {
    char time[64];
    char place[LINE_BYTES / 2];
    text[0] = '\0';
    if (row->is_found) {
        format_time(history, row, time);
        format_place(cache, row->event.scope, place);
        (void)snprintf(text, LINE_BYTES, "\n  %s%s%s", what, time, place);
    }
}

/* The row of the block's allocation, from the block's own fields. */
static tide_event alloc_row(const tide_cache_block *block) {
    return (tide_event){.requested_bytes = block->requested_bytes,
                        .scope = block->scope,
                        .name = block->name,
                        .action = TIDE_ACTION_ALLOC,
                        .category = block->category};
}

static tide_status refuse_inside(const tide_cache *cache, const refusal *refused,
                                 const tide_cache_block *block, uint64_t address,
                                 tide_error *error) {
    tide_address_history history;
    tide_recorder_look_back(cache->recorder, block->address, MAX_ROWS, &history);
    const tide_event known = alloc_row(block);
    char line[LINE_BYTES];
    format_block(cache, &history, &known, line);
    return tide_fail(error, TIDE_INVALID,
                     "cannot %s 0x%" PRIx64 ": it is %" PRIu64
                     " bytes inside the block at 0x%" PRIx64 "; %s%s%s",
                     refused->what, address, address - block->address, block->address,
                     refused->inside, line, stacks_hint(&history));
}

/* The address is in a released block that other streams still use. */
static tide_status refuse_waiting(const tide_cache *cache, const refusal *refused,
                                  const tide_cache_block *block, uint64_t address,
                                  tide_error *error) {
    tide_address_history history;
    char line[LINE_BYTES];
    char freed[LINE_BYTES];
    char others[64] = "";
    size_t n_others = 0;
    const tide_event known = alloc_row(block);
    TIDE_ASSERT(block->uses != NULL);
    tide_recorder_look_back(cache->recorder, block->address, MAX_ROWS, &history);
    format_block(cache, &history, &known, line);
    format_row(cache, &history, "released", &history.freed, freed);
    for (const tide_cache_use *use = block->uses->next; use != NULL; use = use->next) {
        n_others++;
    }
    if (n_others > 0) {
        (void)snprintf(others, sizeof(others), " and %zu more", n_others);
    }
    return tide_fail(error, TIDE_INVALID,
                     "cannot %s 0x%" PRIx64
                     ": it is released already and waits for stream 0x%" PRIx64 "%s; %s%s%s%s",
                     refused->what, address, block->uses->queue->stream, others, refused->again,
                     line, freed, stacks_hint(&history));
}

/* The recording's data on an address that no live block holds; "" without any. */
typedef struct last_block {
    char block[LINE_BYTES];     /* the block that held the address last */
    char freed[LINE_BYTES];     /* its release */
    char completed[LINE_BYTES]; /* when other streams were done with it */
    char segment[LINE_BYTES];   /* when its segment was released */
} last_block;

static void format_last_block(const tide_cache *cache, const tide_address_history *history,
                              last_block *lines) {
    lines->block[0] = '\0';
    if (history->freed.is_found) {
        format_block(cache, history,
                     history->alloc.is_found ? &history->alloc.event : &history->freed.event,
                     lines->block);
    }
    format_row(cache, history, "released", &history->freed, lines->freed);
    format_row(cache, history, "other streams were done with it", &history->completed,
               lines->completed);
    format_row(cache, history,
               history->segment_free.event.action == TIDE_ACTION_SEGMENT_UNMAP
                   ? "its memory was unmapped"
                   : "its segment went back to the device",
               &history->segment_free, lines->segment);
}

static tide_status refuse_free(const tide_cache *cache, const refusal *refused, bool has_segment,
                               uint64_t address, tide_error *error) {
    tide_address_history history;
    last_block lines;
    tide_recorder_look_back(cache->recorder, address, MAX_ROWS, &history);
    format_last_block(cache, &history, &lines);
    if (!history.freed.is_found && history.is_unused) {
        return tide_fail(error, TIDE_INVALID,
                         "cannot %s 0x%" PRIx64
                         ": it is free, and no block was handed out there since its segment was "
                         "bought; %s%s",
                         refused->what, address, refused->inside, lines.segment);
    }
    if (!has_segment && !history.freed.is_found) {
        return tide_fail(error, TIDE_INVALID,
                         "cannot %s 0x%" PRIx64 ": it is in no segment of this cache; %s",
                         refused->what, address, refused->foreign);
    }
    char offset[64] = "";
    if (history.freed.is_found && history.freed.event.address != address) {
        (void)snprintf(offset, sizeof(offset), ", %" PRIu64 " bytes inside its block",
                       address - history.freed.event.address);
    }
    return tide_fail(error, TIDE_INVALID,
                     "cannot %s 0x%" PRIx64 ": it is free already%s; %s%s%s%s%s%s", refused->what,
                     address, offset, refused->again, lines.block, lines.freed, lines.completed,
                     lines.segment, stacks_hint(&history));
}

static tide_status refuse(const tide_cache *cache, const refusal *refused, uint64_t address,
                          tide_error *error) {
    TIDE_ASSERT(tide_lock_is_held(cache->lock));
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        if (address - segment->address >= segment->total_bytes) {
            continue; /* an address below wraps around to a huge number */
        }
        const tide_cache_block *block = segment->first_block;
        while (address - block->address >= block->block_bytes) {
            block = block->after;
            TIDE_ASSERT(block != NULL); /* blocks fill their segment */
        }
        switch (block->state) {
        case TIDE_BLOCK_ALLOCATED:
            return refuse_inside(cache, refused, block, address, error);
        case TIDE_BLOCK_PENDING_FREE:
            return refuse_waiting(cache, refused, block, address, error);
        default:
            return refuse_free(cache, refused, block->state == TIDE_BLOCK_FREE, address, error);
        }
    }
    return refuse_free(cache, refused, false, address, error);
}

tide_status tide_cache_refuse_release(const tide_cache *cache, uint64_t address,
                                      tide_error *error) {
    return refuse(cache, &RELEASE, address, error);
}

tide_status tide_cache_refuse_stream(const tide_cache *cache, uint64_t address, tide_error *error) {
    return refuse(cache, &STREAM, address, error);
}
