/* replay.h - the clocks of host and streams, while the rows of a launch log are done on a card.
 *
 * The host's clock advances by the time that the host really took between two calls, and by what a
 * launch costs it beyond that, both times one factor. Work begins when the host has launched it and
 * its stream is free. Streams that share the card are taken to overlap wholly.
 */
#ifndef TIDE_STEP_TIME_REPLAY_H
#define TIDE_STEP_TIME_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "step_time/log.h"
#include "step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A log on a card: what each row takes there. */
typedef struct tide_time_model {
    const tide_time_log *log;             /* borrowed */
    const tide_time_constants *constants; /* borrowed */
    const tide_time_card *card;           /* borrowed */
    tide_work_time *work;                 /* owned; by row */
    uint32_t *lanes;   /* owned; by row: the number of its stream, or of its event */
    uint32_t *streams; /* owned; by row: the number of the stream of an event's row */
    size_t n_lanes, n_events;
} tide_time_model;

/* The caller finishes the model, also after a failure. */
TIDE_NODISCARD tide_status tide_time_model_init(const tide_time_log *log,
                                                const tide_time_constants *constants,
                                                const tide_time_card *card,
                                                tide_time_model *ret_model);
void tide_time_model_fini(tide_time_model *model);

/* Factors of a replay. */
typedef struct tide_time_factors {
    double host;       /* of the host's time */
    double compared;   /* of the card's time in kernels that were compared with published times */
    double uncompared; /* in others whose work is known, and in guessed ones */
} tide_time_factors;

/* Where a row lies on the clocks, in microseconds since the first row. */
typedef struct tide_time_place {
    double host_us;          /* the host has made the call */
    double begin_us, end_us; /* on the card; equal: it takes no time there */
} tide_time_place;

typedef struct tide_time_totals {
    double total_us; /* until the host and all streams are done */
    double busy_us;  /* while some stream had work */
    double host_us;  /* that the host worked, without waiting for the card */
} tide_time_totals;

/* Rows first to last - 1, all streams idle at the first. ret_places: room for as many, by row of
 * the range; NULL: not wanted. TIDE_NO_MEMORY only. */
TIDE_NODISCARD tide_status tide_time_replay(const tide_time_model *model,
                                            const tide_time_factors *factors, size_t first,
                                            size_t last, tide_time_place *ret_places,
                                            tide_time_totals *ret_totals);

#ifdef __cplusplus
}
#endif

#endif
