#define _GNU_SOURCE /* strdup */
#include "programs/virtual_cuda/launches/images.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/card/machine.h"

/* ---- fat binaries ---- */

#define FAT_MAGIC 0xBA55ED50u
enum {
    FAT_HEADER_AT = 6, /* 16 bits: bytes of the header */
    FAT_SIZE_AT = 8,   /* 64 bits: bytes of all entries */
    ENTRY_KIND_AT = 0, /* 16 bits */
    ENTRY_HEADER_AT = 4,
    ENTRY_SIZE_AT = 8,
    ENTRY_CAPABILITY_AT = 28,
    ENTRY_LEAST_BYTES = 64,
    KIND_PTX = 1,
    KIND_BINARY = 2
};

static uint64_t read_number(const unsigned char *at, size_t n_bytes) {
    uint64_t number = 0;
    memcpy(&number, at, n_bytes); /* x86-64 and the format are little-endian */
    return number;
}

/* The entries of a fat binary that suit a card. */
typedef struct entries {
    const unsigned char *chosen; /* machine code; NULL if there is none */
    const unsigned char *end;    /* of all entries */
    int binary, ptx;             /* the best version of each; 0: none */
    size_t n_known;              /* entries of the two kinds that drivers load kernels from */
    bool is_whole;               /* all entries were read and are of these kinds */
} entries;

static entries read_entries(const unsigned char *fat, int capability) {
    const unsigned char *entry = fat + read_number(fat + FAT_HEADER_AT, 2);
    entries of = {.end = entry + read_number(fat + FAT_SIZE_AT, 8), .is_whole = true};
    while (of.end - entry >= ENTRY_LEAST_BYTES) {
        uint64_t kind = read_number(entry + ENTRY_KIND_AT, 2);
        int built_for = (int)read_number(entry + ENTRY_CAPABILITY_AT, 4);
        bool is_below = built_for <= capability;
        bool is_known = kind == KIND_BINARY || kind == KIND_PTX;
        if (kind == KIND_BINARY && is_below && built_for / 10 == capability / 10) {
            of.chosen = built_for > of.binary ? entry : of.chosen;
            of.binary = built_for > of.binary ? built_for : of.binary;
        } else if (kind == KIND_PTX && is_below) {
            of.ptx = built_for > of.ptx ? built_for : of.ptx;
        }
        of.n_known += is_known;
        of.is_whole = of.is_whole && is_known;
        uint64_t n_bytes =
            read_number(entry + ENTRY_HEADER_AT, 4) + read_number(entry + ENTRY_SIZE_AT, 8);
        if (n_bytes == 0 || n_bytes > (uint64_t)(of.end - entry)) {
            of.is_whole = false;
            break;
        }
        entry += n_bytes;
    }
    return of;
}

static bool is_fat(const unsigned char *fat) {
    return fat != NULL && read_number(fat, 4) == FAT_MAGIC;
}

size_t tide_vc_image_bytes(const void *fat_binary) {
    const unsigned char *fat = fat_binary;
    uint64_t n_header = is_fat(fat) ? read_number(fat + FAT_HEADER_AT, 2) : 0;
    uint64_t n_entries = is_fat(fat) ? read_number(fat + FAT_SIZE_AT, 8) : SIZE_MAX;
    return n_entries > SIZE_MAX - n_header ? SIZE_MAX : n_header + n_entries;
}

bool tide_vc_image_choose(const void *fat_binary, int capability, tide_vc_image *ret_image) {
    if (!is_fat(fat_binary)) {
        return false;
    }
    entries of = read_entries(fat_binary, capability);
    *ret_image = of.binary != 0
                     ? (tide_vc_image){of.binary, of.binary, of.chosen, of.end}
                     : (tide_vc_image){.ptx_version = of.ptx, .binary_version = capability};
    return of.binary != 0 || of.ptx != 0;
}

bool tide_vc_image_is_missing(const void *fat_binary, int capability) {
    if (!is_fat(fat_binary)) {
        return false;
    }
    entries of = read_entries(fat_binary, capability);
    return of.is_whole && of.n_known > 0 && of.binary == 0 && of.ptx == 0;
}

/* ---- modules and kernels ---- */

typedef struct module {
    struct module *self; /* the handle, a pointer to a pointer, points here */
    const void *fat_binary;
    /* The compute capability of the last lookup, negative if the module has no image for it; 0:
     * never looked up. */
    atomic_int looked_up;
} module;

typedef struct kernel {
    module *module;   /* NULL: not from a fat binary */
    const char *name; /* as the compiler wrote it; owned by the program, which keeps it */
} kernel;

/* The lock guards it. */
static struct registered {
    tide_map numbers; /* from a kernel's address in the program to its place in `kernels` */
    kernel *kernels;  /* from malloc; never released, because kernels are not */
    size_t n_kernels; /* at most n_room */
    size_t n_room;
    tide_map variables; /* from a variable's address in the program to its bytes */
} registered;
TIDE_VC_LOCK(lock, NULL);

