#define _GNU_SOURCE /* dl_iterate_phdr */
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/process/inexact.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/text/setting.h"
#include "device/card_text.h"

enum { NAME_BYTES = 64, VERSIONS_A_MAJOR = 1000 };
/* The major versions whose structs and signatures were compared with NVIDIA's headers. */
enum { LOWEST_RUNTIME = 11, HIGHEST_RUNTIME = 13 };

static struct machine {
    pthread_once_t once; /* for the cards, which are constant afterwards */
    tide_card boards[TIDE_VC_MAX_DEVICES];
    tide_vc_card cards[TIDE_VC_MAX_DEVICES];
    int n_cards;
    pthread_once_t once_visible; /* for the two below; CUDA reads them later than NVML answers */
    int visible[TIDE_VC_MAX_DEVICES]; /* numbers of cards, by device number */
    int n_visible;
    int linked_version; /* of the first runtime that is linked into the program; 0: none */
} here = {.once = PTHREAD_ONCE_INIT, .once_visible = PTHREAD_ONCE_INIT};
static _Thread_local int current_device;

/* A program cannot continue without a card to imitate, and cannot report why. */
static void refuse(const char *what, const char *value) {
    fprintf(stderr, "tidemark: %s: '%s'\n", what, value);
    _exit(125);
}

static tide_vc_card card_of(const tide_card *card, uint64_t total_bytes) {
    return (tide_vc_card){
        .card = card,
        .chip = tide_card_chip_find(card->compute_capability),
        .total_bytes = total_bytes != 0 ? total_bytes : (uint64_t)card->total_bytes,
        .context_bytes = card->context_bytes > 0 ? (uint64_t)card->context_bytes : 0,
        .major = card->compute_capability / 10,
        .minor = card->compute_capability % 10,
    };
}

static uint64_t bytes_of(const char *name, const char *text) {
    char *end = NULL;
    errno = 0;
    uint64_t n_bytes = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n_bytes == 0) {
        char why[NAME_BYTES];
        (void)snprintf(why, sizeof(why), "%s is no number of bytes", name);
        refuse(why, text);
    }
    return n_bytes;
}

static void read_machine(void) {
    const char *names = tide_setting("TIDEMARK_VIRTUAL_CARDS");
    const char *memory = tide_setting("TIDEMARK_VIRTUAL_MEMORY");
    const char *spill = tide_setting("TIDEMARK_VIRTUAL_SPILL");
    uint64_t total_bytes = memory != NULL ? bytes_of("TIDEMARK_VIRTUAL_MEMORY", memory) : 0;
    uint64_t spill_bytes = spill != NULL ? bytes_of("TIDEMARK_VIRTUAL_SPILL", spill) : 0;
    (void)tide_vc_runtime_major(); /* ends the program if the version is not supported */
    names = names != NULL && names[0] != '\0' ? names : "h100-80";
    for (const char *at = names; *at != '\0';) {
        char name[NAME_BYTES];
        size_t n = strcspn(at, "+");
        snprintf(name, sizeof(name), "%.*s", (int)n, at);
        if (here.n_cards == TIDE_VC_MAX_DEVICES) {
            refuse("TIDEMARK_VIRTUAL_CARDS has more than 64 cards", names);
        }
        tide_card *card = &here.boards[here.n_cards];
        if (!tide_card_read(at, n, card)) {
            refuse("TIDEMARK_VIRTUAL_CARDS names no card of the table", name);
        }
        here.cards[here.n_cards] = card_of(card, total_bytes);
        /* Capped so that adding it to the card's bytes cannot overflow. */
        here.cards[here.n_cards].spill_bytes =
            spill_bytes < UINT64_MAX / 4 ? spill_bytes : UINT64_MAX / 4;
        here.cards[here.n_cards].number = here.n_cards;
        here.n_cards++;
        at += n + (at[n] == '+');
    }
}

int tide_vc_n_cards(void) {
    pthread_once(&here.once, read_machine);
    return here.n_cards;
}

const tide_vc_card *tide_vc_card_at(int number) {
    pthread_once(&here.once, read_machine);
    TIDE_ASSERT(number >= 0 && number < here.n_cards);
    return &here.cards[number];
}

