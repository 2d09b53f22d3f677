/* card_names.h - the message about a name that no card has. */
#ifndef TIDE_DEVICE_CARD_NAMES_H
#define TIDE_DEVICE_CARD_NAMES_H

#include "common/text/nearest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The message for a name that tide_card_find does not find: "there is no card 'x': did you mean
 * y?", or "'v100' is not one card: write v100-32 or v100-16". Returns `ret_text`. */
const char *tide_card_unknown(const char *name, char ret_text[TIDE_NEAREST_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
