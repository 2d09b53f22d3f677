/* work_areas.h - what a program on a virtual card may need beyond what was measured: work areas of
 * cuDNN, and the card's context. */
#ifndef TIDE_PROGRAMS_RUNS_WORK_AREAS_H
#define TIDE_PROGRAMS_RUNS_WORK_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/launch/cards.h"
#include "programs/launch/left/left.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the peaks of a process without work areas, with the likely and with the largest ones to its
 * snapshot (snapshot->work_areas); nothing if its history contradicts itself. */
TIDE_NODISCARD tide_status tide_run_add_work_areas(const tide_left *process,
                                                   const tide_summary *summary,
                                                   tide_snapshot *snapshot, tide_error *error);

/* The bytes of a card that a program may need beyond its measured ones. `card` NULL: unknown. */
int64_t tide_run_unmeasured_bytes(const tide_card *card, const tide_snapshot_work_areas *areas);

/* Whether a program that fits and left that many bytes of the card is near its limit: fewer than
 * what is not measured, or too few for the largest work areas. */
bool tide_run_is_near_limit(const tide_card *card, const tide_snapshot_work_areas *areas,
                            int64_t left_bytes);

#ifdef __cplusplus
}
#endif

#endif
