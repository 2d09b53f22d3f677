#include "device/cards.h"

#include <string.h>

/* CUBLAS_WORKSPACE_CONFIG's default as PyTorch sets it: 4096 KiB * 2 + 16 KiB * 8, and 32 MiB for
 * compute capability 9.0 exactly. */
#define WORKSPACE_HOPPER ((size_t)33554432)
#define WORKSPACE_OTHERS ((size_t)8519680)
#define WORKSPACE_SOURCE "what PyTorch gives cuBLAS on this compute capability"
#define NOT_MEASURED "not measured"
#define CARD(title) title, "virtual:" title
#define MIB(n) (INT64_C(n) << 20)
/* Bytes that a process had in use beyond those that its allocator had reserved, from one message
 * each. Messages have two decimals of a GiB, so the figures are good to 15 MiB. A program with
 * fewer kernels than PyTorch takes less. */
#define IN_USE "PyTorch's out-of-memory message, as published: in use less reserved: "

/* Drivers differ by a few MiB from version to version; each figure is one report. Where a report
 * has only whole MiB, the card has up to one MiB more. Where it has two decimals of a GiB, the
 * figure is the smallest number that rounds to them. */
static const tide_card CARDS[] = {
    {CARD("b200"), NULL, "NVIDIA B200", INT64_C(191514411008), MIB(712), WORKSPACE_OTHERS, 100,
     "XLA target description of NVIDIA B200, CUDA 12.8 (device_memory_size); PyTorch's messages "
     "say 178.35 and 178.36 GiB",
     IN_USE "168.34 - 167.64 GiB - 4.62 MiB", WORKSPACE_SOURCE},
    {CARD("h200"), "h200-141", "NVIDIA H200", MIB(143156), MIB(670), WORKSPACE_HOPPER, 90,
     "PyTorch's device properties, as published: total_memory=143156MB",
     IN_USE "139.60 - 138.14 GiB - 824.86 MiB", WORKSPACE_SOURCE},
    {CARD("h100-80"), NULL, "NVIDIA H100 80GB HBM3", INT64_C(84929347584), MIB(666),
     WORKSPACE_HOPPER, 90,
     "XLA target description of NVIDIA H100 80GB HBM3, CUDA 12.8 (device_memory_size); PyTorch's "
     "messages say 79.10 GiB",
     IN_USE "72.18 - 36.69 - 34.84 GiB", WORKSPACE_SOURCE},
    {CARD("a100-80"), NULL, "NVIDIA A100-SXM4-80GB", INT64_C(84987740160), MIB(409),
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.2: 81051 MBytes",
     IN_USE "16.54 - 15.94 GiB - 205.65 MiB", WORKSPACE_SOURCE},
    {CARD("a100-40"), NULL, "NVIDIA A100-SXM4-40GB", INT64_C(42298834944), MIB(501),
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.2: 40339 MBytes",
     IN_USE "14.25 - 12.87 GiB - 912.01 MiB", WORKSPACE_SOURCE},
    {CARD("l40s-48"), NULL, "NVIDIA L40S", MIB(45589), -1, WORKSPACE_OTHERS, 89,
     "PyTorch's device properties, as published: total_memory=45589MB", NOT_MEASURED,
     WORKSPACE_SOURCE},
    {CARD("rtx4090"), "rtx4090-24", "NVIDIA GeForce RTX 4090", MIB(24202), MIB(504),
     WORKSPACE_OTHERS, 89, "PyTorch's out-of-memory messages, as published: 23.64 GiB",
     IN_USE "14.56 - 13.86 GiB - 213.20 MiB", WORKSPACE_SOURCE},
    {CARD("rtx4060"), NULL, "NVIDIA GeForce RTX 4060", MIB(7931), MIB(115), WORKSPACE_OTHERS, 89,
     "PyTorch's out-of-memory message, as published: 7.75 GiB",
     IN_USE "7.46 - 7.13 GiB - 222.83 MiB", WORKSPACE_SOURCE},
    {CARD("rtx3090-24"), NULL, "NVIDIA GeForce RTX 3090", INT64_C(25447170048), -1,
     WORKSPACE_OTHERS, 86, "published deviceQuery output, driver CUDA 11.8: 24268 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE},
    {CARD("t4-16"), NULL, "Tesla T4", INT64_C(15843721216), -1, WORKSPACE_OTHERS, 75,
     "published deviceQuery output, driver CUDA 11.0: 15110 MBytes", NOT_MEASURED,
     WORKSPACE_SOURCE},
};

const tide_card *tide_cards(size_t *ret_n_cards) {
    *ret_n_cards = sizeof(CARDS) / sizeof(CARDS[0]);
    return CARDS;
}

const tide_card *tide_card_find(const char *name) {
    for (size_t i = 0; i < sizeof(CARDS) / sizeof(CARDS[0]); i++) {
        if (strcmp(CARDS[i].name, name) == 0 ||
            (CARDS[i].other_name != NULL && strcmp(CARDS[i].other_name, name) == 0)) {
            return &CARDS[i];
        }
    }
    return NULL;
}

size_t tide_card_workspace_bytes(int compute_capability) {
    return compute_capability == 90 ? WORKSPACE_HOPPER : WORKSPACE_OTHERS;
}
