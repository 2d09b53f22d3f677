#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "fake_cudart/fake_driver.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_internal.h"
#include "fake_cudart/fake_memory.h"

enum { MAX_RANGES = 64, MAX_PIECES = 8192 };
#define MAX_FILLED_BYTES ((size_t)1 << 20) /* of a fresh granule: filling takes time */

/* Reserved addresses. */
typedef struct range {
    unsigned char *address; /* a multiple of the granule */
    size_t n_bytes;         /* a multiple of the granule */
    void *mapping;          /* what mmap gave */
    size_t mapping_bytes;   /* of it */
} range;

/* A piece of created memory, mapped or not, with its handle released or not. It is freed when it is
 * neither mapped nor held. */
typedef struct piece {
    unsigned long long handle; /* never 0 of a live one */
    size_t n_bytes;            /* a multiple of the granule */
    int device;                /* whose capacity it takes */
    bool is_held;              /* its handle was not released */
    unsigned char *address;    /* where it is mapped; NULL: nowhere */
    bool is_accessible;        /* mapped, and access was set */
} piece;

/* Accessible memory without a gap: one range of device memory to the emulator. */
typedef struct run {
    unsigned char *address;
    size_t n_bytes;
} run;

/* Guarded by the runtime's lock. */
static struct {
    range ranges[MAX_RANGES];
    size_t n_ranges;
    piece pieces[MAX_PIECES];
    size_t n_pieces;
    run runs[MAX_PIECES];
    size_t n_runs;
    unsigned long long last_handle;
} memory;

/* Like the runtime's calls, but the error is not the runtime's last one. */
static CUresult leave(CUresult result) {
    return (CUresult)tide_fake_leave_beside((cudaError_t)result);
}

static CUresult mistake(const char *what, unsigned long long address, size_t n_bytes) {
    return (CUresult)tide_fake_mistake(cudaErrorInvalidValue, "%s: [0x%llx, + %zu)", what, address,
                                       n_bytes);
}

static CUresult enter(const char *function) {
    return (CUresult)tide_fake_enter(function);
}

/* Addresses are numbers here, and the memory is the host's.
 * NOLINTBEGIN(performance-no-int-to-ptr) */
static unsigned char *pointer_to(CUdeviceptr address) {
    return (unsigned char *)(uintptr_t)address;
}
/* NOLINTEND(performance-no-int-to-ptr) */

static bool is_whole(unsigned long long address, size_t n_bytes) {
    return n_bytes > 0 && (address | n_bytes) % TIDE_FAKE_GRANULE == 0;
}

/* ---- the emulator's ranges ---- */

static void drop_run(size_t i) {
    (void)tide_device_memory_unregister(memory.runs[i].address);
    memory.runs[i] = memory.runs[--memory.n_runs];
}

static void add_run(unsigned char *address, size_t n_bytes) {
    if (n_bytes > 0) {
        tide_device_memory_register(address, n_bytes);
        memory.runs[memory.n_runs++] = (run){address, n_bytes};
    }
}

/* Merges [address, + n_bytes) with the ranges that it touches. */
static void join(unsigned char *address, size_t n_bytes) {
    for (size_t i = memory.n_runs; i > 0; i--) {
        const run other = memory.runs[i - 1];
        if (other.address + other.n_bytes == address || address + n_bytes == other.address) {
            drop_run(i - 1);
            address = other.address < address ? other.address : address;
            n_bytes += other.n_bytes;
        }
    }
    add_run(address, n_bytes);
}

static void cut(const unsigned char *address, size_t n_bytes) {
    for (size_t i = 0; i < memory.n_runs; i++) {
        const run whole = memory.runs[i];
        if (address >= whole.address && address < whole.address + whole.n_bytes) {
            size_t before = (size_t)(address - whole.address);
            drop_run(i);
            add_run(whole.address, before);
            add_run(whole.address + before + n_bytes, whole.n_bytes - before - n_bytes);
            return;
        }
    }
}

/* ---- the driver's functions ---- */

