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

/* Converts "virtual:h100-80", "virtual:h100-80x8", "virtual:h100-80+a100-40" or "virtual:FILE.json"
 * (see card_file.h) to cards joined by "+", the form of tide_launch_config.cards. TIDE_INVALID
 * names the wrong part and similar names. */
TIDE_NODISCARD tide_status tide_launch_cards(const char *spec,
                                             char ret_cards[TIDE_LAUNCH_CARDS_BYTES],
                                             tide_error *error);

/* Card number `device` of such a list. False: the list is shorter. */
bool tide_launch_card(const char *cards, size_t device, tide_card *ret_card);

/* The number of cards in the list. */
size_t tide_launch_n_cards(const char *cards);

#ifdef __cplusplus
}
#endif

#endif
