/* cards.h - the cards that a device specification names.
 */
#ifndef TIDE_LAUNCH_CARDS_H
#define TIDE_LAUNCH_CARDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "device/cards.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_LAUNCH_MAX_CARDS = 64, TIDE_LAUNCH_CARDS_BYTES = 16384 };

/* "virtual:h100-80", "virtual:h100-80x8", "virtual:h100-80+a100-40" or "virtual:FILE.json" (see
 * card_file.h) as cards joined by "+": what tide_launch_config.cards takes. TIDE_INVALID names what
 * is wrong and what is near. */
TIDE_NODISCARD tide_status tide_launch_cards(const char *spec,
                                             char ret_cards[TIDE_LAUNCH_CARDS_BYTES],
                                             tide_error *error);

/* The card number `device` of such a list. False: it has fewer. */
bool tide_launch_card(const char *cards, size_t device, tide_card *ret_card);

/* How many cards the list has. */
size_t tide_launch_n_cards(const char *cards);

#ifdef __cplusplus
}
#endif

#endif
