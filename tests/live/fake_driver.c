/* fake_driver.c - a libcuda.so.1 that counts bytes and has no card. Handles are reused immediately,
 * as the driver may do, and per-thread streams have their own functions.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_CONTEXT = 201, NOT_FOUND = 500, MAX_BLOCKS = 256 };
enum { NEWER = 33, PER_THREAD_STREAM = 2, CONTEXT_MIB = 400, CODE_MIB = 3, PITCH_BYTES = 512 };

#define MIB ((size_t)1 << 20)

static const size_t TOTAL_BYTES = (size_t)80 << 30;
static size_t used_bytes;
static int n_contexts;
int fake_n_per_thread; /* calls of functions for streams of the thread */
int fake_mode;         /* how capturing treats the thread */

static struct block {
    uint64_t address, n_bytes; /* 0: free */
    int is_device;
} blocks[MAX_BLOCKS];

static uint64_t take(uint64_t n_bytes, int is_device) {
    static uint64_t next = 0x700000000000;
    for (int i = 0; i < MAX_BLOCKS; i++) {
        if (blocks[i].address == 0) {
            blocks[i] = (struct block){next, n_bytes, is_device};
            next += (n_bytes + MIB) / MIB * MIB;
            used_bytes += is_device ? n_bytes : 0;
            return blocks[i].address;
        }
    }
    abort();
}

static int give(uint64_t address) {
    for (int i = 0; i < MAX_BLOCKS; i++) {
        if (address != 0 && blocks[i].address == address) {
            used_bytes -= blocks[i].is_device ? blocks[i].n_bytes : 0;
            blocks[i].address = 0;
            return OK;
        }
    }
    return address == 0 ? OK : INVALID;
}

/* ---- device ---- */

int cuInit(unsigned flags) {
    return flags == 0 ? OK : INVALID;
}
int cuDevicePrimaryCtxRetain(void **ret_context, int device) {
    *ret_context = &used_bytes;
    used_bytes += n_contexts++ == 0 ? CONTEXT_MIB * MIB : 0;
    return device == 0 ? OK : INVALID;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    if (--n_contexts == 0) {
        memset(blocks, 0, sizeof(blocks));
        used_bytes = 0;
    }
    return device == 0 ? OK : INVALID;
}
int cuDevicePrimaryCtxReset_v2(int device) {
    memset(blocks, 0, sizeof(blocks));
    used_bytes = n_contexts > 0 ? CONTEXT_MIB * MIB : 0;
    return device == 0 ? OK : INVALID;
}
/* The runtime's, as if it did not use the driver. */
int cudaDeviceReset(void) {
    return cuDevicePrimaryCtxReset_v2(0);
}
int cudaThreadExit(void) {
    return cuDevicePrimaryCtxReset_v2(0);
}
int cuDevicePrimaryCtxGetState(int device, unsigned *ret_flags, int *ret_is_active) {
    *ret_flags = 0;
    *ret_is_active = n_contexts > 0;
    return device == 0 ? OK : INVALID;
}
int cuCtxPushCurrent_v2(void *context) {
    return context == &used_bytes ? OK : INVALID;
}
int cuCtxPopCurrent_v2(void **ret_context) {
    *ret_context = &used_bytes;
    return OK;
}
int cuCtxGetDevice(int *ret_device) {
    *ret_device = 0;
    return OK;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
    int old = fake_mode;
    fake_mode = *mode;
    *mode = old;
    return OK;
}
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total) {
    *ret_total = TOTAL_BYTES;
    *ret_free = TOTAL_BYTES - used_bytes;
    return n_contexts > 0 ? OK : NO_CONTEXT;
}

/* ---- memory ---- */