/* For an unknown kernel, one without a module and a name. */
static kernel find(const void *host) {
    kernel found = {NULL, NULL};
    uint64_t number = 0;
    pthread_mutex_lock(&lock);
    if (tide_map_find(&registered.numbers, (uintptr_t)host, &number)) {
        found = registered.kernels[number];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

tide_vc_image tide_vc_image_of(const void *host, int device) {
    const tide_vc_card *card = tide_vc_card_of(device);
    int capability = 10 * card->major + card->minor;
    const tide_vc_image own = {.ptx_version = capability, .binary_version = capability};
    tide_vc_image image = own;
    const module *of = find(host).module;
    if (of != NULL && !tide_vc_image_choose(of->fat_binary, capability, &image)) {
        image = own;
    }
    return image;
}

/* The answer is cached, because the many kernels of a module are launched many times. */
static bool has_no_image(module *of, int capability) {
    int found = atomic_load_explicit(&of->looked_up, memory_order_relaxed);
    if (found != capability && found != -capability) {
        found = tide_vc_image_is_missing(of->fat_binary, capability) ? -capability : capability;
        atomic_store_explicit(&of->looked_up, found, memory_order_relaxed);
    }
    return found < 0;
}

bool tide_vc_kernel_has_no_image(const void *host, int device) {
    return tide_vc_kernel_to_launch(host, device) == NULL;
}

static const char *name_of(kernel of) {
    return of.name != NULL ? of.name : "";
}

const char *tide_vc_kernel_to_launch(const void *host, int device) {
    const tide_vc_card *card = tide_vc_card_of(device);
    kernel of = find(host);
    bool is_missing = of.module != NULL && has_no_image(of.module, 10 * card->major + card->minor);
    return is_missing ? NULL : name_of(of);
}

const char *tide_vc_kernel_name(const void *host) {
    return name_of(find(host));
}

/* The wrapper: magic, version, the fat binary. */
TIDE_VC_EXPORT void **__cudaRegisterFatBinary(const void *wrapper) {
    static module spare;
    module *made = calloc(1, sizeof(*made));
    made = made != NULL ? made : &spare;
    memcpy(&made->fat_binary, (const char *)wrapper + 8, sizeof(made->fat_binary));
    made->self = made;
    return (void **)made;
}

TIDE_VC_EXPORT void __cudaRegisterFatBinaryEnd(void **handle) {
    (void)handle;
}

/* Nothing is released, because a library's kernels may be asked for until the process ends. */
TIDE_VC_EXPORT void __cudaUnregisterFatBinary(void **handle) {
    (void)handle;
}

/* The caller holds the lock. */
static bool add_locked(const void *host, kernel made) {
    struct registered *to = &registered;
    uint64_t number = to->n_kernels;
    if (tide_map_find(&to->numbers, (uintptr_t)host, &number)) {
        to->kernels[number] = made;
        return true;
    }
    kernel *larger = tide_hostmem_grow(tide_hostmem_default(), to->kernels, &to->n_room,
                                       to->n_kernels + 1, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    to->kernels = larger;
    if (tide_map_put(&to->numbers, (uintptr_t)host, number) != TIDE_OK) {
        return false;
    }
    to->kernels[to->n_kernels++] = made;
    return true;
}

/* False: no host memory. */
static bool add(const void *host, kernel made) {
    pthread_mutex_lock(&lock);
    bool has_room = add_locked(host, made);
    pthread_mutex_unlock(&lock);
    return has_room;
}

TIDE_VC_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                           const char *name) {
    (void)device;
    (void)add(host, (kernel){(module *)(void *)handle, name});
}

void *tide_vc_kernel_new(const char *name) {
    void *handle = tide_vc_handle_new();
    char *kept = name != NULL ? strdup(name) : NULL;
    if (kept != NULL && !add(handle, (kernel){NULL, kept})) {
        free(kept);
    }
    return handle;
}

TIDE_VC_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                                      int is_external, size_t n_bytes) {
    (void)handle;
    (void)device;
    (void)name;
    (void)is_external;
    pthread_mutex_lock(&lock);
    /* Without host memory the size is unknown later. */
    tide_status status = tide_map_put(&registered.variables, (uintptr_t)host, n_bytes);
    pthread_mutex_unlock(&lock);
    (void)status;
}

TIDE_VC_EXPORT int cudaGetSymbolSize(size_t *ret_n_bytes, const void *host) {
    uint64_t n_bytes = 0;
    pthread_mutex_lock(&lock);
    bool is_there = tide_map_find(&registered.variables, (uintptr_t)host, &n_bytes);
    pthread_mutex_unlock(&lock);
    if (is_there) {
        *ret_n_bytes = n_bytes;
    }
    return tide_vc_fail(is_there ? TIDE_VC_OK : TIDE_VC_INVALID_SYMBOL);
}

TIDE_VC_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device,
                                             const char *name) {
    (void)handle;
    (void)host;
    (void)device;
    (void)name;
}

TIDE_VC_EXPORT char __cudaInitModule(void **handle) {
    (void)handle;
    return 0;
}
