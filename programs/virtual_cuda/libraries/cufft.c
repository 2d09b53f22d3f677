/* cufft.c - cuFFT: estimates of a plan's workspace and of the bytes that its kernels move. */
#include <pthread.h>
#include <stdbool.h>

#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/libraries/cufft_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cufft.def"

enum { OK = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_VALUE = 4 };
/* cudaDataType of the computation */
enum {
    REAL_32 = 0,
    REAL_64 = 1,
    REAL_16 = 2,
    COMPLEX_64 = 5,
    COMPLEX_16 = 6,
    BFLOAT_16 = 14,
    COMPLEX_BFLOAT_16 = 15
};
/* Up to this length a transform of one dimension is assumed to need no workspace. */
enum { LARGEST_IN_PLACE = 4096 };
/* Beyond a prime factor of this size the library uses another algorithm, which transforms a longer
 * signal three times (NVIDIA's manual, on accuracy and performance). */
enum { LARGEST_PRIME = 127 };

/* The runtime's own functions, which this object also defines. */
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);

typedef struct plan {
    tide_run_launch row; /* of its executions in the launch log; kind 0: unknown */
    void *stream;
    void *work; /* owned, on the card; NULL: none, or the program lends it */
    size_t work_bytes;
    const void *lent; /* the program's work area; NULL: none */
    bool is_lent;     /* the program allocates the work area itself */
    bool is_used;     /* from cufftCreate to cufftDestroy; under the lock */
} plan;

enum { MOST_PLANS = 1 << 14 }; /* at a time */
static struct plans {
    plan all[MOST_PLANS]; /* by number, from 1; each belongs to the thread that made it */
    pthread_mutex_t lock;
    int n_free, first_unused; /* the numbers of n_free destroyed plans can be used again */
    int free_numbers[MOST_PLANS];
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER, .first_unused = 1};

TIDE_VC_EXPORT int cufftDestroy(int number);
TIDE_VC_EXPORT int cufftSetAutoAllocation(int number, int is_automatic);
TIDE_VC_EXPORT int cufftSetWorkArea(int number, void *area);
TIDE_VC_EXPORT int cufftSetStream(int number, void *stream);
TIDE_VC_EXPORT int cufftGetSize(int number, size_t *ret_work_bytes);

/* 0: all are in use. */
static int take_number(void) {
    int number = 0;
    pthread_mutex_lock(&plans.lock);
    if (plans.n_free > 0) {
        number = plans.free_numbers[--plans.n_free];
    } else if (plans.first_unused < MOST_PLANS) {
        number = plans.first_unused++;
    }
    plans.all[number].is_used = true;
    pthread_mutex_unlock(&plans.lock);
    return number;
}

/* Plans are numbers that programs pass back. */
int cufftCreate(int *ret_plan) {
    int number = take_number();
    if (number == 0) {
        tide_vc_refused("cufftCreate", "more than 16,383 plans at a time are not simulated");
        return ALLOC_FAILED;
    }
    *ret_plan = number;
    return OK;
}

/* NULL: no plan can have this number. */
static plan *plan_of(int number) {
    return number > 0 && number < MOST_PLANS ? &plans.all[number] : NULL;
}

int cufftSetStream(int number, void *stream) {
    plan *of = plan_of(number);
    if (of != NULL) {
        of->stream = stream;
    }
    return OK;
}

int cufftDestroy(int number) {
    plan *of = plan_of(number);
    if (of == NULL) {
        return INVALID_PLAN;
    }
    (void)cudaFree(of->work);
    pthread_mutex_lock(&plans.lock);
    if (of->is_used) {
        plans.free_numbers[plans.n_free++] = number;
    }
    *of = (plan){.work = NULL};
    pthread_mutex_unlock(&plans.lock);
    return OK;
}

/* The area that the library allocated is freed: the plan uses the program's from now on. */
int cufftSetWorkArea(int number, void *area) {
    plan *of = plan_of(number);
    if (of == NULL) {
        return INVALID_PLAN;
    }
    (void)cudaFree(of->work);
    of->work = NULL;
    of->is_lent = true;
    of->lent = area;
    return OK;
}

int cufftSetAutoAllocation(int number, int is_automatic) {
    plan *of = plan_of(number);
    if (of != NULL) {
        of->is_lent = is_automatic == 0;
    }
    return OK;
}

int cufftGetSize(int number, size_t *ret_work_bytes) {
    const plan *of = plan_of(number);
    if (of == NULL || ret_work_bytes == NULL) {
        return INVALID_VALUE;
    }
    *ret_work_bytes = of->work_bytes;
    return OK;
}

int tide_vc_cufft_run(const char *call, int number, const void *input, const void *output) {
    tide_vc_entry entry = tide_vc_launch_begin();
    const plan *of = plan_of(number);
    tide_run_launch row = {
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_LIBRARY, .flags = TIDE_RUN_GUESSED};
    tide_vc_touch(input);
    tide_vc_touch(output);
    if (of != NULL) {
        tide_vc_touch(of->lent);
        row = of->row.kind != 0 ? of->row : row;
    }
    tide_vc_launch_end(entry, &row, of != NULL ? of->stream : NULL, call);
    return OK;
}

