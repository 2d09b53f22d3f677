/* card.h - the rates of a card, from which times follow.
 *
 * The rates of products are those that the vendor states (device/peaks.h). The bandwidth follows
 * from the memory's clock and the width of its bus (device/cards.h). The sources are given there. A
 * card that lacks one of them is refused, because a time without a source would be a guess.
 */
#ifndef TIDE_STEP_TIME_CARD_H
#define TIDE_STEP_TIME_CARD_H

#include <stdbool.h>

#include "programs/wire/run_launches.h"
#include "common/status.h"
#include "device/cards.h"
#include "device/peaks.h"
#include "programs/step_time/constants.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TIME_N_COMPARED = 11 }; /* cards of the table with is_compared set */

typedef struct tide_time_card {
    const tide_card *card;        /* static, or the caller's */
    const tide_stated_peak *peak; /* static */
    double bandwidth;             /* bytes a second of the device's memory */
    double cache_bytes;           /* of the L2 cache */
    double n_multiprocessors;
    double clock_hz; /* highest clock of the multiprocessors */
    tide_time_chip chip;
    tide_time_memory memory;
    bool is_compared; /* the forecast was compared with published times of this card, or of one with
                       * its chip (docs/guide/virtual-time.md) */
} tide_time_card;

/* TIDE_INVALID: a rate of the card has no source; the message names it, and cards that have all.
 * `card` is borrowed as long as *ret_card is used. */
TIDE_NODISCARD tide_status tide_time_card_of(const tide_card *card, tide_time_card *ret_card,
                                             tide_error *error);

/* The vendor's stated FLOP a second for products of that type; -1 if unstated. */
double tide_time_card_flops(const tide_time_card *card, tide_run_type type);

#ifdef __cplusplus
}
#endif

#endif
