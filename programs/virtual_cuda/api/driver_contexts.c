/* driver_contexts.c - further names of the driver for contexts, devices, streams and occupancy. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/attributes.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/twins_internal.h"
#include "programs/virtual_cuda/card/machine.h"

int cuCtxCreate_v2(void **ret_context, unsigned flags, int device);
int cuCtxGetCurrent(void **ret_context);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);

/* ---- contexts: each device has one ---- */

TIDE_VC_EXPORT int cuCtxCreate_v3(void **ret_context, void *affinities, int n_affinities,
                                  unsigned flags, int device) {
    (void)affinities;
    (void)n_affinities;
    return cuCtxCreate_v2(ret_context, flags, device);
}

TIDE_VC_EXPORT int cuCtxAttach(void **ret_context, unsigned flags) {
    (void)flags;
    return cuCtxGetCurrent(ret_context);
}

/* CUDA 13 names the context. NULL is the current one, and so is what a program of an older CUDA
 * leaves in the register of the argument. */
static int device_of(void *context) {
    int before = tide_vc_device();
    int device = before;
    if (cuCtxSetCurrent(context) == TIDE_VC_OK) {
        device = tide_vc_device();
        tide_vc_set_device(before);
    }
    return device;
}

TIDE_VC_EXPORT int cuCtxGetDevice_v2(int *ret_device, void *context) {
    *ret_device = device_of(context);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxSynchronize_v2(void *context) {
    int before = tide_vc_device();
    tide_vc_set_device(device_of(context));
    int status = cuCtxSynchronize();
    tide_vc_set_device(before);
    return status;
}

/* ---- devices ---- */

TIDE_VC_EXPORT int cuDeviceGetByPCIBusId(int *ret_device, const char *text) {
    TIDE_VC_TWIN(cudaDeviceGetByPCIBusId(ret_device, text));
}

/* CUdevprop, of CUDA 5. */
TIDE_VC_EXPORT int cuDeviceGetProperties(int *ret_properties, int device) {
    enum { N_MEMBERS = 14 }; /* the first attributes, in their order */
    if (device < 0 || device >= tide_vc_n_devices()) {
        return TIDE_VC_INVALID_DEVICE;
    }
    for (int i = 0; i < N_MEMBERS; i++) {
        ret_properties[i] = tide_vc_attribute(i + 1, device);
    }
    return TIDE_VC_OK;
}

/* ---- pools by place (CUDA 13): only those of a device are simulated ---- */

enum { OF_DEVICE = 1, PINNED = 1 }; /* CUmemLocationType, CUmemAllocationType */

/* CUmemLocation. */
typedef struct place {
    int type, id;
} place;

static int check_place(const place *where, int kind) {
    return where->type == OF_DEVICE && kind == PINNED ? TIDE_VC_OK : TIDE_VC_NOT_SUPPORTED;
}

TIDE_VC_EXPORT int cudaMemGetDefaultMemPool(void **ret_pool, place *where, int kind) {
    int status = tide_vc_fail(check_place(where, kind));
    return status == TIDE_VC_OK ? cudaDeviceGetDefaultMemPool(ret_pool, where->id) : status;
}

TIDE_VC_EXPORT int cudaMemGetMemPool(void **ret_pool, place *where, int kind) {
    int status = tide_vc_fail(check_place(where, kind));
    return status == TIDE_VC_OK ? cudaDeviceGetMemPool(ret_pool, where->id) : status;
}

TIDE_VC_EXPORT int cudaMemSetMemPool(place *where, int kind, void *pool) {
    int status = tide_vc_fail(check_place(where, kind));
    return status == TIDE_VC_OK ? cudaDeviceSetMemPool(where->id, pool) : status;
}

TIDE_VC_EXPORT int cuMemGetDefaultMemPool(void **ret_pool, place *where, int kind) {
    TIDE_VC_TWIN(cudaMemGetDefaultMemPool(ret_pool, where, kind));
}

TIDE_VC_EXPORT int cuMemGetMemPool(void **ret_pool, place *where, int kind) {
    TIDE_VC_TWIN(cudaMemGetMemPool(ret_pool, where, kind));
}

TIDE_VC_EXPORT int cuMemSetMemPool(place *where, int kind, void *pool) {
    TIDE_VC_TWIN(cudaMemSetMemPool(where, kind, pool));
}

/* ---- streams ---- */

/* No stream belongs to a part of a card (a green context). */
TIDE_VC_EXPORT int cuStreamGetCtx_v2(void *stream, void **ret_context, void **ret_green) {
    (void)stream;
    *ret_green = NULL;
    return cuCtxGetCurrent(ret_context);
}

TIDE_VC_EXPORT int cuStreamUpdateCaptureDependencies(void *stream, void *nodes, size_t n_nodes,
                                                     unsigned flags) {
    TIDE_VC_TWIN(cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, n_nodes, flags));
}

