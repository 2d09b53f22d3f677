#include "programs/virtual_cuda/launches/stores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/process/fork.h"

static struct kernels {
    tide_map stores;     /* from a handle to its stores; the lock guards it */
    atomic_bool has_any; /* for programs without such kernels, which take no lock */
} kernels;
TIDE_VC_LOCK(lock, NULL);

enum { MOST_BYTES = 16 << 20, PATH_BYTES = 4096 };

/* The text next to NAME.cubin, to be released; NULL if there is none. */
static char *text_of(const char *machine_code) {
    static const char CUBIN[] = ".cubin";
    char path[PATH_BYTES];
    size_t n = machine_code != NULL ? strlen(machine_code) : 0;
    if (n < strlen(CUBIN) || n >= sizeof(path) ||
        strcmp(machine_code + n - strlen(CUBIN), CUBIN) != 0) {
        return NULL;
    }
    (void)snprintf(path, sizeof(path), "%.*s.ptx", (int)(n - strlen(CUBIN)), machine_code);
    char *text = NULL;
    tide_error error;
    return tide_text_file_read(path, MOST_BYTES, &text, NULL, &error) == TIDE_OK ? text : NULL;
}

void tide_vc_stores_add(const void *kernel, const char *machine_code) {
    tide_vc_stores stores = 0;
    char *text = text_of(machine_code);
    bool is_known =
        text != NULL && tide_vc_stores_parse(text, tide_vc_kernel_name(kernel), &stores);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    pthread_mutex_lock(&lock);
    /* A reused handle is another kernel. */
    (void)tide_map_remove(&kernels.stores, (uintptr_t)kernel);
    is_known = is_known && tide_map_put(&kernels.stores, (uintptr_t)kernel, stores) == TIDE_OK;
    pthread_mutex_unlock(&lock);
    if (is_known) {
        atomic_store(&kernels.has_any, true);
    }
}

bool tide_vc_stores_find(const void *kernel, tide_vc_stores *ret_stores) {
    uint64_t stores = 0;
    if (!atomic_load_explicit(&kernels.has_any, memory_order_relaxed)) {
        return false;
    }
    pthread_mutex_lock(&lock);
    bool is_known = tide_map_find(&kernels.stores, (uintptr_t)kernel, &stores);
    pthread_mutex_unlock(&lock);
    *ret_stores = stores;
    return is_known;
}
