#include "programs/plan/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/lifetimes.h"

/* A block is allocated or freed. */
typedef struct turn {
    uint32_t row;   /* of the event table, + 1 */
    uint32_t block; /* of the timeline */
    bool frees;
} turn;

static int by_row(const void *a, const void *b) {
    const turn *one = a;
    const turn *other = b;
    if (one->row != other->row) {
        return one->row < other->row ? -1 : 1;
    }
    /* A block of the start is allocated in row 0, like all of them. */
    return (int)one->frees - (int)other->frees;
}

/* ---- the blocks ---- */

static void find_place(const tide_snapshot *snapshot, uint32_t scope, tide_plan_block *block) {
    block->step = -1;
    block->phase = block->layer = block->operation = "";
    block->node = TIDE_NONE;
    for (; scope != TIDE_NONE; scope = snapshot->scopes[scope].parent) {
        const tide_scope_row *row = &snapshot->scopes[scope];
        const char *name = tide_snapshot_text(snapshot, row->name);
        if (row->kind == TIDE_SCOPE_STEP && block->step < 0) {
            block->step = row->index;
        } else if (row->kind == TIDE_SCOPE_PHASE && block->phase[0] == '\0') {
            block->phase = name;
        } else if (row->kind == TIDE_SCOPE_LAYER && block->layer[0] == '\0') {
            block->layer = name;
        } else if (row->kind == TIDE_SCOPE_OPERATOR && block->operation[0] == '\0') {
            block->operation = name;
            block->node = scope;
        }
    }
}

static void take_blocks(tide_plan_timeline *timeline, const tide_lifetimes *lifetimes,
                        turn *turns) {
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *of = &lifetimes->lifetimes[i];
        /* Freed before the start: only the memory of its segment is known. */
        if (of->device != timeline->device || of->freed == 0) {
            continue;
        }
        uint32_t number = (uint32_t)timeline->n_blocks++;
        tide_plan_block *block = &timeline->blocks[number];
        *block = (tide_plan_block){.bytes = (int64_t)of->block_bytes,
                                   .requested_bytes = (int64_t)of->requested_bytes,
                                   .stack = of->stack,
                                   .category = of->category};
        find_place(timeline->snapshot, of->scope, block);
        turns[timeline->n_places++] = (turn){of->born, number, false};
        if (of->freed != TIDE_LIFETIME_FOREVER) {
            turns[timeline->n_places++] = (turn){of->freed, number, true};
        }
    }
}

static void take_places(tide_plan_timeline *timeline, turn *turns) {
    qsort(turns, timeline->n_places, sizeof(*turns), by_row);
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        timeline->blocks[i].died = (uint32_t)timeline->n_places;
    }
    for (size_t i = 0; i < timeline->n_places; i++) {
        tide_plan_block *block = &timeline->blocks[turns[i].block];
        timeline->places[i] = turns[i].block;
        *(turns[i].frees ? &block->died : &block->born) = (uint32_t)i;
    }
}

static tide_status take(tide_plan_timeline *timeline, const tide_lifetimes *lifetimes) {
    size_t n = lifetimes->n_lifetimes + 1; /* no array is empty */
    timeline->blocks = tide_hostmem_array(timeline->mem, n, sizeof(*timeline->blocks));
    timeline->places = tide_hostmem_array(timeline->mem, 2 * n, sizeof(*timeline->places));
    turn *turns = tide_hostmem_array(timeline->mem, 2 * n, sizeof(*turns));
    bool has_memory = timeline->blocks != NULL && timeline->places != NULL && turns != NULL;
    if (has_memory) {
        take_blocks(timeline, lifetimes, turns);
        take_places(timeline, turns);
    }
    timeline->mem->release(timeline->mem->ctx, turns);
    return has_memory ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_plan_timeline_init(tide_plan_timeline *timeline, const tide_snapshot *snapshot,
                                    tide_error *error) {
    tide_lifetimes lifetimes;
    *timeline = (tide_plan_timeline){.mem = tide_hostmem_default(), .snapshot = snapshot};
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, timeline->mem, error));
    timeline->device = tide_lifetimes_main_device(&lifetimes);
    tide_status status = take(timeline, &lifetimes);
    tide_lifetimes_fini(&lifetimes);
    return status;
}

void tide_plan_timeline_fini(tide_plan_timeline *timeline) {
    const tide_hostmem *mem = timeline->mem;
    if (mem != NULL) {
        mem->release(mem->ctx, timeline->blocks);
        mem->release(mem->ctx, timeline->places);
        *timeline = (tide_plan_timeline){.n_blocks = 0};
    }
}

/* ---- shares ---- */

