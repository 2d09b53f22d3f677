#include "snapshot/explain/causes/ends.h"

#include <string.h>

static bool is_backward_row(const tide_facts *facts, uint32_t row) {
    const tide_event event = tide_event_at(facts->snapshot, row);
    const tide_lifetime at = {.stack = event.stack, .scope = event.scope};
    return tide_block_is_backward(&facts->lines, &at);
}

static bool is_cut_short(const tide_facts *facts) {
    const char *outcome = facts->snapshot->run.outcome;
    return strcmp(outcome, TIDE_SNAPSHOT_STOPPED) == 0 ||
           strcmp(outcome, TIDE_SNAPSHOT_CRASHED) == 0 ||
           strcmp(outcome, TIDE_SNAPSHOT_RUNNING) == 0;
}

static unsigned end_of(const tide_facts *facts, const tide_lifetime *block) {
    int64_t failed = facts->failure.event;
    bool is_alive = block->freed == TIDE_LIFETIME_FOREVER;
    bool is_after = failed >= 0 && (is_alive || (int64_t)block->freed > failed);
    if (is_after || (is_alive && is_cut_short(facts))) {
        return 0;
    }
    return !is_alive && block->freed > 0 && is_backward_row(facts, block->freed - 1)
               ? TIDE_END_BACKWARD
               : TIDE_END_ELSEWHERE;
}

static uint64_t key_of(const tide_facts *facts, const tide_lifetime *block) {
    return tide_place_key(&facts->scopes, block->stack, block->scope);
}

tide_status tide_cause_ends_init(tide_cause_ends *ends, const tide_facts *facts,
                                 tide_cause_test *test) {
    *ends = (tide_cause_ends){.facts = facts};
    tide_map_init(&ends->of_place, facts->mem);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && test(facts, block)) {
            uint64_t key = key_of(facts, block);
            uint64_t bits = 0;
            (void)tide_map_find(&ends->of_place, key, &bits);
            bits |= end_of(facts, block);
            ends->has_backward = ends->has_backward || (bits & TIDE_END_BACKWARD) != 0;
            TIDE_TRY(tide_map_put(&ends->of_place, key, bits));
        }
    }
    return TIDE_OK;
}

void tide_cause_ends_fini(tide_cause_ends *ends) {
    if (ends->facts != NULL) {
        tide_map_fini(&ends->of_place);
        *ends = (tide_cause_ends){0};
    }
}

unsigned tide_cause_ends_of(const tide_cause_ends *ends, const tide_lifetime *block) {
    uint64_t bits = 0;
    (void)tide_map_find(&ends->of_place, key_of(ends->facts, block), &bits);
    return (unsigned)bits;
}