static CUresult granularity(size_t *ret_bytes, const CUmemAllocationProp *properties,
                            CUmemAllocationGranularity_flags option) {
    (void)option;
    CUresult result = enter("cuMemGetAllocationGranularity");
    if (result == CUDA_SUCCESS && tide_fake_cudart_locked()->has_no_mapping) {
        result = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (result == CUDA_SUCCESS && properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *ret_bytes = TIDE_FAKE_GRANULE;
    }
    return leave(result);
}

static CUresult reserve_locked(CUdeviceptr *ret_address, size_t n_bytes) {
    if (n_bytes == 0 || n_bytes % TIDE_FAKE_GRANULE != 0) {
        return mistake("cuMemAddressReserve", 0, n_bytes);
    }
    if (memory.n_ranges == MAX_RANGES) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    size_t mapping_bytes = n_bytes + TIDE_FAKE_GRANULE;
    void *mapping =
        mmap(NULL, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    size_t beyond = (uintptr_t)mapping % TIDE_FAKE_GRANULE;
    unsigned char *address =
        (unsigned char *)mapping + (beyond == 0 ? 0 : TIDE_FAKE_GRANULE - beyond);
    memory.ranges[memory.n_ranges++] = (range){address, n_bytes, mapping, mapping_bytes};
    tide_fake_cudart_locked()->n_ranges++;
    *ret_address = (CUdeviceptr)(uintptr_t)address;
    return CUDA_SUCCESS;
}

static CUresult reserve(CUdeviceptr *ret_address, size_t n_bytes, size_t alignment,
                        CUdeviceptr address, unsigned long long flags) {
    CUresult result = enter("cuMemAddressReserve");
    if (result == CUDA_SUCCESS && (alignment != 0 || address != 0 || flags != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return leave(result == CUDA_SUCCESS ? reserve_locked(ret_address, n_bytes) : result);
}

/* The range that contains all these bytes; NULL if none does. */
static const range *range_around(const unsigned char *address, size_t n_bytes) {
    for (size_t i = 0; i < memory.n_ranges; i++) {
        const range *of = &memory.ranges[i];
        if (address >= of->address && address + n_bytes <= of->address + of->n_bytes) {
            return of;
        }
    }
    return NULL;
}

/* A mapped piece that shares bytes with [address, + n_bytes); NULL when there is none. */
static piece *piece_at(const unsigned char *address, size_t n_bytes) {
    for (size_t i = 0; i < memory.n_pieces; i++) {
        piece *of = &memory.pieces[i];
        if (of->address != NULL && address < of->address + of->n_bytes &&
            of->address < address + n_bytes) {
            return of;
        }
    }
    return NULL;
}

static CUresult unreserve_locked(CUdeviceptr address, size_t n_bytes) {
    const unsigned char *at = pointer_to(address);
    size_t i = 0;
    while (i < memory.n_ranges && memory.ranges[i].address != at) {
        i++;
    }
    if (i == memory.n_ranges || memory.ranges[i].n_bytes != n_bytes ||
        piece_at(at, n_bytes) != NULL) {
        return mistake("cuMemAddressFree", address, n_bytes);
    }
    (void)munmap(memory.ranges[i].mapping, memory.ranges[i].mapping_bytes);
    memory.ranges[i] = memory.ranges[--memory.n_ranges];
    tide_fake_cudart_locked()->n_ranges--;
    return CUDA_SUCCESS;
}

static CUresult unreserve(CUdeviceptr address, size_t n_bytes) {
    CUresult result = enter("cuMemAddressFree");
    return leave(result == CUDA_SUCCESS ? unreserve_locked(address, n_bytes) : result);
}

static piece *piece_of(CUmemGenericAllocationHandle handle) {
    for (size_t i = 0; i < memory.n_pieces; i++) {
        if (memory.pieces[i].handle == handle && memory.pieces[i].is_held) {
            return &memory.pieces[i];
        }
    }
    return NULL;
}

static void end_if_unused(piece *of) {
    if (of->address == NULL && !of->is_held) {
        tide_fake_count_bytes(of->device, 0, of->n_bytes);
        *of = memory.pieces[--memory.n_pieces];
    }
}

static CUresult create_locked(CUmemGenericAllocationHandle *ret_handle, size_t n_bytes,
                              const CUmemAllocationProp *properties) {
    if (n_bytes == 0 || n_bytes % TIDE_FAKE_GRANULE != 0 ||
        properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return mistake("cuMemCreate", 0, n_bytes);
    }
    int device = properties->location.id;
    if (device < 0 || device >= tide_fake_cudart_locked()->n_devices) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (memory.n_pieces == MAX_PIECES || n_bytes > tide_fake_room(device)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    tide_fake_count_bytes(device, n_bytes, 0);
    memory.pieces[memory.n_pieces++] = (piece){
        .handle = ++memory.last_handle, .n_bytes = n_bytes, .device = device, .is_held = true};
    *ret_handle = memory.last_handle;
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *ret_handle, size_t n_bytes,
                       const CUmemAllocationProp *properties, unsigned long long flags) {
    CUresult result = enter("cuMemCreate");
    if (result == CUDA_SUCCESS && flags != 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return leave(result == CUDA_SUCCESS ? create_locked(ret_handle, n_bytes, properties) : result);
}

static CUresult release(CUmemGenericAllocationHandle handle) {
    CUresult result = enter("cuMemRelease");
    if (result == CUDA_SUCCESS) {
        piece *of = piece_of(handle);
        if (of == NULL) {
            result = mistake("cuMemRelease", handle, 0);
        } else {
            of->is_held = false;
            end_if_unused(of);
        }
    }
    return leave(result);
}

static CUresult map_locked(CUdeviceptr address, size_t n_bytes,
                           CUmemGenericAllocationHandle handle) {
    unsigned char *at = pointer_to(address);
    piece *of = piece_of(handle);
    if (of == NULL || of->address != NULL || of->n_bytes != n_bytes ||
        !is_whole(address, n_bytes) || range_around(at, n_bytes) == NULL ||
        piece_at(at, n_bytes) != NULL) {
        return mistake("cuMemMap", address, n_bytes);
    }
    of->address = at;
    of->is_accessible = false;
    return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr address, size_t n_bytes, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags) {
    CUresult result = enter("cuMemMap");
    if (result == CUDA_SUCCESS && (offset != 0 || flags != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return leave(result == CUDA_SUCCESS ? map_locked(address, n_bytes, handle) : result);
}

static CUresult set_access_locked(CUdeviceptr address, size_t n_bytes) {
    unsigned char *at = pointer_to(address);
    const unsigned char *end = at + n_bytes;
    for (unsigned char *here = at; here < end;) { /* whole pieces, one after another */
        piece *of = piece_at(here, 1);
        if (of == NULL || of->address != here || of->is_accessible || here + of->n_bytes > end) {
            return mistake("cuMemSetAccess", address, n_bytes);
        }
        if (mprotect(here, of->n_bytes, PROT_READ | PROT_WRITE) != 0) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memset(here, 0xFF, of->n_bytes < MAX_FILLED_BYTES ? of->n_bytes : MAX_FILLED_BYTES);
        of->is_accessible = true;
        here += of->n_bytes;
    }
    join(at, n_bytes);
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr address, size_t n_bytes, const CUmemAccessDesc *access,
                           size_t n_accesses) {
    CUresult result = enter("cuMemSetAccess");
    if (result == CUDA_SUCCESS &&
        (n_accesses != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
         access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return leave(result == CUDA_SUCCESS ? set_access_locked(address, n_bytes) : result);
}

static void take_away(piece *of) {
    if (of->is_accessible) {
        cut(of->address, of->n_bytes);
    }
    (void)madvise(of->address, of->n_bytes, MADV_DONTNEED);
    (void)mprotect(of->address, of->n_bytes, PROT_NONE);
    of->address = NULL;
    of->is_accessible = false;
    end_if_unused(of);
}

/* It does not wait: a late copy that writes there faults. */
static CUresult unmap(CUdeviceptr address, size_t n_bytes) {
    CUresult result = enter("cuMemUnmap");
    if (result == CUDA_SUCCESS) {
        piece *of = piece_at(pointer_to(address), 1);
        if (of == NULL || of->address != pointer_to(address) || of->n_bytes != n_bytes) {
            result = mistake("cuMemUnmap", address, n_bytes);
        } else {
            take_away(of);
        }
    }
    return leave(result);
}

void tide_fake_driver_clear(void) {
    while (memory.n_pieces > 0) {
        piece *of = &memory.pieces[memory.n_pieces - 1];
        of->is_held = false;
        if (of->address != NULL) {
            take_away(of);
        } else {
            end_if_unused(of);
        }
    }
    while (memory.n_ranges > 0) {
        const range *of = &memory.ranges[memory.n_ranges - 1];
        (void)unreserve_locked((CUdeviceptr)(uintptr_t)of->address, of->n_bytes);
    }
}

/* ---- finding them ---- */

typedef void (*any_function)(void);

static any_function find(const char *name) {
    static const struct {
        const char *name;
        any_function function;
    } FUNCTIONS[] = {
        {"cuMemGetAllocationGranularity", (any_function)granularity},
        {"cuMemAddressReserve", (any_function)reserve},
        {"cuMemAddressFree", (any_function)unreserve},
        {"cuMemCreate", (any_function)create},
        {"cuMemRelease", (any_function)release},
        {"cuMemMap", (any_function)map},
        {"cuMemSetAccess", (any_function)set_access},
        {"cuMemUnmap", (any_function)unmap},
    };
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
        if (strcmp(FUNCTIONS[i].name, name) == 0) {
            return FUNCTIONS[i].function;
        }
    }
    return NULL;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                             unsigned int cudaVersion, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus) {
    cudaError_t result = tide_fake_enter("cudaGetDriverEntryPointByVersion");
    if (result != cudaSuccess) {
        return tide_fake_leave(result);
    }
    const char *missing = tide_fake_cudart_locked()->missing_function;
    any_function function = missing != NULL && strcmp(missing, symbol) == 0 ? NULL : find(symbol);
    *driverStatus = function == NULL ? cudaDriverEntryPointSymbolNotFound
                    : cudaVersion < 10020 || flags != cudaEnableDefault
                        ? cudaDriverEntryPointVersionNotSufficent
                        : cudaDriverEntryPointSuccess;
    memcpy(funcPtr, &function, sizeof(function));
    return tide_fake_leave(cudaSuccess);
}
