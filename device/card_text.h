/* card_text.h - a card as text: a name of the table, and the members that differ from it.
 *
 *   h100-80
 *   h100-80:total_bytes=150754820096:n_multiprocessors=114
 *
 * The processes of a run get their cards in this form, and a user's own card is written in it.
 */
#ifndef TIDE_DEVICE_CARD_TEXT_H
#define TIDE_DEVICE_CARD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cards.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th member that may differ: "total_bytes", "compute_capability", ...; NULL past the last. */
const char *tide_card_member(size_t i);

/* Sets a member by its name. False if the member does not exist or the value is not valid (0 bytes,
 * a compute capability that device/chips.h lacks). */
bool tide_card_set(tide_card *card, const char *member, int64_t value);

/* Reads the first n bytes of a text. False if the table lacks the card or a member is wrong. */
bool tide_card_read(const char *text, size_t n, tide_card *ret_card);

/* What the driver of virtual cards reports about itself and about the card of a number on the
 * machine, from 0: as NVML and the files of /proc have it. */
#define TIDE_CARD_DRIVER "580.00"
enum { TIDE_CARD_UUID_BYTES = 48, TIDE_CARD_PCI_BYTES = 24 };
void tide_card_uuid(int number, char ret_text[TIDE_CARD_UUID_BYTES]);
/* "0000:01:00.0" */
void tide_card_pci(int number, char ret_text[TIDE_CARD_PCI_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
