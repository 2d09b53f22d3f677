#include "programs/virtual_cuda/launches/uses.h"

#include <stdint.h>
#include <stdlib.h>

#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/launches/unpack.h"

/* ---- images that were read ---- */

typedef struct read_image {
    const unsigned char *entry; /* in the program's library, which is never unloaded */
    tide_vc_use *uses;          /* from malloc; NULL: it cannot be read */
    size_t n_uses;
} read_image;

/* The lock guards it. */
static struct read_images {
    read_image *images;      /* from malloc */
    size_t n_images, n_room; /* n_images is at most n_room */
} were_read;
TIDE_VC_LOCK(lock, NULL);

static void read_kernels(const tide_vc_image *image, read_image *ret) {
    size_t n_bytes = 0;
    unsigned char *code = tide_vc_unpack(image->entry, image->end, &n_bytes);
    *ret = (read_image){.entry = image->entry};
    if (code != NULL) {
        ret->n_uses = tide_vc_cubin_read(code, n_bytes, &ret->uses);
        free(code);
    }
}

/* The image's kernels; NULL without host memory. The lock is held. */
static const read_image *kernels_of(const tide_vc_image *image) {
    for (size_t i = 0; i < were_read.n_images; i++) {
        if (were_read.images[i].entry == image->entry) {
            return &were_read.images[i];
        }
    }
    if (were_read.n_images == were_read.n_room) {
        size_t more = were_read.n_room > 0 ? 2 * were_read.n_room : 16;
        read_image *larger = realloc(were_read.images, more * sizeof(*larger));
        if (larger == NULL) {
            return NULL;
        }
        were_read.images = larger;
        were_read.n_room = more;
    }
    read_kernels(image, &were_read.images[were_read.n_images]);
    return &were_read.images[were_read.n_images++];
}

bool tide_vc_use_of(const void *kernel, int device, tide_vc_use *ret_use) {
    tide_vc_image image = tide_vc_image_of(kernel, device);
    uint64_t hash = tide_vc_cubin_hash(tide_vc_kernel_name(kernel));
    bool is_found = false;
    if (image.entry == NULL) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const read_image *of = kernels_of(&image);
    for (size_t i = 0; of != NULL && i < of->n_uses && !is_found; i++) {
        is_found = of->uses[i].name_hash == hash;
        *ret_use = is_found ? of->uses[i] : *ret_use;
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

/* ---- resident blocks ---- */

enum { REGISTER_UNIT = 256, REGISTER_PARTS = 4 };

static size_t divide_up(size_t n, size_t by) {
    return (n + by - 1) / by;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

int tide_vc_resident_blocks(const tide_card_chip *chip, int n_threads, int n_registers,
                            size_t shared_bytes) {
    size_t n = (size_t)chip->max_multiprocessor_blocks;
    if (n_threads <= 0 || n_threads > TIDE_CHIP_MAX_BLOCK_THREADS) {
        return 0;
    }
    size_t n_warps = divide_up((size_t)n_threads, TIDE_CHIP_WARP_THREADS);
    n = smaller(n, (size_t)chip->max_multiprocessor_threads / TIDE_CHIP_WARP_THREADS / n_warps);
    if (n_registers > 0) {
        size_t of_warp =
            divide_up((size_t)n_registers * TIDE_CHIP_WARP_THREADS, REGISTER_UNIT) * REGISTER_UNIT;
        size_t held = TIDE_CHIP_REGISTERS / REGISTER_PARTS / of_warp * REGISTER_PARTS;
        n = smaller(n, held / n_warps);
    }
    size_t unit = chip->compute_capability < 80 ? 256 : 128;
    size_t of_block = divide_up(shared_bytes + chip->shared_reserved_bytes, unit) * unit;
    if (shared_bytes > chip->shared_optin_bytes) {
        return 0;
    }
    return (int)(of_block > 0 ? smaller(n, chip->shared_multiprocessor_bytes / of_block) : n);
}
