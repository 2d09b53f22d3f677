#include "allocator/cards.h"

#include <string.h>

/* CUBLAS_WORKSPACE_CONFIG's default as PyTorch sets it: 4096 KiB * 2 + 16 KiB * 8, and 32 MiB for
 * compute capability 9.0 exactly. */
#define WORKSPACE_HOPPER ((size_t)33554432)
#define WORKSPACE_OTHERS ((size_t)8519680)
#define WORKSPACE_SOURCE "what PyTorch gives cuBLAS on this compute capability"
#define NOT_MEASURED "not measured"
#define CARD(name) name, "virtual:" name

/* Drivers differ by a few MiB from version to version: each figure is one report. Where a report
 * has whole MiB alone, the card has up to one MiB more. */
static const tide_card CARDS[] = {
    {CARD("h200-141"), "NVIDIA H200", INT64_C(143156) << 20, -1, WORKSPACE_HOPPER, 90,
     "PyTorch's device properties, as published: total_memory=143156MB", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("h100-80"), "NVIDIA H100 80GB HBM3", INT64_C(84929347584), -1, WORKSPACE_HOPPER, 90,
     "XLA target description of NVIDIA H100 80GB HBM3, CUDA 12.8 (device_memory_size); PyTorch's "
     "messages say 79.10 GiB",
     NOT_MEASURED, WORKSPACE_SOURCE},
    {CARD("a100-80"), "NVIDIA A100-SXM4-80GB", INT64_C(84987740160), -1, WORKSPACE_OTHERS, 80,
     "published deviceQuery output, driver CUDA 12.2: 81051 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("a100-40"), "NVIDIA A100-SXM4-40GB", INT64_C(42298834944), -1, WORKSPACE_OTHERS, 80,
     "published deviceQuery output, driver CUDA 12.2: 40339 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("l40s-48"), "NVIDIA L40S", INT64_C(45589) << 20, -1, WORKSPACE_OTHERS, 89,
     "PyTorch's device properties, as published: total_memory=45589MB", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("rtx4090-24"), "NVIDIA GeForce RTX 4090", INT64_C(25756696576), -1, WORKSPACE_OTHERS, 89,
     "published deviceQuery output, driver CUDA 12.1: 24564 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("rtx3090-24"), "NVIDIA GeForce RTX 3090", INT64_C(25447170048), -1, WORKSPACE_OTHERS, 86,
     "published deviceQuery output, driver CUDA 11.8: 24268 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("t4-16"), "Tesla T4", INT64_C(15843721216), -1, WORKSPACE_OTHERS, 75,
     "published deviceQuery output, driver CUDA 11.0: 15110 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
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

size_t tide_card_workspace_bytes(int compute_capability) {
    return compute_capability == 90 ? WORKSPACE_HOPPER : WORKSPACE_OTHERS;
}
