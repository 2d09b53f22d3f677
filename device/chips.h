/* chips.h - what all cards of one compute capability have in common: the limits of a block and of a
 * multiprocessor, as the runtime reports them in cudaDeviceProp.
 *
 * Bytes are bytes, registers are of 32 bits, and "threads" and "blocks" are resident ones. Every
 * figure is a limit of the hardware that no driver changes. The table has a row for each compute
 * capability that a card of device/cards.h has. Figures in which such cards differ are in
 * tide_card_board.
 */
#ifndef TIDE_DEVICE_CHIPS_H
#define TIDE_DEVICE_CHIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same on every compute capability from 7.0 on, so no row repeats it. All of these cards also
 * launch cooperative kernels, run kernels concurrently, support stream priorities, map host memory,
 * have unified addressing and managed memory, and preempt kernels. Source: CCCL's
 * cuda::arch_traits, and published deviceQuery outputs from 7.0 to 12.0. */
enum {
    TIDE_CHIP_WARP_THREADS = 32,
    TIDE_CHIP_MAX_BLOCK_THREADS = 1024,
    TIDE_CHIP_MAX_BLOCK_X = 1024,
    TIDE_CHIP_MAX_BLOCK_Y = 1024,
    TIDE_CHIP_MAX_BLOCK_Z = 64,
    TIDE_CHIP_MAX_GRID_X = 2147483647,
    TIDE_CHIP_MAX_GRID_Y = 65535,
    TIDE_CHIP_MAX_GRID_Z = 65535,
    TIDE_CHIP_REGISTERS = 65536, /* of a multiprocessor, and at most of one block */
    TIDE_CHIP_MAX_THREAD_REGISTERS = 255,
    TIDE_CHIP_SHARED_BLOCK_BYTES = 49152, /* of a block that does not opt in to more */
    TIDE_CHIP_CONSTANT_BYTES = 65536,
    TIDE_CHIP_MAX_PITCH_BYTES = 2147483647,
    TIDE_CHIP_TEXTURE_ALIGNMENT = 512 /* bytes */
};

typedef struct tide_card_chip {
    int compute_capability;   /* 90 for 9.0 */
    const char *architecture; /* the vendor's name of the architecture */
    int max_multiprocessor_threads;
    int max_multiprocessor_blocks;
    size_t shared_multiprocessor_bytes; /* shared memory of a multiprocessor */
    size_t shared_optin_bytes;          /* the most that one block can opt in to */
    size_t shared_reserved_bytes;       /* reserved by the system for each block */
    bool has_bf16;                      /* bf16 on tensor cores */
    bool has_persisting_cache;          /* part of the L2 cache can be set aside */
    bool has_clusters;                  /* blocks can be launched in clusters */
    const char *source;                 /* for people */
} tide_card_chip;

/* The table, which is static, by rising compute capability. */
const tide_card_chip *tide_card_chips(size_t *ret_n_chips);

/* The row of the compute capability (90 for 9.0), or NULL if the table lacks it. */
const tide_card_chip *tide_card_chip_find(int compute_capability);

#ifdef __cplusplus
}
#endif

#endif
