#include "programs/step_time/card.h"

#include <stddef.h>
#include <string.h>

/* Cards with published times of steps or kernels, as docs/guide/virtual-time.md lists them. */
static const char *const COMPARED[TIDE_TIME_N_COMPARED] = {
    "h100-80", "h100-pcie",    "h200",       "b200",    "a100-80", "a100-80-pcie",
    "a100-40", "a100-40-pcie", "rtx3090-24", "rtx4090", "rtx5090"};

static bool is_compared(const char *name) {
    for (size_t i = 0; i < TIDE_TIME_N_COMPARED; i++) {
        if (strcmp(COMPARED[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static tide_time_chip chip_of(const tide_card *card) {
    static const char GEFORCE[] = "NVIDIA GeForce ";
    switch (card->compute_capability) {
    case 86:
    case 89:
    case 120:
    case 121:
        return strncmp(card->title, GEFORCE, sizeof(GEFORCE) - 1) == 0 ? TIDE_TIME_GEFORCE
                                                                       : TIDE_TIME_GRAPHICS;
    default:
        return card->compute_capability < 90 ? TIDE_TIME_COMPUTE : TIDE_TIME_HOPPER;
    }
}

/* By the chip and, for HBM2 and HBM2e, by the clock. */
static tide_time_memory memory_of(const tide_card *card) {
    enum { FAST_HBM2_KHZ = 1400000 };
    if (card->compute_capability == 80) {
        return card->board.memory_clock_khz > FAST_HBM2_KHZ ? TIDE_TIME_HBM2E
                                                            : TIDE_TIME_OTHER_MEMORY;
    }
    if (chip_of(card) == TIDE_TIME_HOPPER) {
        return TIDE_TIME_HBM3;
    }
    if (chip_of(card) != TIDE_TIME_GEFORCE) {
        return TIDE_TIME_OTHER_MEMORY;
    }
    return card->compute_capability == 86   ? TIDE_TIME_GDDR6X
           : card->compute_capability == 89 ? TIDE_TIME_GDDR6X_CACHED
                                            : TIDE_TIME_GDDR7;
}

static tide_status refuse(const tide_card *card, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_INVALID,
                     "%s: %s has no source, so no time is forecast; h100-80, h200, a100-80 and "
                     "rtx4090 are among the cards that have all (docs/guide/virtual-time.md)",
                     card->name, what);
}

tide_status tide_time_card_of(const tide_card *card, tide_time_card *ret_card, tide_error *error) {
    const tide_card_board *board = &card->board;
    const tide_stated_peak *peak = tide_stated_peak_find(card->title);
    if (peak == NULL) {
        return refuse(card, "its rate of floating point operations", error);
    }
    if (board->memory_clock_khz < 0 || board->memory_bus_bits < 0) {
        return refuse(card, "the bandwidth of its memory", error);
    }
    if (board->sm_clock_khz < 0) {
        return refuse(card, "its clock", error);
    }
    if (board->cache_bytes < 0) {
        return refuse(card, "the size of its L2 cache", error);
    }
    *ret_card = (tide_time_card){.card = card,
                                 .peak = peak,
                                 .bandwidth = 2.0 * 1e3 * board->memory_clock_khz *
                                              board->memory_bus_bits / 8.0,
                                 .cache_bytes = (double)board->cache_bytes,
                                 .n_multiprocessors = board->n_multiprocessors,
                                 .clock_hz = 1e3 * board->sm_clock_khz,
                                 .chip = chip_of(card),
                                 .memory = memory_of(card),
                                 .is_compared = is_compared(card->name)};
    return TIDE_OK;
}

double tide_time_card_flops(const tide_time_card *card, tide_run_type type) {
    switch (type) {
    case TIDE_RUN_FP32:
        return card->peak->fp32_flops;
    case TIDE_RUN_TF32: /* a card without TF32 computes in fp32 */
        return card->peak->tf32_flops > 0.0 ? card->peak->tf32_flops : card->peak->fp32_flops;
    case TIDE_RUN_BF16:
        return card->peak->bf16_flops;
    case TIDE_RUN_FP16:
        return card->peak->fp16_flops;
    default:
        return -1.0;
    }
}
