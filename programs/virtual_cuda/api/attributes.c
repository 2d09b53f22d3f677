#include "programs/virtual_cuda/api/attributes.h"

#include <stddef.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/launches/uses.h"

/* The same on every card. */
static int common_attribute(int attribute) {
    switch (attribute) {
    case 1: /* threads of a block; its extent in x and y */
    case 2:
    case 3:
        return TIDE_CHIP_MAX_BLOCK_THREADS;
    case 4: /* extent in z */
        return TIDE_CHIP_MAX_BLOCK_Z;
    case 5:  /* extent of a grid in x */
    case 11: /* bytes of a pitch */
        return TIDE_CHIP_MAX_PITCH_BYTES;
    case 6: /* extent of a grid in y and z */
    case 7:
        return TIDE_CHIP_MAX_GRID_Y;
    case 8: /* shared memory of a block */
        return TIDE_CHIP_SHARED_BLOCK_BYTES;
    case 9: /* constant memory */
        return TIDE_CHIP_CONSTANT_BYTES;
    case 10:
        return TIDE_CHIP_WARP_THREADS;
    case 12: /* registers of a block, and of a multiprocessor */
    case 82:
        return TIDE_CHIP_REGISTERS;
    case 14: /* alignment of textures */
        return TIDE_CHIP_TEXTURE_ALIGNMENT;
    case 51: /* of pitched ones */
        return 32;
    case 40: /* copy engines */
        return 3;
    case 15: /* copies overlap with kernels */
    case 19: /* host memory can be mapped */
    case 31: /* concurrent kernels */
    case 41: /* unified addressing */
    case 78: /* stream priorities */
    case 79: /* caching in L1, of globals and of locals */
    case 80:
    case 83:  /* managed memory */
    case 89:  /* concurrent access to it */
    case 90:  /* compute preemption */
    case 91:  /* host pointers of registered memory */
    case 95:  /* cooperative launch */
    case 99:  /* registering host memory */
    case 102: /* virtual memory management */
    case 103: /* handles that are file descriptors */
    case 115: /* memory pools */
    case 122: /* 64-bit stream memory operations */
        return 1;
    default: /* among them multicast, GPUDirect, ECC, fabric handles */
        return 0;
    }
}

/* The runtime cannot report that a figure is unknown. */
static int known(int figure) {
    return figure >= 0 ? figure : 0;
}

int tide_vc_attribute(int attribute, int device) {
    const tide_vc_card *card = tide_vc_card_of(device);
    switch (attribute) {
    case 13:
        return known(card->card->board.sm_clock_khz);
    case 16:
        return card->card->board.n_multiprocessors;
    case 33: /* PCI bus */
        return card->number + 1;
    case 18: /* integrated */
        return card->card->shares_host;
    case 36:
        return known(card->card->board.memory_clock_khz);
    case 37:
        return known(card->card->board.memory_bus_bits);
    case 38:
        return known((int)card->card->board.cache_bytes);
    case 39:
        return card->chip->max_multiprocessor_threads;
    case 75:
        return card->major;
    case 76:
        return card->minor;
    case 81:
        return (int)card->chip->shared_multiprocessor_bytes;
    case 88: /* access to pageable memory of the host, and by the host's page tables */
    case 100:
        return card->card->reads_host;
    case 97:
        return (int)card->chip->shared_optin_bytes;
    case 106:
        return card->chip->max_multiprocessor_blocks;
    case 111:
        return (int)card->chip->shared_reserved_bytes;
    case 120: /* clusters of blocks */
        return card->chip->has_clusters;
    default:
        return common_attribute(attribute);
    }
}

int tide_vc_occupancy(const void *kernel, int device, int n_threads, size_t dynamic_bytes) {
    const tide_card_chip *chip = tide_vc_card_of(device)->chip;
    tide_vc_use use = {.n_registers = 0};
    if (!tide_vc_use_of(kernel, device, &use)) {
        tide_vc_inexact("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                        "the registers of a kernel are unknown: fewer blocks may be resident");
    }
    return tide_vc_resident_blocks(chip, n_threads, (int)use.n_registers,
                                   use.shared_bytes + dynamic_bytes);
}

static int get(int *ret_value, int attribute, int device) {
    if (ret_value == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (device < 0 || device >= tide_vc_n_devices()) {
        return TIDE_VC_INVALID_DEVICE;
    }
    *ret_value = tide_vc_attribute(attribute, device);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetAttribute(int *ret_value, int attribute, int device) {
    return tide_vc_fail(get(ret_value, attribute, device));
}

TIDE_VC_EXPORT int cuDeviceGetAttribute(int *ret_value, int attribute, int device) {
    return get(ret_value, attribute, device);
}
