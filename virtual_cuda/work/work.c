#include "virtual_cuda/work/work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "virtual_cuda/fork.h"
#include "virtual_cuda/work/family_internal.h"
#include "virtual_cuda/work/symbol_internal.h"
#include "virtual_cuda/work/triton.h"

/* ---- what a kernel's name says, remembered by the kernel ---- */

typedef struct kind {
    const void *kernel;
    const tide_vc_work_family *family; /* NULL: none that is known */
    tide_vc_parsed parsed;
    struct kind *next; /* of the same bucket */
} kind;

enum { N_BUCKETS = 4096, GUESSED_BYTES = 8 };

static kind *buckets[N_BUCKETS]; /* from malloc; never released, as kernels are not */
TIDE_VC_LOCK(lock, NULL);

static kind **bucket_of(const void *kernel) {
    uint64_t hash = (uint64_t)(uintptr_t)kernel * UINT64_C(0x9E3779B97F4A7C15);
    return &buckets[hash >> 52];
}

static const kind *find(const void *kernel) {
    pthread_mutex_lock(&lock);
    const kind *of = *bucket_of(kernel);
    while (of != NULL && of->kernel != kernel) {
        of = of->next;
    }
    pthread_mutex_unlock(&lock);
    return of;
}

static void classify(const char *name, kind *ret) {
    size_t n = 0;
    const tide_vc_work_family *families = tide_vc_work_families(&n);
    for (size_t i = 0; i < n && ret->family == NULL; i++) {
        ret->family = strstr(name, families[i].part) != NULL ? &families[i] : NULL;
    }
    if (ret->family != NULL && ret->family->parse != NULL) {
        char *symbol = tide_vc_symbol(name);
        ret->family->parse(symbol != NULL ? symbol : "", &ret->parsed);
        free(symbol);
    }
}

/* NULL: no host memory. Two threads may both add the same kernel, which changes nothing. */
static const kind *kind_of(const tide_vc_kernel_call *call) {
    const kind *known = find(call->kernel);
    if (known != NULL) {
        return known;
    }
    kind *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->kernel = call->kernel;
    classify(call->name, made);
    pthread_mutex_lock(&lock);
    kind **bucket = bucket_of(call->kernel);
    made->next = *bucket;
    *bucket = made;
    pthread_mutex_unlock(&lock);
    return made;
}

/* ---- */

static uint64_t threads_of(const tide_vc_kernel_call *call) {
    uint64_t n = 1;
    for (size_t i = 0; i < 3; i++) {
        n *= (uint64_t)call->grid[i] * call->block[i];
    }
    return n;
}

void tide_vc_work_of(const tide_vc_kernel_call *call, tide_run_launch *ret_row) {
    if (tide_vc_triton_work(call, ret_row)) {
        return;
    }
    const kind *of = kind_of(call);
    tide_vc_launched_kernel launched = {.call = call, .n_threads = threads_of(call)};
    *ret_row = (tide_run_launch){.kind = TIDE_RUN_KERNEL};
    if (of != NULL && of->family != NULL) {
        tide_run_launch row = {.kind = TIDE_RUN_KERNEL,
                               .family = (uint8_t)of->family->family,
                               .flags = of->parsed.flags};
        ret_row->family = row.family;
        launched.parsed = &of->parsed;
        tide_vc_arguments_find(call->arguments, of->family->n_arguments, &launched.arguments);
        if (of->family->read(&launched, &row)) {
            *ret_row = row;
            return;
        }
    }
    ret_row->elements = launched.n_threads;
    ret_row->bytes = GUESSED_BYTES * launched.n_threads;
    ret_row->flags = TIDE_RUN_GUESSED;
}

void tide_vc_log_kernel(tide_vc_entry entry, const tide_vc_kernel_call *call, void *stream) {
    if (tide_vc_is_logged(entry)) {
        tide_run_launch row;
        tide_vc_work_of(call, &row);
        tide_vc_launch_end(entry, &row, stream, call->name);
    }
}
