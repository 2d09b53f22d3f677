#include "support/picture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "snapshot/document/validate.h"

/* The segments and blocks at an instant. */
typedef struct picture {
    const tide_hostmem *mem;   /* borrowed */
    tide_map segments;         /* address -> bytes */
    tide_map blocks;           /* address -> index of its row; without free blocks */
    tide_block_row *rows;      /* owned; in the order of their births */
    size_t n_rows;             /* ever born */
    size_t n_segments, n_live; /* now */
    char message[256];         /* "": no contradiction so far */
} picture;

static void contradict(picture *p, const char *what, uint64_t address, size_t row) {
    if (p->message[0] == '\0') {
        (void)snprintf(p->message, sizeof(p->message), "%s at 0x%" PRIx64 " (row %zu)", what,
                       address, row);
    }
}

static void add_block(picture *p, uint64_t address, tide_block_row row, size_t event) {
    if (tide_map_find(&p->blocks, address, NULL)) {
        contradict(p, "a second block", address, event);
    }
    p->rows[p->n_rows] = row;
    assert_int_equal(tide_map_put(&p->blocks, address, p->n_rows++), TIDE_OK);
    p->n_live++;
}

static tide_block_row *find_block(picture *p, uint64_t address, size_t event) {
    uint64_t index = 0;
    if (!tide_map_find(&p->blocks, address, &index)) {
        contradict(p, "no block", address, event);
        return NULL;
    }
    return &p->rows[index];
}

static void remove_block(picture *p, uint64_t address, size_t event) {
    if (find_block(p, address, event) != NULL) {
        (void)tide_map_remove(&p->blocks, address);
        p->n_live--;
    }
}

static void add_segment(picture *p, uint64_t address, uint64_t n_bytes, size_t event) {
    if (tide_map_find(&p->segments, address, NULL)) {
        contradict(p, "a second segment", address, event);
    }
    assert_int_equal(tide_map_put(&p->segments, address, n_bytes), TIDE_OK);
    p->n_segments++;
}

static void apply(picture *p, const tide_event *event, size_t i) {
    tide_block_row *block = NULL;
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        add_block(p, event->address,
                  (tide_block_row){.block_bytes = event->block_bytes,
                                   .requested_bytes = event->requested_bytes,
                                   .stack = event->stack,
                                   .scope = event->scope,
                                   .name = event->name,
                                   .state = TIDE_BLOCK_ALLOCATED,
                                   .category = event->category},
                  i);
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_COMPLETED:
        remove_block(p, event->address, i);
        break;
    case TIDE_ACTION_FREE_REQUESTED:
        block = find_block(p, event->address, i);
        if (block != NULL) {
            block->state = TIDE_BLOCK_PENDING_FREE;
        }
        break;
    case TIDE_ACTION_SEGMENT_ALLOC:
        add_segment(p, event->address, event->block_bytes, i);
        break;
    case TIDE_ACTION_SEGMENT_FREE:
        if (!tide_map_remove(&p->segments, event->address)) {
            contradict(p, "no segment", event->address, i);
        }
        p->n_segments--;
        break;
    default:
        break;
    }
}

static void load_start(picture *p, const tide_snapshot *snapshot) {
    for (size_t s = 0; s < snapshot->n_start_segments; s++) {
        const tide_segment_row *segment = &snapshot->start_segments[s];
        add_segment(p, segment->address, segment->total_bytes, 0);
        for (size_t i = 0; i < segment->n_blocks; i++) {
            const tide_block_row *row = &snapshot->start_blocks[segment->first_block + i];
            if (row->state != TIDE_BLOCK_FREE) {
                add_block(p, segment->address + row->offset_bytes, *row, 0);
            }
        }
    }
}

static bool is_same(const tide_block_row *a, const tide_block_row *b) {
    return a->block_bytes == b->block_bytes && a->requested_bytes == b->requested_bytes &&
           a->stack == b->stack && a->scope == b->scope && a->name == b->name &&
           a->state == b->state && a->category == b->category;
}

static void compare_end(picture *p, const tide_snapshot *snapshot) {
    size_t n_live = 0;
    for (size_t s = 0; s < snapshot->n_end_segments; s++) {
        const tide_segment_row *segment = &snapshot->end_segments[s];
        uint64_t n_bytes = 0;
        if (!tide_map_find(&p->segments, segment->address, &n_bytes) ||
            n_bytes != segment->total_bytes) {
            contradict(p, "another segment in the end", segment->address, s);
        }
        for (size_t i = 0; i < segment->n_blocks; i++) {
            const tide_block_row *row = &snapshot->end_blocks[segment->first_block + i];
            if (row->state == TIDE_BLOCK_FREE) {
                continue;
            }
            uint64_t address = segment->address + row->offset_bytes;
            const tide_block_row *mine = find_block(p, address, i);
            if (mine != NULL && !is_same(mine, row)) {
                contradict(p, "another block in the end", address, i);
            }
            n_live++;
        }
    }
    if (n_live != p->n_live || snapshot->n_end_segments != p->n_segments) {
        contradict(p, "blocks or segments missing in the end", 0, n_live);
    }
}

/* No row belongs to a scope that began after it. */
static void check_scopes(picture *p, const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint32_t scope = tide_index_at(&snapshot->events.scope, i);
        if (scope == TIDE_NONE) {
            continue;
        }
        const tide_scope_row *row = &snapshot->scopes[scope];
        int64_t time_ns = snapshot->events.time_ns[i];
        if (row->begin_ns > time_ns) {
            contradict(p, "a scope that began after its row", snapshot->events.address[i], i);
        }
    }
}

const char *picture_check(const tide_snapshot *snapshot) {
    static _Thread_local char text[sizeof(((picture *)0)->message)];
    picture p = {.mem = tide_hostmem_default()};
    tide_map_init(&p.segments, p.mem);
    tide_map_init(&p.blocks, p.mem);
    p.rows = tide_hostmem_zeroed(p.mem, snapshot->n_start_blocks + snapshot->n_events + 1,
                                 sizeof(*p.rows));
    assert_non_null(p.rows);
    load_start(&p, snapshot);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        apply(&p, &event, i);
    }
    compare_end(&p, snapshot);
    check_scopes(&p, snapshot);
    tide_map_fini(&p.segments);
    tide_map_fini(&p.blocks);
    p.mem->release(p.mem->ctx, p.rows);
    memcpy(text, p.message, sizeof(text));
    return text[0] == '\0' ? NULL : text;
}

tide_snapshot *picture_load(const char *path) {
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    char place[TIDE_PLACE_BYTES] = "";
    if (tide_snapshot_load(path, NULL, &snapshot, &error) != TIDE_OK ||
        tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
        fail_msg("%s: %s %s", path, place, error.message);
    }
    const char *wrong = picture_check(snapshot);
    if (wrong != NULL) {
        fail_msg("%s: %s", path, wrong);
    }
    return snapshot;
}