TIDE_VC_EXPORT int cuStreamUpdateCaptureDependencies_v2(void *stream, void *nodes,
                                                        const void *edges, size_t n_nodes,
                                                        unsigned flags) {
    TIDE_VC_TWIN(cudaStreamUpdateCaptureDependencies(stream, nodes, edges, n_nodes, flags));
}

/* ---- occupancy: the block size with the most resident threads, and a grid that fills the card
 * ---- */

enum { MULTIPROCESSORS = 16, WARP = 32, MAX_BLOCK = 1024 };
typedef size_t shared_of(int n_threads);

TIDE_VC_EXPORT int cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block,
                                                             void *kernel, shared_of *shared,
                                                             size_t shared_bytes, int limit,
                                                             unsigned flags) {
    (void)flags;
    int device = tide_vc_device();
    int most = limit > 0 && limit < MAX_BLOCK ? limit : MAX_BLOCK;
    int best = 0;
    *ret_grid = 0;
    *ret_block = 0;
    for (int n = most; n > 0; n = n % WARP != 0 ? n - n % WARP : n - WARP) {
        size_t bytes = shared != NULL ? shared(n) : shared_bytes;
        int n_blocks = tide_vc_occupancy(kernel, device, n, bytes);
        if (n_blocks * n > best) {
            best = n_blocks * n;
            *ret_block = n;
            *ret_grid = n_blocks * tide_vc_attribute(MULTIPROCESSORS, device);
        }
    }
    return best > 0 ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE;
}

TIDE_VC_EXPORT int cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, void *kernel,
                                                    shared_of *shared, size_t shared_bytes,
                                                    int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(ret_grid, ret_block, kernel, shared,
                                                     shared_bytes, limit, 0);
}

/* The most dynamic shared memory with which that many blocks of the kernel are resident. */
TIDE_VC_EXPORT int cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, const void *kernel,
                                                           int n_blocks, int n_threads) {
    enum { UNIT_BYTES = 128, SHARED_BLOCK_OPTIN = 97 };
    int device = tide_vc_device();
    size_t n_bytes = (size_t)tide_vc_attribute(SHARED_BLOCK_OPTIN, device);
    while (n_bytes > 0 && tide_vc_occupancy(kernel, device, n_threads, n_bytes) < n_blocks) {
        n_bytes = n_bytes > UNIT_BYTES ? n_bytes - UNIT_BYTES : 0;
    }
    *ret_bytes = n_bytes;
    return n_blocks > 0 && tide_vc_occupancy(kernel, device, n_threads, n_bytes) >= n_blocks
               ? TIDE_VC_OK
               : TIDE_VC_INVALID_VALUE;
}

/* Cards of compute capability 9.0 and above have clusters. Every card of them admits 8 blocks. */
TIDE_VC_EXPORT int cuOccupancyMaxPotentialClusterSize(int *ret_n, const void *kernel,
                                                      const void *config) {
    enum { FIRST_MAJOR = 9, N_BLOCKS = 8 };
    (void)kernel;
    (void)config;
    *ret_n = N_BLOCKS;
    return tide_vc_card_of(tide_vc_device())->major >= FIRST_MAJOR ? TIDE_VC_OK
                                                                   : TIDE_VC_NOT_SUPPORTED;
}
