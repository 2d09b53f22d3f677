/* Patterns of reserved memory that no tensor holds: caches of side streams, pools of CUDA graphs,
 * and a cache that was emptied. */
#include "common/text/plural.h"
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/causes/place_sizes.h"

enum {
    STREAMS_PERCENT = 15, /* of the reserved memory, at least, free for other streams */
    MAIN_PERCENT = 20,    /* of the reserved memory, at least, of the main stream beside them */
    POOLS_PERCENT = 20,   /* of the reserved memory, at least, in pools of graphs */
    NEAR_PERCENT = 3,     /* of the capacity: less does not count as room */
    LEAST_POOLS = 3,      /* of graphs: one for each */
    LEAST_SIZES = 4       /* for which one line was captured */
};

#define STREAMS_LEAST (INT64_C(256) << 20) /* bytes that are free for other streams */

/* Whether the first failed request found no room, but would have found it in the free memory of
 * this kind. */
static bool would_serve(const tide_facts *facts, tide_reserved_kind kind) {
    const tide_failure *failure = &facts->failure;
    if (failure->event < 0 || failure->free_bytes < 0 || failure->kind == kind) {
        return false;
    }
    int64_t elsewhere = failure->margin_bytes - failure->usable_margin_bytes;
    int64_t free_bytes = failure->reserved.parts[kind].free_bytes;
    return failure->margin_bytes >= 0 &&
           failure->usable_margin_bytes < failure->capacity_bytes / 100 * NEAR_PERCENT &&
           free_bytes >= failure->asked_bytes && free_bytes > elsewhere / 2;
}

/* The instant to describe: the failure if it could have been served, else the reserved peak. */
static const tide_reserved *instant_of(const tide_facts *facts, tide_reserved_kind kind) {
    return would_serve(facts, kind) ? &facts->failure.reserved : &facts->reserved;
}

static tide_cause begin(const tide_facts *facts, const char *id, tide_reserved_kind kind,
                        int64_t bytes) {
    return (tide_cause){.id = id,
                        .tier = would_serve(facts, kind) ? TIDE_TIER_GROWTH : TIDE_TIER_PEAK,
                        .share = (double)bytes / (double)instant_of(facts, kind)->bytes,
                        .is_of_reserved = true,
                        .bytes = bytes};
}

/* ---- side streams ---- */

static tide_status say_streams(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char free_bytes[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    const tide_reserved *at = instant_of(facts, TIDE_RESERVED_STREAMS);
    const tide_reserved_part *part = &at->parts[TIDE_RESERVED_STREAMS];
    bool is_much =
        would_serve(facts, TIDE_RESERVED_STREAMS) ||
        (part->free_bytes > STREAMS_LEAST && part->free_bytes > at->bytes / 100 * STREAMS_PERCENT);
    bool is_side = at->parts[TIDE_RESERVED_MAIN].total_bytes > at->bytes / 100 * MAIN_PERCENT;
    if (!is_much || !is_side) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = begin(facts, "side_stream_cache", TIDE_RESERVED_STREAMS, part->free_bytes);
    tide_text_add(&text,
                  "%s of the %s reserved was free, but cached for %s other than the main one, and "
                  "only requests on %s can use them.",
                  tide_bytes_format(part->free_bytes, free_bytes),
                  tide_bytes_format(at->bytes, all),
                  tide_plural(part->n_owners, "a stream", "streams"),
                  tide_plural(part->n_owners, "that stream", "those streams"));
    if (part->line != TIDE_NONE) {
        tide_text_add(&text, " Most of them were allocated at %s.",
                      tide_cause_quoted(facts, part->line, "", place));
    }
    cause.words = words;
    cause.cure = "allocate in the main stream and only compute in the side stream, reuse one side "
                 "stream instead of new ones, or call `torch.cuda.empty_cache()` once after it";
    return tide_causes_add(to, &cause);
}

/* ---- CUDA graphs ---- */

/* Whether an allocation went to the pool of a graph. Handles that graphs share look like pools that
 * the program made; graphs are captured on a stream other than the main one. */
static bool is_captured(const tide_snapshot *snapshot, size_t row) {
    uint16_t pool = snapshot->event_pool[row];
    uint8_t stream = snapshot->events.stream[row];
    bool is_main = stream >= snapshot->n_streams || snapshot->streams[stream].handle == 0;
    return pool != 0 && (snapshot->pools[pool - 1].id[0] != 0 || !is_main);
}

/* Counts the sizes of blocks in pools of graphs. Allocations outside of them separate one capture
 * from the next. */
static tide_status add_captures(const tide_facts *facts, tide_place_sizes *to) {
    uint64_t capture = 0;
    bool is_in = false;
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device != facts->device || block->born == 0) {
            continue;
        }
        bool was_in = is_in;
        is_in = is_captured(facts->snapshot, block->born - 1);
        capture += is_in && !was_in;
        if (is_in) {
            TIDE_TRY(tide_place_sizes_add(to, block, capture));
        }
    }
    return TIDE_OK;
}

