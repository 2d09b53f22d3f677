/* cufft.c - cuFFT: plans without a state, and an estimate of a plan's work area. */
#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/cufft.def"

enum { OK = 0, INVALID_VALUE = 4 };
/* cudaDataType of what is computed with */
enum {
    REAL_64 = 1,
    REAL_16 = 2,
    COMPLEX_64 = 5,
    COMPLEX_16 = 6,
    BFLOAT_16 = 14,
    COMPLEX_BFLOAT_16 = 15
};
/* Up to this length a transform of one dimension is thought to need no work area. */
enum { LARGEST_IN_PLACE = 4096 };

TIDE_VC_EXPORT int cufftCreate(int *ret_plan);
TIDE_VC_EXPORT int cufftXtMakePlanMany(int plan, int n_dimensions, const long long *lengths,
                                       const long long *in_lengths, long long in_step,
                                       long long in_distance, int in_type,
                                       const long long *out_lengths, long long out_step,
                                       long long out_distance, int out_type, long long n_transforms,
                                       size_t *ret_work_bytes, int execution_type);

/* Plans are numbers that programs pass back. Nothing is kept about one, so all have the same. */
int cufftCreate(int *ret_plan) {
    *ret_plan = 1;
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

/* The real sizes are the library's own business. The estimate: nothing for short lengths of one
 * dimension that are powers of two, else one complex copy of the data. */
int cufftXtMakePlanMany(int plan, int n_dimensions, const long long *lengths,
                        const long long *in_lengths, long long in_step, long long in_distance,
                        int in_type, const long long *out_lengths, long long out_step,
                        long long out_distance, int out_type, long long n_transforms,
                        size_t *ret_work_bytes, int execution_type) {
    (void)plan, (void)in_lengths, (void)in_step, (void)in_distance, (void)in_type;
    (void)out_lengths, (void)out_step, (void)out_distance, (void)out_type;
    size_t n_values = n_transforms > 0 ? (size_t)n_transforms : 0;
    if (n_dimensions < 1 || lengths == NULL || ret_work_bytes == NULL) {
        return INVALID_VALUE;
    }
    for (int i = 0; i < n_dimensions; i++) {
        n_values *= (size_t)lengths[i];
    }
    bool is_short =
        n_dimensions == 1 && lengths[0] <= LARGEST_IN_PLACE && (lengths[0] & (lengths[0] - 1)) == 0;
    *ret_work_bytes = is_short ? 0 : n_values * complex_bytes(execution_type);
    /* NVIDIA's manual, section on the work area: in the worst case eight times the values of all
     * transforms. */
    tide_vc_inexact_bytes("cufftXtMakePlanMany", "the size of its work area is an estimate",
                          8 * (uint64_t)n_values * complex_bytes(execution_type) - *ret_work_bytes);
    return OK;
}
