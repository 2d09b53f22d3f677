#include "programs/virtual_cuda/launches/modules.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/card/address.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/launches/cubin.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/launches/unpack.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"

#define UNREAD "the image of its module was not read: it is PTX, or in another format"
#define FAT_WRAPPER 0x466243b1u /* before the address of a fat binary */
enum { VARIABLE_UNIT = 4096, LEAST_FILE_BYTES = 16 /* a fat binary's header */ };

typedef struct module {
    const void *handle;
    tide_vc_cubin_item *items; /* from malloc */
    uint64_t *addresses;       /* of variables, by item; 0: not asked for yet; from malloc */
    size_t n_items;
} module;

typedef struct taken {
    void *module;
    uint64_t name_hash;
} taken;

/* The lock guards it. Places are not reused: modules are few. */
static struct modules {
    tide_map numbers; /* from a handle to its place in `all` */
    module *all;      /* from malloc */
    size_t n, room;
    tide_map kernels; /* from a kernel to its place in `taken` */
    taken *taken;     /* from malloc */
    size_t n_taken, taken_room;
} modules;
TIDE_VC_LOCK(lock, NULL);

/* ---- images ---- */

static bool read_code(const unsigned char *code, size_t n_bytes, module *ret) {
    if (!tide_vc_cubin_items(code, n_bytes, &ret->items, &ret->n_items)) {
        return false;
    }
    ret->addresses = calloc(ret->n_items > 0 ? ret->n_items : 1, sizeof(*ret->addresses));
    if (ret->addresses == NULL) {
        free(ret->items);
    }
    return ret->addresses != NULL;
}

/* The image that the driver would choose for the current card. */
static bool read_fat(const void *fat, module *ret) {
    const tide_vc_card *card = tide_vc_card_of(tide_vc_device());
    tide_vc_image chosen = {0};
    size_t n_bytes = 0;
    if (!tide_vc_image_choose(fat, 10 * card->major + card->minor, &chosen) ||
        chosen.entry == NULL) {
        return false;
    }
    unsigned char *code = tide_vc_unpack(chosen.entry, chosen.end, &n_bytes);
    bool is_read = code != NULL && read_code(code, n_bytes, ret);
    free(code);
    return is_read;
}

static bool read_image(const void *image, module *ret) {
    uint32_t magic = 0;
    memcpy(&magic, image, sizeof(magic));
    if (magic == FAT_WRAPPER) {
        memcpy(&image, (const char *)image + 8, sizeof(image));
        return read_fat(image, ret);
    }
    if (!tide_vc_cubin_is(image)) {
        return read_fat(image, ret);
    }
    size_t n_bytes = 0;
    unsigned char *code = tide_vc_cubin_copy(image, &n_bytes);
    bool is_read = code != NULL && read_code(code, n_bytes, ret);
    free(code);
    return is_read;
}

/* An image of which all bytes are known: a file. It has no wrapper, which contains an address. */
static bool read_within(const unsigned char *image, size_t n_bytes, module *ret) {
    if (n_bytes < LEAST_FILE_BYTES) {
        return false;
    }
    return tide_vc_cubin_is(image) ? read_code(image, n_bytes, ret)
                                   : tide_vc_image_bytes(image) <= n_bytes && read_fat(image, ret);
}

/* ---- modules ---- */

/* The caller holds the lock. */
static bool put(module made) {
    uint64_t number = modules.n;
    module *larger = tide_hostmem_grow(tide_hostmem_default(), modules.all, &modules.room,
                                       modules.n + 1, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    modules.all = larger;
    if (tide_map_put(&modules.numbers, (uintptr_t)made.handle, number) != TIDE_OK) {
        return false;
    }
    modules.all[modules.n++] = made;
    return true;
}

static void keep(module made) {
    pthread_mutex_lock(&lock);
    bool is_kept = put(made);
    pthread_mutex_unlock(&lock);
    if (!is_kept) {
        free(made.items);
        free(made.addresses);
    }
}

void tide_vc_module_read(void *handle, const void *image) {
    module made = {.handle = handle};
    if (image != NULL && read_image(image, &made)) {
        keep(made);
    }
}

void tide_vc_module_read_file(void *handle, const char *path) {
    module made = {.handle = handle};
    FILE *file = path != NULL ? fopen(path, "rbe") : NULL;
    unsigned char *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        long n_bytes = ftell(file);
        bytes = n_bytes > 0 && n_bytes <= TIDE_VC_CUBIN_MOST_BYTES ? malloc((size_t)n_bytes) : NULL;
        if (bytes != NULL && fseek(file, 0, SEEK_SET) == 0 &&
            fread(bytes, 1, (size_t)n_bytes, file) == (size_t)n_bytes &&
            read_within(bytes, (size_t)n_bytes, &made)) {
            keep(made);
        }
    }
    free(bytes);
    if (file != NULL) {
        (void)fclose(file);
    }
}