void tide_vc_uuid_text(const tide_vc_card *card, char ret_text[TIDE_VC_UUID_TEXT_BYTES]) {
    tide_card_uuid(card->number, ret_text);
}

/* The card that an item of CUDA_VISIBLE_DEVICES names: by its number, or by the beginning of its
 * UUID. -1 if there is none. */
static int card_named(const char *item, size_t n) {
    char *end = NULL;
    if (n > 4 && strncmp(item, "GPU-", 4) == 0) {
        for (int i = 0; i < here.n_cards; i++) {
            char uuid[TIDE_VC_UUID_TEXT_BYTES];
            tide_vc_uuid_text(&here.cards[i], uuid);
            if (strncmp(item, uuid, n) == 0) {
                return i;
            }
        }
        return -1;
    }
    long number = strtol(item, &end, 10);
    return end > item && end <= item + n && number >= 0 && number < here.n_cards ? (int)number : -1;
}

/* CUDA uses the items before the first that names no card, and none at all if one is repeated.
 */
static void read_visible(void) {
    pthread_once(&here.once, read_machine);
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; at == NULL && i < here.n_cards; i++) {
        here.visible[here.n_visible++] = i;
    }
    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, ",");
        int number = card_named(at, n);
        if (number < 0) {
            return;
        }
        for (int i = 0; i < here.n_visible; i++) {
            if (here.visible[i] == number) {
                here.n_visible = 0;
                return;
            }
        }
        TIDE_ASSERT(here.n_visible < here.n_cards); /* none is there twice */
        here.visible[here.n_visible++] = number;
        at += n + (at[n] == ',');
    }
}

int tide_vc_n_devices(void) {
    pthread_once(&here.once_visible, read_visible);
    return here.n_visible;
}

const tide_vc_card *tide_vc_card_of(int device) {
    pthread_once(&here.once_visible, read_visible);
    TIDE_ASSERT(device >= 0 && device < TIDE_VC_MAX_DEVICES);
    return &here.cards[here.visible[device]];
}

int tide_vc_device(void) {
    return current_device;
}

void tide_vc_set_device(int device) {
    TIDE_ASSERT(device >= 0 && device < TIDE_VC_MAX_DEVICES);
    current_device = device;
}

static int see_library(struct dl_phdr_info *info, size_t n_bytes, void *ret_major) {
    (void)n_bytes;
    const char *name = info->dlpi_name != NULL ? strstr(info->dlpi_name, "libcudart.so.") : NULL;
    if (name != NULL) {
        int major = atoi(name + strlen("libcudart.so."));
        if (major < LOWEST_RUNTIME || major > HIGHEST_RUNTIME) {
            refuse("the virtual card serves the CUDA runtime 11 to 13, and this program has", name);
        }
        *(int *)ret_major = major;
    }
    return 0;
}

/* Of a libcudart that is loaded; 0: there is none yet. The first holds for the process, because a
 * second one of another version would share these functions anyway. */
static int shared_major(void) {
    static int known;
    int major = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (major == 0) {
        dl_iterate_phdr(see_library, &major);
        __atomic_store_n(&known, major, __ATOMIC_RELAXED);
        int linked = __atomic_load_n(&here.linked_version, __ATOMIC_RELAXED) / VERSIONS_A_MAJOR;
        if (major != 0 && linked != 0 && linked != major) {
            tide_vc_inexact("libcudart", "the process also has a CUDA runtime of another version "
                                         "linked in: calls whose arguments differ between the two "
                                         "versions are read as those of libcudart");
        }
    }
    return major;
}

int tide_vc_runtime_major(void) {
    int shared = shared_major();
    int linked = __atomic_load_n(&here.linked_version, __ATOMIC_RELAXED);
    return shared != 0 ? shared : linked != 0 ? linked / VERSIONS_A_MAJOR : 13;
}

int tide_vc_runtime_add(int version) {
    int none = 0;
    (void)__atomic_compare_exchange_n(&here.linked_version, &none, version, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    return tide_vc_runtime_major();
}

int tide_vc_runtime_version(void) {
    int linked = __atomic_load_n(&here.linked_version, __ATOMIC_RELAXED);
    if (shared_major() == 0 && linked != 0) {
        return linked;
    }
    int major = tide_vc_runtime_major();
    return major >= 13 ? 13000 : major == 12 ? 12080 : 11080;
}