int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes) {
    if (n_bytes > TOTAL_BYTES - used_bytes) {
        return NO_MEMORY;
    }
    *ret_address = take(n_bytes, 1);
    return OK;
}
int cuMemAllocPitch_v2(uint64_t *ret_address, size_t *ret_pitch, size_t width, size_t height,
                       unsigned element_bytes) {
    (void)element_bytes;
    *ret_pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    *ret_address = take(*ret_pitch * height, 1);
    return OK;
}
int cuMemAllocManaged(uint64_t *ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    *ret_address = take(n_bytes, 0);
    return OK;
}
int cuMemAllocAsync(uint64_t *ret_address, size_t n_bytes, void *stream) {
    (void)stream;
    return cuMemAlloc_v2(ret_address, n_bytes);
}
int cuMemAllocAsync_ptsz(uint64_t *ret_address, size_t n_bytes, void *stream) {
    fake_n_per_thread++;
    return cuMemAllocAsync(ret_address, n_bytes, stream);
}
int cuMemAllocFromPoolAsync(uint64_t *ret_address, size_t n_bytes, void *pool, void *stream) {
    (void)pool;
    return cuMemAllocAsync(ret_address, n_bytes, stream);
}
int cuMemFree_v2(uint64_t address) {
    return give(address);
}
int cuMemFreeAsync(uint64_t address, void *stream) {
    (void)stream;
    return give(address);
}
int cuMemFreeAsync_ptsz(uint64_t address, void *stream) {
    fake_n_per_thread++;
    return cuMemFreeAsync(address, stream);
}

/* One piece of memory without an address at a time has the handle. */
enum { HANDLE = 7 };
static struct physical {
    uint64_t n_bytes;
    int n_handles, n_mappings;
} physicals[8];
static int newest = -1;
static int mapped[8]; /* which of them is mapped at the nth GiB */

static int ended(struct physical *of) {
    if (of->n_handles == 0 && of->n_mappings == 0) {
        used_bytes -= of->n_bytes;
    }
    return OK;
}
int cuMemCreate(uint64_t *ret_handle, size_t n_bytes, const int *properties,
                unsigned long long flags) {
    (void)properties;
    (void)flags;
    physicals[++newest] = (struct physical){.n_bytes = n_bytes, .n_handles = 1};
    used_bytes += n_bytes;
    *ret_handle = HANDLE;
    return OK;
}
int cuMemRetainAllocationHandle(uint64_t *ret_handle, void *address) {
    physicals[mapped[(uintptr_t)address >> 30 & 7]].n_handles++;
    *ret_handle = HANDLE;
    return OK;
}
int cuMemRelease(uint64_t handle) {
    physicals[newest].n_handles--;
    return handle == HANDLE ? ended(&physicals[newest]) : INVALID;
}
int cuMemMap(uint64_t address, size_t n_bytes, size_t offset, uint64_t handle,
             unsigned long long flags) {
    (void)flags;
    (void)offset;
    mapped[address >> 30 & 7] = newest;
    physicals[newest].n_mappings++;
    return handle == HANDLE && n_bytes > 0 ? OK : INVALID;
}
int cuMemUnmap(uint64_t address, size_t n_bytes) {
    struct physical *of = &physicals[mapped[address >> 30 & 7]];
    of->n_mappings--;
    return n_bytes > 0 ? ended(of) : INVALID;
}

/* ---- host memory, arrays, code, graphs ---- */

