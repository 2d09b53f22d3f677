/* machine.h - the machine that a program sees: how many virtual cards, which, and their figures.
 *
 * `tidemark run` describes it in the environment. It is read once, at the first call that needs it,
 * and never changes afterwards. A description that makes no sense ends the program with one line:
 * there is no CUDA error that a program would show as it is.
 *
 *   TIDEMARK_VIRTUAL_CARDS   cards as device/card_text.h has them, joined by "+": "h100-80+h100-80"
 *   TIDEMARK_VIRTUAL_MEMORY  bytes of each card, instead of the table's; absent: the table's
 *   TIDEMARK_VIRTUAL_SPILL   further bytes of each card that lie in the host's memory; absent: none
 *   CUDA_VISIBLE_DEVICES     as CUDA reads it: which cards the process sees, and in what order
 */
#ifndef TIDE_VIRTUAL_CUDA_MACHINE_H
#define TIDE_VIRTUAL_CUDA_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "device/cards.h"
#include "device/chips.h"

enum { TIDE_VC_MAX_DEVICES = 64 };

/* A card as the calls see it. Figures of its board that nobody has published are -1 there. */
typedef struct tide_vc_card {
    const tide_card *card;      /* valid as long as the process */
    const tide_card_chip *chip; /* static */
    uint64_t total_bytes;       /* as the runtime reports it */
    uint64_t spill_bytes;       /* given out beyond them, in the host's memory */
    uint64_t context_bytes;     /* taken by context and libraries; 0: none, or not measured */
    int major, minor;           /* compute capability */
    int number; /* on the machine, where device numbers are those that are visible */
} tide_vc_card;

/* How many cards the process sees, 0 to TIDE_VC_MAX_DEVICES. */
int tide_vc_n_devices(void);

/* Device number `device`, which the caller has checked. */
const tide_vc_card *tide_vc_card_of(int device);

/* All cards of the machine, at least 1, for NVML: it does not know CUDA_VISIBLE_DEVICES. */
int tide_vc_n_cards(void);
const tide_vc_card *tide_vc_card_at(int number);

/* A card's UUID as NVML writes it; the runtime has the same bytes. */
enum { TIDE_VC_UUID_TEXT_BYTES = 48 };
void tide_vc_uuid_text(const tide_vc_card *card, char ret_text[TIDE_VC_UUID_TEXT_BYTES]);

/* Major version of the CUDA runtime that the program was built for, 11 to 13: by the name of the
 * libcudart that is loaded; another one ends the program with one line. 13 as long as none is. */
int tide_vc_runtime_major(void);

/* CUDA's version numbers, such as 13000. */
int tide_vc_runtime_version(void);
enum { TIDE_VC_DRIVER_VERSION = 13000 };

/* The calling thread's current device, and the check of a device number. */
int tide_vc_device(void);
void tide_vc_set_device(int device);

#endif
