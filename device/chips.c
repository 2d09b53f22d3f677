#include "device/chips.h"

#define KIB(n) ((size_t)(n)*1024)
/* The guide's table "Technical specifications per compute capability". Its newest editions omit
 * Volta. */
#define GUIDE "CUDA C++ programming guide, technical specifications per compute capability"
#define TRAITS "CCCL, cuda::arch_traits"

/* From 8.0 on, the system reserves 1 KiB for each block, so one block can have 1 KiB less than the
 * multiprocessor. From 8.0 on, tensor cores support bf16 and part of the L2 cache can be set aside;
 * clusters came with 9.0. */
static const tide_card_chip CHIPS[] = {
    {70, "Volta", 2048, 32, KIB(96), KIB(96), 0, false, false, false,
     TRAITS "; XLA target description of Tesla V100-SXM2-16GB"},
    {75, "Turing", 1024, 16, KIB(64), KIB(64), 0, false, false, false, GUIDE "; " TRAITS},
    {80, "Ampere", 2048, 32, KIB(164), KIB(163), KIB(1), true, true, false,
     GUIDE "; " TRAITS "; XLA target description of NVIDIA A100-SXM4-40GB"},
    {86, "Ampere", 1536, 16, KIB(100), KIB(99), KIB(1), true, true, false,
     GUIDE "; " TRAITS "; XLA target description of NVIDIA RTX A6000"},
    {89, "Ada Lovelace", 1536, 24, KIB(100), KIB(99), KIB(1), true, true, false, GUIDE "; " TRAITS},
    {90, "Hopper", 2048, 32, KIB(228), KIB(227), KIB(1), true, true, true,
     GUIDE "; " TRAITS "; XLA target description of NVIDIA H100 80GB HBM3"},
    {100, "Blackwell", 2048, 32, KIB(228), KIB(227), KIB(1), true, true, true,
     GUIDE "; " TRAITS "; XLA target description of NVIDIA B200"},
    {120, "Blackwell", 1536, 24, KIB(100), KIB(99), KIB(1), true, true, true, GUIDE "; " TRAITS},
};

const tide_card_chip *tide_card_chips(size_t *ret_n_chips) {
    *ret_n_chips = sizeof(CHIPS) / sizeof(CHIPS[0]);
    return CHIPS;
}

const tide_card_chip *tide_card_chip_find(int compute_capability) {
    for (size_t i = 0; i < sizeof(CHIPS) / sizeof(CHIPS[0]); i++) {
        if (CHIPS[i].compute_capability == compute_capability) {
            return &CHIPS[i];
        }
    }
    return NULL;
}