tide_status tide_plan_shares_init(tide_plan_shares *shares, const tide_plan_timeline *timeline) {
    const tide_hostmem *mem = timeline->mem;
    *shares = (tide_plan_shares){.again = NULL};
    shares->share = tide_hostmem_array(mem, timeline->n_blocks + 1, sizeof(*shares->share));
    for (size_t i = 0; shares->share != NULL && i < timeline->n_blocks; i++) {
        shares->share[i] = 1.0F;
    }
    return shares->share != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_plan_shares_fini(tide_plan_shares *shares, const tide_hostmem *mem) {
    mem->release(mem->ctx, shares->share);
    mem->release(mem->ctx, shares->again);
    mem->release(mem->ctx, shares->turns);
    *shares = (tide_plan_shares){.share = NULL};
}

/* ---- the walk ---- */

/* Changes that are made together, and how far the walk has come. */
typedef struct walk {
    const tide_plan_timeline *timeline; /* borrowed, as the next two */
    const tide_plan_shares *const *changes;
    const double *worth;
    size_t n;
    size_t n_turns[TIDE_PLAN_TOGETHER]; /* of each change, that were made */
} walk;

static double left_of(const walk *of, size_t block, size_t place) {
    double left = 1.0;
    for (size_t i = 0; i < of->n; i++) {
        const tide_plan_shares *change = of->changes[i];
        const tide_plan_again *again = change->again != NULL ? &change->again[block] : NULL;
        bool is_whole = again != NULL && again->from <= place && place < again->to;
        left *= is_whole ? 1.0 : 1.0 - of->worth[i] * (1.0 - (double)change->share[block]);
    }
    return left;
}

/* Whether one of the first `n` changes also has a turn of this block here: modules within modules.
 */
static bool was_turned(const walk *of, size_t n, uint32_t block, size_t place) {
    for (size_t i = 0; i < n; i++) {
        const tide_plan_again *again = of->changes[i]->again;
        if (again != NULL && (again[block].from == place || again[block].to == place)) {
            return true;
        }
    }
    return false;
}

/* What blocks that are computed again add at a place, before its own block is allocated or freed.
 */
static double again_at(walk *of, size_t place) {
    double bytes = 0.0;
    for (size_t i = 0; i < of->n; i++) {
        const tide_plan_shares *again = of->changes[i];
        while (of->n_turns[i] < again->n_turns && again->turns[of->n_turns[i]].place == place) {
            uint32_t block = again->turns[of->n_turns[i]++].block;
            if (!was_turned(of, i, block, place)) {
                double more = left_of(of, block, place) - left_of(of, block, place - 1);
                bytes += (double)of->timeline->blocks[block].bytes * more;
            }
        }
    }
    return bytes;
}

int64_t tide_plan_peak(const tide_plan_timeline *timeline, const tide_plan_shares *const *changes,
                       const double *worth, size_t n, size_t *ret_place) {
    walk of = {.timeline = timeline, .changes = changes, .worth = worth, .n = n};
    double now = 0.0;
    double peak = 0.0;
    size_t at = 0;
    TIDE_ASSERT(n <= TIDE_PLAN_TOGETHER);
    for (size_t i = 0; i < timeline->n_places; i++) {
        size_t number = timeline->places[i];
        const tide_plan_block *block = &timeline->blocks[number];
        now += again_at(&of, i);
        double bytes = (double)block->bytes * left_of(&of, number, i);
        now += block->died == i ? -bytes : bytes;
        at = now > peak ? i : at;
        peak = now > peak ? now : peak;
    }
    if (ret_place != NULL) {
        *ret_place = at;
    }
    return (int64_t)peak;
}

/* ---- about a block ---- */

bool tide_plan_is_called_by(const tide_plan_timeline *timeline, const tide_plan_block *block,
                            const char *function) {
    const tide_snapshot *snapshot = timeline->snapshot;
    for (uint32_t at = block->stack; at != TIDE_NONE; at = snapshot->stacks[at].parent) {
        const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[at].frame];
        if (strcmp(tide_snapshot_text(snapshot, frame->function), function) == 0) {
            return true;
        }
    }
    return false;
}

bool tide_plan_is_within(const char *layer, const char *path, size_t n_path) {
    return strncmp(layer, path, n_path) == 0 && (layer[n_path] == '\0' || layer[n_path] == '.');
}

bool tide_plan_paths_differ(const char *paths) {
    for (const char *at = paths; *at != '\0';) {
        size_t n = strcspn(at, " ");
        for (const char *next = at + n + strspn(at + n, " "); *next != '\0';) {
            size_t n_next = strcspn(next, " ");
            if (n == n_next && strncmp(at, next, n) == 0) {
                return false;
            }
            next += n_next + strspn(next + n_next, " ");
        }
        at += n + strspn(at + n, " ");
    }
    return true;
}
