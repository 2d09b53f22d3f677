#include "programs/launch/left/peaks.h"

#include "common/hostmem.h"
#include "snapshot/explain/facts.h"
#include "snapshot/explain/words/growth_words.h"

/* The larger of a statistic and the history's peak. */
static int64_t peak_of(int64_t stated_bytes, const tide_summary *summary, size_t device,
                       size_t which) {
    if (summary == NULL || device >= summary->n_devices) {
        return stated_bytes;
    }
    int64_t seen_bytes = summary->devices[device].max[which].bytes;
    return seen_bytes > stated_bytes ? seen_bytes : stated_bytes;
}

int64_t tide_left_allocated_peak(const tide_left *process, const tide_summary *summary,
                                 size_t device) {
    return peak_of(process->peaks[device].allocated_bytes, summary, device, TIDE_MAX_ALLOCATED);
}

int64_t tide_left_reserved_peak(const tide_left *process, const tide_summary *summary,
                                size_t device) {
    return peak_of(process->peaks[device].reserved_bytes, summary, device, TIDE_MAX_RESERVED);
}

size_t tide_left_fullest_device(const tide_left *process, const tide_summary *summary) {
    size_t fullest = 0;
    for (size_t d = 1; d < process->n_devices; d++) {
        if (tide_left_reserved_peak(process, summary, d) >
            tide_left_reserved_peak(process, summary, fullest)) {
            fullest = d;
        }
    }
    return fullest;
}

int64_t tide_left_growth_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, tide_text *to, int64_t *ret_passes) {
    tide_facts facts;
    int64_t bytes = 0;
    *ret_passes = -1;
    if (tide_facts_init(&facts, snapshot, lifetimes, device) == TIDE_OK &&
        facts.growth.n_facts > 0) {
        const tide_growth_fact *fact = &facts.growth.facts[0];
        bytes = tide_growth_each(fact);
        *ret_passes = (int64_t)fact->n_passes;
        if (to != NULL) {
            tide_growth_add_words(&facts, fact, to);
        }
    }
    tide_facts_fini(&facts);
    return bytes;
}

int64_t tide_left_growth(const tide_snapshot *snapshot, size_t device, tide_text *to,
                         int64_t *ret_passes) {
    tide_lifetimes lifetimes;
    *ret_passes = -1;
    if (tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return 0;
    }
    int64_t growth = tide_left_growth_from(snapshot, &lifetimes, device, to, ret_passes);
    tide_lifetimes_fini(&lifetimes);
    return growth;
}

bool tide_left_first_out(const tide_left_list *list, size_t *ret_process) {
    const tide_left *first = NULL;
    for (size_t i = 0; i < list->n_processes; i++) {
        const tide_left *process = &list->processes[i];
        if (process->is_out_of_memory &&
            (first == NULL || process->ended_unix_us < first->ended_unix_us)) {
            first = process;
            *ret_process = i;
        }
    }
    return first != NULL;
}

int64_t tide_left_first_failure(const tide_snapshot *snapshot) {
    for (size_t i = 0; snapshot != NULL && i < snapshot->n_events; i++) {
        if (snapshot->events.action[i] == TIDE_ACTION_OOM) {
            return (int64_t)i;
        }
    }
    return -1;
}
