#include "snapshot/document/work_areas.h"

#include "snapshot/document/snapshot.h"

const tide_snapshot_work_areas *tide_work_areas_of(const tide_snapshot *snapshot, size_t device) {
    for (size_t i = 0; i < snapshot->n_work_areas; i++) {
        if (snapshot->work_areas[i].device == (int64_t)device) {
            return &snapshot->work_areas[i];
        }
    }
    return NULL;
}
