#include "snapshot/explain/facts.h"

static tide_status find_peak(tide_facts *facts) {
    const tide_lifetimes *lifetimes = facts->lifetimes;
    const tide_extreme *peak = &lifetimes->devices[facts->device].max[TIDE_MAX_ALLOCATED];
    facts->peak_bytes = peak->bytes;
    facts->peak_event = peak->event;
    size_t room = 0;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        if (block->device != facts->device || !tide_lifetime_is_allocated(block, peak->event)) {
            continue;
        }
        uint32_t *grown =
            tide_hostmem_grow(facts->mem, facts->peak, &room, facts->n_peak + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        facts->peak = grown;
        facts->peak[facts->n_peak++] = (uint32_t)i;
        bool is_weight = block->category == TIDE_PARAMETER ||
                         (tide_facts_traits(facts, block) & TIDE_IN_MODULE_INIT) != 0;
        facts->parameter_bytes += is_weight ? (int64_t)block->block_bytes : 0;
    }
    return TIDE_OK;
}

static tide_status derive_lines(tide_facts *facts) {
    TIDE_TRY(tide_stack_facts_init(&facts->stacks, facts->snapshot, facts->mem));
    TIDE_TRY(tide_scope_facts_init(&facts->scopes, facts->snapshot, facts->mem));
    TIDE_TRY(
        tide_block_lines_init(&facts->lines, &facts->stacks, &facts->scopes, facts->lifetimes));
    return facts->is_pickle && facts->stacks.has_python
               ? tide_inferred_lines_init(&facts->inferred, &facts->lines, facts->lifetimes,
                                          facts->device)
               : TIDE_OK;
}

static tide_status derive(tide_facts *facts) {
    int64_t most = -1;
    TIDE_TRY(derive_lines(facts));
    TIDE_TRY(tide_loops_init(&facts->loops, &facts->stacks));
    if (!facts->stacks.has_python) {
        TIDE_TRY(
            tide_loops_add_steps(&facts->loops, facts->snapshot, facts->lifetimes, facts->device));
    }
    const tide_growth_input input = {facts->lifetimes, &facts->loops, &facts->lines, facts->device};
    TIDE_TRY(tide_growth_init(&facts->growth, &input));
    TIDE_TRY(find_peak(facts));
    TIDE_TRY(tide_failure_find(&facts->stacks, facts->lifetimes, facts->device, &facts->failure));
    TIDE_TRY(tide_reserved_most(&facts->stacks, facts->lifetimes, facts->device, &most));
    return tide_reserved_at(&facts->stacks, facts->lifetimes, facts->device, most,
                            &facts->reserved);
}

static void begin(tide_facts *facts, const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                  size_t device) {
    *facts = (tide_facts){.snapshot = snapshot,
                          .lifetimes = lifetimes,
                          .mem = lifetimes->mem,
                          .device = device,
                          .card = snapshot->forecast.card,
                          .is_pickle = snapshot->origin.format[0] != '\0'};
}

tide_status tide_facts_init(tide_facts *facts, const tide_snapshot *snapshot,
                            const tide_lifetimes *lifetimes, size_t device) {
    begin(facts, snapshot, lifetimes, device);
    return derive(facts);
}

tide_status tide_facts_init_lines(tide_facts *facts, const tide_snapshot *snapshot,
                                  const tide_lifetimes *lifetimes, size_t device) {
    begin(facts, snapshot, lifetimes, device);
    return derive_lines(facts);
}

void tide_facts_fini(tide_facts *facts) {
    if (facts->mem != NULL) {
        tide_growth_fini(&facts->growth);
        tide_loops_fini(&facts->loops);
        tide_inferred_lines_fini(&facts->inferred);
        tide_block_lines_fini(&facts->lines);
        tide_scope_facts_fini(&facts->scopes);
        tide_stack_facts_fini(&facts->stacks);
        facts->mem->release(facts->mem->ctx, facts->peak);
        *facts = (tide_facts){.mem = NULL};
    }
}
