/* cuda_virtual.c - reserved addresses of a GPU and memory mapped to them. The runtime has no calls
 * for this, so these are the driver's. The runtime finds them by name, so the program does not link
 * libcuda and starts without it. The driver's error codes equal the runtime's.
 */
#include "device/cuda_friend.h"

#if TIDEMARK_HAVE_CUDA

#include <string.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "common/text/bytes.h"

_Static_assert(sizeof(CUmemAllocationProp) == 32, "as the driver knows it");
_Static_assert(sizeof(CUmemAccessDesc) == 12, "as the driver knows it");

/* The driver has all of them since CUDA 10.2. */
struct tide_device_cuda_driver {
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *,
                            CUmemAllocationGranularity_flags);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*unreserve)(CUdeviceptr, size_t);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    CUresult (*unmap)(CUdeviceptr, size_t);
};

enum { DRIVER_VERSION = 10020 };

/* Writes the driver's function of that name to `ret_function`. */
static tide_status find_function(tide_device_cuda *cuda, const char *name, void *ret_function,
                                 tide_error *error) {
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t result = cudaGetDriverEntryPointByVersion(name, &function, DRIVER_VERSION,
                                                          cudaEnableDefault, &found);
#else
    cudaError_t result = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    TIDE_TRY(tide_device_cuda_answer(&cuda->base, "cudaGetDriverEntryPoint", (int)result, error));
    if (found != cudaDriverEntryPointSuccess || function == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the driver of %s has no %s: update it to one of CUDA 10.2 or later",
                         cuda->base.info.spec, name);
    }
    /* ISO C has no conversion from void * to a function pointer. */
    memcpy(ret_function, &function, sizeof(function));
    return TIDE_OK;
}

static tide_status find_all(tide_device_cuda *cuda, tide_device_cuda_driver *driver,
                            tide_error *error) {
    TIDE_TRY(find_function(cuda, "cuMemGetAllocationGranularity", &driver->granularity, error));
    TIDE_TRY(find_function(cuda, "cuMemAddressReserve", &driver->reserve, error));
    TIDE_TRY(find_function(cuda, "cuMemAddressFree", &driver->unreserve, error));
    TIDE_TRY(find_function(cuda, "cuMemCreate", &driver->create, error));
    TIDE_TRY(find_function(cuda, "cuMemRelease", &driver->release, error));
    TIDE_TRY(find_function(cuda, "cuMemMap", &driver->map, error));
    TIDE_TRY(find_function(cuda, "cuMemSetAccess", &driver->set_access, error));
    return find_function(cuda, "cuMemUnmap", &driver->unmap, error);
}

static tide_status find_driver(tide_device_cuda *cuda, tide_error *error) {
    const tide_hostmem *mem = cuda->base.mem;
    tide_device_cuda_driver *found = tide_hostmem_zeroed(mem, 1, sizeof(*found));
    if (found == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the driver's functions");
    }
    tide_status status = find_all(cuda, found, error);
    pthread_mutex_lock(&cuda->lock);
    if (status == TIDE_OK && cuda->driver == NULL) {
        cuda->driver = found;
        found = NULL;
    }
    pthread_mutex_unlock(&cuda->lock);
    mem->release(mem->ctx, found); /* NULL once it is in use; else the search failed or another
                                      thread was first */
    return status;
}

/* The driver's functions, found at the first call; NULL: `ret_status` has the reason. */
static const tide_device_cuda_driver *begin(tide_device *device, tide_status *ret_status,
                                            tide_error *error) {
    tide_device_cuda *cuda = (tide_device_cuda *)device;
    const tide_device_cuda_driver *driver = NULL;
    *ret_status = tide_device_cuda_begin(cuda, error);
    for (int attempt = 0; attempt < 2 && driver == NULL && *ret_status == TIDE_OK; attempt++) {
        pthread_mutex_lock(&cuda->lock);
        driver = cuda->driver;
        pthread_mutex_unlock(&cuda->lock);
        if (driver == NULL) {
            *ret_status = find_driver(cuda, error);
        }
    }
    return driver;
}

static tide_status answer(tide_device *device, const char *call, CUresult result,
                          tide_error *error) {
    return tide_device_cuda_answer(device, call, (int)result, error);
}

static CUmemLocation location_of(const tide_device *device) {
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = ((const tide_device_cuda *)device)->ordinal};
}

static CUmemAllocationProp properties_of(const tide_device *device) {
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE,
                                 .location = location_of(device)};
}

tide_status tide_device_cuda_map_granule(tide_device *device, size_t *ret_bytes,
                                         tide_error *error) {
    size_t n_bytes = 0;
    tide_status status = TIDE_OK;
    const tide_device_cuda_driver *driver = begin(device, &status, error);
    if (driver == NULL) {
        return status;
    }
    const CUmemAllocationProp properties = properties_of(device);
    CUresult result = driver->granularity(&n_bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s cannot map memory at reserved addresses: its driver says that it "
                         "does not support it",
                         device->info.spec);
    }
    TIDE_TRY(answer(device, "cuMemGetAllocationGranularity", result, error));
    *ret_bytes = n_bytes;
    return TIDE_OK;
}

