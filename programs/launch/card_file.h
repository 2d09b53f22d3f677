/* card_file.h - the user's own card, as a JSON file.
 *
 *   {"base": "h100-80", "total_bytes": 150754820096, "n_multiprocessors": 114}
 *
 * "base" is a card of the table; figures that the file does not name are that card's.
 * device/card_text.h lists the members.
 */
#ifndef TIDE_LAUNCH_CARD_FILE_H
#define TIDE_LAUNCH_CARD_FILE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file as the text of device/card_text.h. TIDE_IO: it cannot be read. TIDE_FORMAT: the
 * message names the file, the member and the allowed values. */
TIDE_NODISCARD tide_status tide_launch_card_file(const char *path, char *ret_text, size_t n_room,
                                                 tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
