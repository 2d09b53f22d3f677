/* machine.h - the machine that a program sees: the number of virtual cards and their figures.
 *
 * `tidemark run` describes the machine in the environment. The first call that needs it reads it,
 * and it never changes afterwards. An invalid description ends the program with one line, because
 * no CUDA error would carry the reason to the user.
 *
 *   TIDEMARK_VIRTUAL_CARDS   cards as in device/card_text.h, joined by "+": "h100-80+h100-80"
 *   TIDEMARK_VIRTUAL_MEMORY  bytes of each card, instead of the table's; absent: the table's
 *   TIDEMARK_VIRTUAL_SPILL   further bytes of each card, in the host's memory; absent: none
 *   CUDA_VISIBLE_DEVICES     as CUDA reads it: which cards the process sees, and in what order
 */
#ifndef TIDE_VIRTUAL_CUDA_MACHINE_H
#define TIDE_VIRTUAL_CUDA_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "device/card_text.h"
#include "device/cards.h"
#include "device/chips.h"

enum { TIDE_VC_MAX_DEVICES = 64 };

/* A card as the calls see it. Unpublished figures of its board are -1. */
typedef struct tide_vc_card {
    const tide_card *card;      /* valid as long as the process */
    const tide_card_chip *chip; /* static */
    uint64_t total_bytes;       /* as the runtime reports it */
    uint64_t spill_bytes;       /* may be allocated beyond total_bytes, in the host's memory */
    uint64_t context_bytes;     /* for context and libraries; 0: none, or not measured */
    int major, minor;           /* compute capability */
    int number;                 /* on the machine; device numbers count only visible cards */
} tide_vc_card;

/* How many cards the process sees, 0 to TIDE_VC_MAX_DEVICES. */
int tide_vc_n_devices(void);

/* Device number `device`, which the caller has checked. */
const tide_vc_card *tide_vc_card_of(int device);

/* All cards of the machine, at least 1. For NVML, which ignores CUDA_VISIBLE_DEVICES. */
int tide_vc_n_cards(void);
const tide_vc_card *tide_vc_card_at(int number);

/* A card's UUID as NVML writes it; the runtime has the same bytes. */
enum { TIDE_VC_UUID_TEXT_BYTES = TIDE_CARD_UUID_BYTES };
void tide_vc_uuid_text(const tide_vc_card *card, char ret_text[TIDE_VC_UUID_TEXT_BYTES]);

/* Major version of the CUDA runtime that the program was built for, 11 to 13, from the name of the
 * loaded libcudart, or of a runtime that is linked into the program. Another version ends the
 * program with one line. 13 while there is none. */
int tide_vc_runtime_major(void);

/* A runtime of this version, such as 12090, is linked into the program. Returns
 * tide_vc_runtime_major, which is of another version if the process has several. */
int tide_vc_runtime_add(int version);

/* CUDA's version numbers, such as 13000. */
int tide_vc_runtime_version(void);
enum { TIDE_VC_DRIVER_VERSION = 13000 };

/* The calling thread's current device, and the check of a device number. */
int tide_vc_device(void);
void tide_vc_set_device(int device);

#endif