static uint64_t whole(uint64_t n_bytes) {
    return (n_bytes + VARIABLE_UNIT - 1) / VARIABLE_UNIT * VARIABLE_UNIT;
}

void tide_vc_module_forget(const void *handle) {
    uint64_t number = 0;
    module gone = {.handle = NULL};
    pthread_mutex_lock(&lock);
    if (tide_map_find(&modules.numbers, (uintptr_t)handle, &number)) {
        gone = modules.all[number];
        modules.all[number] = (module){.handle = NULL};
        (void)tide_map_remove(&modules.numbers, (uintptr_t)handle);
    }
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < gone.n_items; i++) {
        if (gone.addresses[i] != 0) {
            tide_vc_address_give_back(gone.addresses[i], whole(gone.items[i].n_bytes));
        }
    }
    free(gone.items);
    free(gone.addresses);
}

/* NULL: not read. The caller holds the lock. */
static module *find(const void *handle) {
    uint64_t number = 0;
    return tide_map_find(&modules.numbers, (uintptr_t)handle, &number) ? &modules.all[number]
                                                                       : NULL;
}

/* The caller holds the lock. */
static int find_variable(const module *of, uint64_t name_hash, uint64_t *ret_address,
                         size_t *ret_n_bytes) {
    for (size_t i = 0; i < of->n_items; i++) {
        const tide_vc_cubin_item *item = &of->items[i];
        if (item->kernel_hash != 0 || item->name_hash != name_hash) {
            continue;
        }
        if (of->addresses[i] == 0) {
            of->addresses[i] = tide_vc_address_take(whole(item->n_bytes));
        }
        *ret_address = of->addresses[i];
        *ret_n_bytes = item->n_bytes;
        return of->addresses[i] != 0 ? TIDE_VC_OK : tide_vc_host_failed("a variable of a module");
    }
    return TIDE_VC_NOT_FOUND;
}

int tide_vc_module_variable(const char *call, const void *handle, const char *name,
                            uint64_t *ret_address, size_t *ret_n_bytes) {
    uint64_t address = 0;
    size_t n_bytes = 0;
    pthread_mutex_lock(&lock);
    const module *of = find(handle);
    int status = of != NULL ? find_variable(of, tide_vc_cubin_hash(name), &address, &n_bytes)
                            : TIDE_VC_NOT_SUPPORTED;
    pthread_mutex_unlock(&lock);
    if (status == TIDE_VC_NOT_SUPPORTED) {
        tide_vc_refused(call, UNREAD);
    }
    if (status == TIDE_VC_OK && ret_address != NULL) {
        *ret_address = address;
    }
    if (status == TIDE_VC_OK && ret_n_bytes != NULL) {
        *ret_n_bytes = n_bytes;
    }
    return status;
}

/* ---- kernels ---- */

void tide_vc_module_kernel(const void *handle, const void *kernel, const char *name) {
    taken made = {(void *)(uintptr_t)handle, tide_vc_cubin_hash(name != NULL ? name : "")};
    pthread_mutex_lock(&lock);
    taken *larger = tide_hostmem_grow(tide_hostmem_default(), modules.taken, &modules.taken_room,
                                      modules.n_taken + 1, sizeof(*larger));
    if (larger != NULL) {
        modules.taken = larger;
        if (tide_map_put(&modules.kernels, (uintptr_t)kernel, modules.n_taken) == TIDE_OK) {
            modules.taken[modules.n_taken++] = made;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static taken find_taken(const void *kernel) {
    uint64_t number = 0;
    return tide_map_find(&modules.kernels, (uintptr_t)kernel, &number) ? modules.taken[number]
                                                                       : (taken){NULL, 0};
}

void *tide_vc_module_of(const void *kernel) {
    pthread_mutex_lock(&lock);
    void *handle = find_taken(kernel).module;
    pthread_mutex_unlock(&lock);
    return handle;
}

int tide_vc_module_parameter(const char *call, const void *kernel, size_t number,
                             size_t *ret_offset, size_t *ret_n_bytes) {
    int status = TIDE_VC_NOT_SUPPORTED;
    pthread_mutex_lock(&lock);
    taken of = find_taken(kernel);
    const module *from = of.module != NULL ? find(of.module) : NULL;
    for (size_t i = 0; from != NULL && i < from->n_items; i++) {
        const tide_vc_cubin_item *item = &from->items[i];
        if (item->kernel_hash != of.name_hash || item->number != number) {
            continue;
        }
        if (ret_offset != NULL) {
            *ret_offset = item->offset;
        }
        if (ret_n_bytes != NULL) {
            *ret_n_bytes = item->n_bytes;
        }
        status = TIDE_VC_OK;
    }
    if (from != NULL && status != TIDE_VC_OK) {
        status = TIDE_VC_INVALID_VALUE;
    }
    pthread_mutex_unlock(&lock);
    if (status == TIDE_VC_NOT_SUPPORTED) {
        tide_vc_refused(call, UNREAD);
    }
    return status;
}
