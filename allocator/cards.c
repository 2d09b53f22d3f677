#include "allocator/cards.h"

#include <string.h>

/* CUBLAS_WORKSPACE_CONFIG's default as PyTorch sets it: 4096 KiB * 2 + 16 KiB * 8, and 32 MiB for
 * compute capability 9.0 exactly. */
#define WORKSPACE_HOPPER ((size_t)33554432)
#define WORKSPACE_SOURCE "PyTorch's cuBLAS workspace for this compute capability"
#define NOT_MEASURED "not measured"

/* The compiler XLA ships this description of the card, device_memory_size included; 79.10 GiB is
 * also what PyTorch's out-of-memory messages on it say. */
#define H100_SOURCE                                                                                \
    "XLA's target description of NVIDIA H100 80GB HBM3 (device_memory_size); PyTorch's messages "  \
    "say 79.10 GiB"

static const tide_card CARDS[] = {
    {.name = "h100-80",
     .title = "NVIDIA H100 80GB HBM3",
     .total_bytes = INT64_C(84929347584),
     .context_bytes = -1,
     .workspace_bytes = WORKSPACE_HOPPER,
     .compute_capability = 90,
     .total_source = H100_SOURCE,
     .context_source = NOT_MEASURED,
     .workspace_source = WORKSPACE_SOURCE},
};

const tide_card *tide_cards(size_t *ret_n_cards) {
    *ret_n_cards = sizeof(CARDS) / sizeof(CARDS[0]);
    return CARDS;
}

const tide_card *tide_card_find(const char *name) {
    for (size_t i = 0; i < sizeof(CARDS) / sizeof(CARDS[0]); i++) {
        if (strcmp(CARDS[i].name, name) == 0) {
            return &CARDS[i];
        }
    }
    return NULL;
}
