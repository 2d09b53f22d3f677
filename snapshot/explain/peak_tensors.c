/* Groups the tensors that are alive at the peak of a recorded run by name. */
#include "snapshot/explain/peak_tensors.h"

#include <stdlib.h>
#include <string.h>

const char *tide_name_without_layer(const char *name) {
    static const char LAYERS[] = "layers.";
    const size_t n_start = sizeof(LAYERS) - 1;
    size_t n_digits =
        strncmp(name, LAYERS, n_start) == 0 ? strspn(name + n_start, "0123456789") : 0;
    return n_digits > 0 && name[n_start + n_digits] == '.' ? name + n_start + n_digits + 1 : name;
}

static tide_peak_group *group_of(tide_peak_group *groups, size_t *n_groups, const char *name,
                                 uint8_t category) {
    for (size_t i = 0; i < *n_groups; i++) {
        if (groups[i].category == category && strcmp(groups[i].name, name) == 0) {
            return &groups[i];
        }
    }
    groups[*n_groups] = (tide_peak_group){.name = name, .category = category};
    return &groups[(*n_groups)++];
}

static int by_bytes(const void *a, const void *b) {
    const tide_peak_group *left = a;
    const tide_peak_group *right = b;
    if (left->bytes != right->bytes) {
        return left->bytes < right->bytes ? 1 : -1;
    }
    return strcmp(left->name, right->name);
}

static tide_status group_blocks(tide_peak_tensors *p) {
    const tide_summary_peak *peak = p->peak;
    tide_peak_group *groups = tide_arena_alloc(&p->arena, peak->n_blocks, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        const char *name = tide_snapshot_text(p->snapshot, tide_lifetime_own_name(block));
        tide_peak_group *group =
            group_of(groups, &p->n_groups, tide_name_without_layer(name), block->category);
        group->bytes += (int64_t)block->block_bytes;
        group->n_blocks++;
    }
    qsort(groups, p->n_groups, sizeof(*groups), by_bytes);
    p->groups = groups;
    return TIDE_OK;
}

tide_status tide_peak_tensors_init(tide_peak_tensors *peak, const tide_snapshot *snapshot,
                                   tide_error *error) {
    *peak = (tide_peak_tensors){.snapshot = snapshot};
    tide_arena_init(&peak->arena, tide_hostmem_default());
    TIDE_TRY(tide_summary_create(snapshot, &peak->summary, error));
    if (peak->summary->n_devices == 0) {
        return tide_fail(error, TIDE_INVALID, "nothing was recorded of the run");
    }
    peak->peak = &peak->summary->devices[tide_summary_main_device(peak->summary)].peak;
    return group_blocks(peak);
}

void tide_peak_tensors_fini(tide_peak_tensors *peak) {
    tide_summary_destroy(peak->summary);
    if (peak->arena.mem != NULL) {
        tide_arena_fini(&peak->arena);
    }
    *peak = (tide_peak_tensors){.snapshot = NULL};
}