int cuMemHostAlloc(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    *ret_address = (void *)(uintptr_t)take(n_bytes, 0);
    return OK;
}
int cuMemAllocHost_v2(void **ret_address, size_t n_bytes) {
    return cuMemHostAlloc(ret_address, n_bytes, 0);
}
int cuMemFreeHost(void *address) {
    return give((uint64_t)(uintptr_t)address);
}
/* A version after all known ones, with another argument. */
int cuMemFreeHost_v3(void *address, int how) {
    return how == 3 ? cuMemFreeHost(address) + NEWER : INVALID;
}
int cuMemHostRegister_v2(void *address, size_t n_bytes, unsigned flags) {
    (void)flags;
    return address != NULL && n_bytes > 0 ? OK : INVALID;
}
int cuMemHostUnregister(void *address) {
    return address != NULL ? OK : INVALID;
}
int cuArrayCreate_v2(void **ret_array, const size_t *size_and_format) {
    int format[2];
    memcpy(format, &size_and_format[2], sizeof(format));
    /* Of floats. */
    *ret_array =
        (void *)(uintptr_t)take(size_and_format[0] * size_and_format[1] * 4 * (size_t)format[1], 1);
    return OK;
}
int cuArrayDestroy(void *array) {
    return give((uint64_t)(uintptr_t)array);
}
int cuLibraryLoadData(void **ret_library, const void *code, int *a, void **b, unsigned c, int *d,
                      void **e, unsigned f) {
    (void)code, (void)a, (void)b, (void)d, (void)e;
    *ret_library = (void *)(uintptr_t)take(CODE_MIB * MIB, 1);
    return c == 5 && f == 8 ? OK : INVALID; /* the last of many arguments arrive */
}
int cuLibraryUnload(void *library) {
    return give((uint64_t)(uintptr_t)library);
}
int cuGraphAddMemAllocNode(void **ret_node, void *graph, const void *after, size_t n_after,
                           char *parameters) {
    uint64_t n_bytes = 0;
    (void)graph, (void)after;
    memcpy(&n_bytes, parameters + 104, sizeof(n_bytes));
    uint64_t address = take(n_bytes, 1);
    memcpy(parameters + 112, &address, sizeof(address));
    *ret_node = parameters;
    return n_after == 0 ? OK : INVALID;
}
int cuGraphAddMemFreeNode(void **ret_node, void *graph, const void *after, size_t n_after,
                          uint64_t address) {
    (void)graph, (void)after;
    *ret_node = &blocks;
    return n_after == 0 ? give(address) : INVALID;
}
struct ipc_handle {
    char bytes[64];
};
int cuIpcOpenMemHandle_v2(uint64_t *ret_address, struct ipc_handle handle, unsigned flags) {
    *ret_address = 0x7f0000000000 + (uint64_t)handle.bytes[63];
    return flags == 1 ? OK : INVALID;
}
int cuIpcCloseMemHandle(uint64_t address) {
    return address == 0x7f0000000000 + 63 ? OK : INVALID;
}

/* ---- by name ---- */

/* Addresses that are not exported. */
static int alloc_from_pool_inside(uint64_t *ret_address, size_t n_bytes, void *pool, void *stream) {
    return cuMemAllocFromPoolAsync(ret_address, n_bytes, pool, stream);
}
static int host_alloc_inside(void **ret_address, size_t n_bytes, unsigned flags) {
    return cuMemHostAlloc(ret_address, n_bytes, flags);
}

int cuGetProcAddress_v2(const char *name, void **ret_function, int version, uint64_t flags,
                        int *ret_found) {
    static const char *const VERSIONS[] = {"_ptsz", "_v3", "_v2", ""};
    char whole[128];
    void *self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    int (*inside)(void **, size_t, unsigned) = host_alloc_inside;
    int (*alloc_inside)(uint64_t *, size_t, void *, void *) = alloc_from_pool_inside;
    *ret_function = NULL;
    for (int i = 0; i < 4 && *ret_function == NULL; i++) {
        int is_skipped =
            (i == 0 && (flags & PER_THREAD_STREAM) == 0) || (i == 1 && version < 99000);
        (void)snprintf(whole, sizeof(whole), "%s%s", name, VERSIONS[i]);
        *ret_function = is_skipped ? NULL : dlvsym(self, whole, "FAKE");
    }
    if (strcmp(name, "cuMemAllocFromPoolAsync") == 0 && (flags & PER_THREAD_STREAM) != 0) {
        memcpy(ret_function, &alloc_inside, sizeof(alloc_inside));
    }
    if (strcmp(name, "cuMemHostAlloc") == 0) {
        memcpy(ret_function, &inside, sizeof(inside));
    }
    if (ret_found != NULL) {
        *ret_found = *ret_function == NULL;
    }
    return *ret_function != NULL ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char *name, void **ret_function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, ret_function, version, flags, NULL);
}
