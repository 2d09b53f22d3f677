/* replay.h - replays a launch log on a card: its rows, in order, on the clocks of host and streams
 * (clock.h).
 */
#ifndef TIDE_STEP_TIME_REPLAY_H
#define TIDE_STEP_TIME_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "programs/step_time/clock.h"
#include "programs/step_time/log.h"
#include "programs/step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A log on a card: the time of each row there. */
typedef struct tide_time_model {
    const tide_time_log *log;             /* borrowed */
    const tide_time_constants *constants; /* borrowed */
    const tide_time_card *card;           /* borrowed */
    tide_work_time *work;                 /* owned; by row */
    uint32_t *lanes;   /* owned; by row: the number of its stream, or of its event */
    uint32_t *streams; /* owned; by row: the number of the stream of an event's row */
    size_t n_lanes, n_events;
} tide_time_model;

/* The caller calls tide_time_model_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_time_model_init(const tide_time_log *log,
                                                const tide_time_constants *constants,
                                                const tide_time_card *card,
                                                tide_time_model *ret_model);
void tide_time_model_fini(tide_time_model *model);

typedef struct tide_time_totals {
    double total_us; /* until the host and all streams are done */
    double busy_us;  /* while some stream had work */
    double host_us;  /* the host's working time, without waiting for the card */
} tide_time_totals;

/* Replays rows first to last - 1; all streams are idle at the first. ret_places: room for as many,
 * by row of the range; NULL: not wanted. Fails only with TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_time_replay(const tide_time_model *model,
                                            const tide_time_factors *factors, size_t first,
                                            size_t last, tide_time_place *ret_places,
                                            tide_time_totals *ret_totals);

#ifdef __cplusplus
}
#endif

#endif
