#include "programs/virtual_cuda/launches/kernels/work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/text/demangle.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/launches/kernels/family_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"
#include "programs/virtual_cuda/launches/kernels/triton.h"

/* ---- parsed names, remembered by kernel ---- */

typedef struct kind {
    const tide_vc_work_family *family;      /* NULL if none is known */
    const tide_vc_operand_family *operands; /* NULL if none is known */
    const tide_vc_variant *variant;         /* NULL if it has none */
    tide_vc_parsed parsed;
} kind;

enum { GUESSED_BYTES = 8 };

/* From a kernel to its kind, from malloc; never released, because kernels are not. The lock guards
 * it. */
static tide_map kinds;
TIDE_VC_LOCK(lock, NULL);

static const kind *kind_at(uint64_t address) {
    return (const kind *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static const kind *find(const void *kernel) {
    uint64_t found = 0;
    pthread_mutex_lock(&lock);
    (void)tide_map_find(&kinds, (uintptr_t)kernel, &found); /* 0 if it is new */
    pthread_mutex_unlock(&lock);
    return kind_at(found);
}

/* A kernel whose parameters changed between versions of PyTorch has a line for each. */
static void classify_by_operands(const char *name, const char *symbol, kind *ret) {
    size_t n = 0;
    const tide_vc_operand_family *families = tide_vc_operand_families(&n);
    for (size_t i = 0; i < n && ret->operands == NULL; i++) {
        bool is_found = tide_vc_name_has(name, families[i].part) &&
                        tide_vc_operands_parse(symbol, &families[i], &ret->parsed);
        ret->operands = is_found ? &families[i] : NULL;
    }
}

static void classify(const char *name, kind *ret) {
    size_t n = 0;
    const tide_vc_work_family *families = tide_vc_work_families(&n);
    for (size_t i = 0; i < n && ret->family == NULL; i++) {
        ret->family = strstr(name, families[i].part) != NULL ? &families[i] : NULL;
    }
    if (ret->family != NULL && ret->family->parse == NULL) {
        return;
    }
    char *symbol = tide_demangle(name);
    if (ret->family != NULL) {
        ret->family->parse(symbol != NULL ? symbol : "", &ret->parsed);
    } else if (symbol != NULL) {
        classify_by_operands(name, symbol, ret);
    }
    free(symbol);
}

/* The kind that is kept for the kernel: another thread may have been faster. NULL: no host memory.
 */
static const kind *keep(const void *kernel, kind *made) {
    uint64_t kept = 0;
    pthread_mutex_lock(&lock);
    if (!tide_map_find(&kinds, (uintptr_t)kernel, &kept) &&
        tide_map_put(&kinds, (uintptr_t)kernel, (uintptr_t)made) == TIDE_OK) {
        kept = (uintptr_t)made;
    }
    pthread_mutex_unlock(&lock);
    if (kind_at(kept) != made) {
        free(made);
    }
    return kind_at(kept);
}

/* NULL: no host memory. */
static const kind *kind_of(const tide_vc_kernel_call *call) {
    const kind *known = find(call->kernel);
    if (known != NULL) {
        return known;
    }
    kind *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    classify(call->name, made);
    made->variant = tide_vc_variant_of(call->name);
    return keep(call->kernel, made);
}

/* ---- */

static uint64_t threads_of(const tide_vc_kernel_call *call) {
    uint64_t n = 1;
    for (size_t i = 0; i < 3; i++) {
        n *= (uint64_t)call->grid[i] * call->block[i];
    }
    return n;
}

/* Fills in the row by the family. False: no family is known, or the arguments make no sense to
 * it. */
static bool read_family(const kind *of, tide_vc_launched_kernel *launched, tide_run_launch *row) {
    unsigned n_arguments = of->parsed.n_parameters;
    if (of->family != NULL) {
        row->family = (uint8_t)of->family->family;
        n_arguments = n_arguments > 0 ? n_arguments : of->family->n_arguments;
    } else if (of->operands != NULL) {
        row->family = (uint8_t)of->operands->family;
        launched->operands = of->operands->operands;
    } else {
        return false;
    }
    launched->parsed = &of->parsed;
    row->flags = of->parsed.flags;
    tide_vc_arguments_find(launched->call->arguments, n_arguments, &launched->arguments);
    bool is_read =
        of->family != NULL ? of->family->read(launched, row) : tide_vc_operands_read(launched, row);
    if (is_read && of->variant != NULL) {
        tide_vc_variant_fill(of->variant, launched, row);
    }
    return is_read;
}

void tide_vc_work_of(const tide_vc_kernel_call *call, tide_run_launch *ret_row) {
    if (tide_vc_triton_work(call, ret_row)) {
        return;
    }
    const kind *of = kind_of(call);
    tide_vc_launched_kernel launched = {.call = call, .n_threads = threads_of(call)};
    tide_run_launch row = {.kind = TIDE_RUN_KERNEL};
    if (of != NULL && read_family(of, &launched, &row)) {
        *ret_row = row;
        return;
    }
    *ret_row = (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                                 .family = row.family,
                                 .elements = launched.n_threads,
                                 .bytes = GUESSED_BYTES * launched.n_threads,
                                 .flags = TIDE_RUN_GUESSED};
}

void tide_vc_log_kernel(tide_vc_entry entry, const tide_vc_kernel_call *call, void *stream) {
    if (tide_vc_is_logged(entry)) {
        tide_run_launch row;
        tide_vc_work_of(call, &row);
        tide_vc_launch_end(entry, &row, stream, call->name);
    }
}