tide_status tide_device_cuda_reserve(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                                     tide_error *error) {
    CUdeviceptr address = 0;
    tide_status status = TIDE_OK;
    const tide_device_cuda_driver *driver = begin(device, &status, error);
    if (driver == NULL) {
        return status;
    }
    TIDE_TRY(
        answer(device, "cuMemAddressReserve", driver->reserve(&address, n_bytes, 0, 0, 0), error));
    *ret_address = address;
    return TIDE_OK;
}

tide_status tide_device_cuda_unreserve(tide_device *device, uint64_t address, size_t n_bytes,
                                       tide_error *error) {
    tide_status status = TIDE_OK;
    const tide_device_cuda_driver *driver = begin(device, &status, error);
    if (driver == NULL) {
        return status;
    }
    return answer(device, "cuMemAddressFree", driver->unreserve(address, n_bytes), error);
}

static tide_status no_memory(const tide_device *device, size_t n_bytes, tide_error *error) {
    char text[TIDE_BYTES_TEXT];
    return tide_fail(error, TIDE_DEVICE_OOM, "%s has no %s left to map", device->info.spec,
                     tide_bytes_format((int64_t)n_bytes, text));
}

/* A part of a range that is being mapped: each granule gets memory of its own, so each can be
 * unmapped separately. */
typedef struct granules {
    const tide_device_cuda_driver *driver; /* borrowed */
    CUmemGenericAllocationHandle *handles; /* owned; of the granules from `address` up */
    uint64_t address;
    size_t granule_bytes;
    size_t n_granules;
    size_t n_created;  /* handles [n_released, n_created) are held */
    size_t n_mapped;   /* granules, from the lowest one up */
    size_t n_released; /* handles, likewise; the mapping keeps the memory */
} granules;

static tide_status create_all(tide_device *device, granules *all, tide_error *error) {
    const CUmemAllocationProp properties = properties_of(device);
    for (; all->n_created < all->n_granules; all->n_created++) {
        CUresult result =
            all->driver->create(&all->handles[all->n_created], all->granule_bytes, &properties, 0);
        tide_status status = answer(device, "cuMemCreate", result, error);
        if (status != TIDE_OK) {
            return status == TIDE_DEVICE_OOM
                       ? no_memory(device, all->n_granules * all->granule_bytes, error)
                       : status;
        }
    }
    return TIDE_OK;
}

static tide_status map_all(tide_device *device, granules *all, tide_error *error) {
    const tide_device_cuda_driver *driver = all->driver;
    const CUmemAccessDesc access = {.location = location_of(device),
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (; all->n_mapped < all->n_granules; all->n_mapped++) {
        CUresult result = driver->map(all->address + all->n_mapped * all->granule_bytes,
                                      all->granule_bytes, 0, all->handles[all->n_mapped], 0);
        TIDE_TRY(answer(device, "cuMemMap", result, error));
    }
    for (; all->n_released < all->n_granules; all->n_released++) {
        TIDE_TRY(
            answer(device, "cuMemRelease", driver->release(all->handles[all->n_released]), error));
    }
    return answer(
        device, "cuMemSetAccess",
        driver->set_access(all->address, all->n_granules * all->granule_bytes, &access, 1), error);
}

/* Undoes all mappings. A failure here leaks memory: there is no other way to free it. */
static void undo(const granules *all) {
    for (size_t i = all->n_mapped; i > 0; i--) {
        (void)all->driver->unmap(all->address + (i - 1) * all->granule_bytes, all->granule_bytes);
    }
    for (size_t i = all->n_created; i > all->n_released; i--) {
        (void)all->driver->release(all->handles[i - 1]);
    }
}

tide_status tide_device_cuda_map(tide_device *device, uint64_t address, size_t n_bytes,
                                 size_t granule_bytes, tide_error *error) {
    tide_status status = TIDE_OK;
    granules all = {.driver = begin(device, &status, error),
                    .address = address,
                    .granule_bytes = granule_bytes,
                    .n_granules = n_bytes / granule_bytes};
    if (all.driver == NULL) {
        return status;
    }
    all.handles = tide_hostmem_zeroed(device->mem, all.n_granules, sizeof(*all.handles));
    if (all.handles == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the handles of %zu granules",
                         all.n_granules);
    }
    /* Create all memory first: if there is too little, no mapping has to be undone. */
    status = create_all(device, &all, error);
    if (status == TIDE_OK) {
        status = map_all(device, &all, error);
    }
    if (status != TIDE_OK) {
        undo(&all);
    }
    device->mem->release(device->mem->ctx, all.handles);
    return status;
}

tide_status tide_device_cuda_unmap(tide_device *device, uint64_t address, size_t granule_bytes,
                                   tide_error *error) {
    tide_status status = TIDE_OK;
    const tide_device_cuda_driver *driver = begin(device, &status, error);
    if (driver == NULL) {
        return status;
    }
    return answer(device, "cuMemUnmap", driver->unmap(address, granule_bytes), error);
}

#endif