/* The most sizes that one place was captured with, and its line. */
static tide_status find_sizes(const tide_facts *facts, size_t *ret_n, uint32_t *ret_line) {
    tide_place_sizes of;
    tide_status status = TIDE_OK;
    *ret_n = 0;
    *ret_line = TIDE_NONE;
    tide_place_sizes_init(&of, facts);
    if (facts->snapshot->event_pool != NULL) {
        status = add_captures(facts, &of);
    }
    for (size_t i = 0; i < of.n_places; i++) {
        if (of.places[i].n_sizes > *ret_n) {
            *ret_n = of.places[i].n_sizes;
            *ret_line = tide_stack_program(&facts->stacks, of.places[i].stack);
        }
    }
    tide_place_sizes_fini(&of);
    return status;
}

static void add_pools(const tide_reserved *at, tide_text *to) {
    char pools[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    const tide_reserved_part *part = &at->parts[TIDE_RESERVED_POOLS];
    tide_text_add(to, "%s of the %s reserved are in ", tide_bytes_format(part->total_bytes, pools),
                  tide_bytes_format(at->bytes, all));
    if (part->n_owners == 1) {
        tide_text_add(to, "a private pool of CUDA graphs");
    } else {
        tide_text_add(to, "%zu private pools of CUDA graphs", part->n_owners);
    }
}

static tide_status say_pools(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    const tide_reserved *at = instant_of(facts, TIDE_RESERVED_POOLS);
    const tide_reserved_part *part = &at->parts[TIDE_RESERVED_POOLS];
    size_t n_sizes = 0;
    uint32_t line = TIDE_NONE;
    if (part->total_bytes <= at->bytes / 100 * POOLS_PERCENT &&
        !would_serve(facts, TIDE_RESERVED_POOLS)) {
        return TIDE_OK;
    }
    TIDE_TRY(find_sizes(facts, &n_sizes, &line));
    bool has_many = part->n_owners >= LEAST_POOLS;
    if (!has_many && n_sizes < LEAST_SIZES) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = begin(facts, "graph_pools", TIDE_RESERVED_POOLS, part->total_bytes);
    add_pools(at, &text);
    tide_text_add(&text, has_many ? ". Each graph keeps a pool of its own, which no other request "
                                    "can use, even between replays."
                                  : ". Each graph keeps the memory of its size, which no other "
                                    "request can use, even between replays.");
    if (n_sizes >= LEAST_SIZES) {
        tide_text_add(&text, " %s was captured for at least %zu sizes.",
                      tide_cause_quoted(facts, line, ",", place), n_sizes);
    }
    cause.words = words;
    cause.cure = has_many ? "pad inputs to a few sizes, capture the largest first, and share one "
                            "pool: `torch.cuda.graph(g, pool=first.pool())`"
                          : "pad inputs to a few sizes and capture the largest first (with "
                            "torch.compile: "
                            "`torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True`)";
    cause.cost = "padding computes more";
    return tide_causes_add(to, &cause);
}

/* ---- an emptied cache ---- */

/* Whether a line of the program itself calls torch.cuda.empty_cache(), rather than a library. */
static bool empties(const tide_facts *facts, uint32_t stack) {
    if ((tide_stack_traits(&facts->stacks, stack) & TIDE_IN_EMPTY_CACHE) == 0) {
        return false;
    }
    uint32_t innermost = facts->stacks.python[stack];
    uint32_t caller =
        innermost != TIDE_NONE ? facts->snapshot->stacks[innermost].parent : TIDE_NONE;
    return caller != TIDE_NONE && caller == tide_stack_program(&facts->stacks, stack);
}

static bool has_emptied(const tide_facts *facts) {
    const tide_event_table *events = &facts->snapshot->events;
    for (size_t i = 0; i < facts->snapshot->n_events; i++) {
        bool is_freed = events->action[i] == TIDE_ACTION_SEGMENT_FREE ||
                        events->action[i] == TIDE_ACTION_SEGMENT_UNMAP;
        if (events->device[i] == facts->device && is_freed &&
            empties(facts, tide_index_at(&events->stack, i))) {
            return true;
        }
    }
    return false;
}

static tide_status say_returned(const tide_facts *facts, tide_causes *to) {
    const tide_totals *end = &facts->lifetimes->devices[facts->device].end;
    bool is_empty = end->allocated_bytes == 0 && end->reserved_bytes == 0;
    if (!is_empty || facts->failure.event >= 0 || !has_emptied(facts)) {
        return TIDE_OK;
    }
    const tide_cause cause = {
        .id = "all_returned",
        .tier = TIDE_TIER_ADVICE,
        .share = 0.5,
        .is_of_reserved = true,
        .bytes = 0,
        .words = "At the end nothing is allocated and nothing is reserved: "
                 "`torch.cuda.empty_cache()` returned all of it to the driver.",
        .cure = "none is needed. What nvidia-smi still shows then is the CUDA context of the "
                "process, some 300 to 600 MiB, which remains until the process ends"};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_reserved(const tide_facts *facts, tide_causes *to) {
    TIDE_TRY(say_pools(facts, to));
    TIDE_TRY(say_streams(facts, to));
    return say_returned(facts, to);
}