static size_t complex_bytes(int execution_type) {
    switch (execution_type) {
    case REAL_64:
    case COMPLEX_64:
        return 16;
    case REAL_16:
    case COMPLEX_16:
    case BFLOAT_16:
    case COMPLEX_BFLOAT_16:
        return 4;
    default:
        return 8;
    }
}

/* ---- the bytes that a plan moves ---- */

static bool is_real(int type) {
    return type == REAL_32 || type == REAL_64 || type == REAL_16 || type == BFLOAT_16;
}

static uint64_t bytes_of(int type) {
    return complex_bytes(type) / (is_real(type) ? 2 : 1);
}

static bool is_smooth(long long length) {
    for (long long factor = 2; factor <= LARGEST_PRIME && length > 1; factor++) {
        while (length % factor == 0) {
            length /= factor;
        }
    }
    return length <= 1;
}

/* A kernel reads and writes all values; it transforms up to LARGEST_IN_PLACE along one dimension.
 */
static unsigned passes_along(long long length) {
    unsigned n_passes = 0;
    while (length > 1) {
        length = length / LARGEST_IN_PLACE + (length % LARGEST_IN_PLACE != 0);
        n_passes++;
    }
    return n_passes;
}

/* In fp32 a transform moves 16 bytes a value for 5 log2(N) operations, and a card does more
 * operations than that in the same time. So the bytes decide, except in fp64, which is slow on most
 * cards. With a real side only half of the complex values exist. */
static tide_run_launch row_of(int n_dimensions, const long long *lengths, int in_type, int out_type,
                              uint64_t n_values, int execution_type) {
    long long last = lengths[n_dimensions - 1];
    bool has_real = is_real(in_type) || is_real(out_type);
    uint64_t n_complex = has_real ? n_values / (uint64_t)last * ((uint64_t)last / 2 + 1) : n_values;
    bool is_known = execution_type != REAL_64 && execution_type != COMPLEX_64;
    unsigned n_passes = 0;
    for (int i = 0; i < n_dimensions; i++) {
        n_passes += passes_along(lengths[i]);
        is_known = is_known && is_smooth(lengths[i]);
    }
    uint64_t n_bytes = (is_real(in_type) ? n_values : n_complex) * bytes_of(in_type) +
                       (is_real(out_type) ? n_values : n_complex) * bytes_of(out_type);
    n_bytes += n_passes > 1 ? 2 * n_complex * (n_passes - 1) * complex_bytes(execution_type) : 0;
    return (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                             .family = TIDE_RUN_FOURIER,
                             .bytes = n_bytes,
                             .elements = n_values,
                             .flags = is_known ? TIDE_RUN_ESTIMATED : TIDE_RUN_GUESSED};
}

/* All values of all transforms; 0 if a length is not above 0. */
static uint64_t values_of(const tide_vc_transforms *of) {
    uint64_t n_values = of->n > 0 ? (uint64_t)of->n : 0;
    for (int i = 0; i < of->n_dimensions; i++) {
        n_values *= of->lengths[i] > 0 ? (uint64_t)of->lengths[i] : 0;
    }
    return n_values;
}

/* The real sizes are internal to the library. The estimate: nothing for short one-dimensional
 * lengths that are powers of two, otherwise one complex copy of the data. */
int tide_vc_cufft_measure(const char *call, const tide_vc_transforms *of, size_t *ret_work_bytes) {
    if (of->n_dimensions < 1 || of->lengths == NULL || ret_work_bytes == NULL) {
        return INVALID_VALUE;
    }
    uint64_t n_bytes = values_of(of) * complex_bytes(of->execution_type);
    long long first = of->lengths[0];
    bool is_short =
        of->n_dimensions == 1 && first <= LARGEST_IN_PLACE && (first & (first - 1)) == 0;
    *ret_work_bytes = is_short ? 0 : n_bytes;
    /* NVIDIA's manual, section on the work area: in the worst case eight times the values of all
     * transforms. */
    tide_vc_inexact_bytes(call, "the size of its work area is an estimate",
                          8 * n_bytes - *ret_work_bytes);
    return OK;
}

/* The library allocates the work area itself unless the program wants to lend it. */
static int allocate(plan *of) {
    (void)cudaFree(of->work);
    of->work = NULL;
    bool is_needed = !of->is_lent && of->work_bytes > 0;
    return !is_needed || cudaMalloc(&of->work, of->work_bytes) == 0 ? OK : ALLOC_FAILED;
}

int tide_vc_cufft_make(const char *call, int number, const tide_vc_transforms *what,
                       size_t *ret_work_bytes) {
    int status = tide_vc_cufft_measure(call, what, ret_work_bytes);
    plan *of = plan_of(number);
    if (status != OK || of == NULL) {
        return status;
    }
    uint64_t n_values = values_of(what);
    if (n_values > 0) {
        of->row = row_of(what->n_dimensions, what->lengths, what->in_type, what->out_type, n_values,
                         what->execution_type);
    }
    of->work_bytes = *ret_work_bytes;
    return allocate(of);
}
