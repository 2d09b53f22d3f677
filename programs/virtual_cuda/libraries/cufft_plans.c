/* cufft_plans.c - cuFFT: the functions that make plans, estimate them and execute them. */
#include "programs/virtual_cuda/libraries/cufft_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

enum { OK = 0, INVALID_TYPE = 3, INVALID_VALUE = 4 };
enum { MOST_DIMENSIONS = 3 };

/* cudaDataType */
enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 };

/* cufftType */
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };

/* Transforms of the older interface, and the lengths that `what` points to. */
typedef struct older {
    tide_vc_transforms what;
    long long lengths[MOST_DIMENSIONS];
} older;

static int set_type(older *of, int type) {
    bool is_double = type == Z2Z || type == D2Z || type == Z2D;
    int real = is_double ? REAL_64 : REAL_32;
    int complex = is_double ? COMPLEX_64 : COMPLEX_32;
    of->what.in_type = type == R2C || type == D2Z ? real : complex;
    of->what.out_type = type == C2R || type == Z2D ? real : complex;
    of->what.execution_type = complex;
    return is_double || type == C2C || type == R2C || type == C2R ? OK : INVALID_TYPE;
}

static int set(older *ret, int n_dimensions, const long long *lengths, int type, long long n) {
    if (n_dimensions < 1 || n_dimensions > MOST_DIMENSIONS || lengths == NULL) {
        return INVALID_VALUE;
    }
    for (int i = 0; i < n_dimensions; i++) {
        ret->lengths[i] = lengths[i];
    }
    ret->what = (tide_vc_transforms){.n_dimensions = n_dimensions, .lengths = ret->lengths, .n = n};
    return set_type(ret, type);
}

static int set_many(older *ret, int n_dimensions, const int *lengths, int type, long long n) {
    long long wide[MOST_DIMENSIONS] = {0};
    for (int i = 0; lengths != NULL && i < n_dimensions && i < MOST_DIMENSIONS; i++) {
        wide[i] = lengths[i];
    }
    return set(ret, n_dimensions, lengths != NULL ? wide : NULL, type, n);
}

static int make(const char *call, int number, int status, const older *of, size_t *ret_bytes) {
    return status == OK ? tide_vc_cufft_make(call, number, &of->what, ret_bytes) : status;
}

static int measure(const char *call, int status, const older *of, size_t *ret_bytes) {
    return status == OK ? tide_vc_cufft_measure(call, &of->what, ret_bytes) : status;
}

static int plan(const char *call, int status, const older *of, int *ret_number) {
    size_t n_bytes = 0;
    if (ret_number == NULL) {
        return INVALID_VALUE;
    }
    if (status == OK) {
        status = cufftCreate(ret_number);
    }
    return status == OK ? tide_vc_cufft_make(call, *ret_number, &of->what, &n_bytes) : status;
}

/* The arguments that describe transforms of one, two or three dimensions, or of any number. */
#define ARGUMENTS_1d int x, int type, int n
#define ARGUMENTS_2d int x, int y, int type
#define ARGUMENTS_3d int x, int y, int z, int type
#define ARGUMENTS_Many                                                                             \
    int n_dimensions, int *lengths, int *in_lengths, int in_step, int in_distance,                 \
        int *out_lengths, int out_step, int out_distance, int type, int n
#define ARGUMENTS_Many64                                                                           \
    int n_dimensions, long long *lengths, long long *in_lengths, long long in_step,                \
        long long in_distance, long long *out_lengths, long long out_step, long long out_distance, \
        int type, long long n
#define IGNORE_LAYOUT                                                                              \
    (void)in_lengths, (void)in_step, (void)in_distance, (void)out_lengths, (void)out_step,         \
        (void)out_distance
#define READ_1d set(&of, 1, (const long long[]){x}, type, n)
#define READ_2d set(&of, 2, (const long long[]){x, y}, type, 1)
#define READ_3d set(&of, 3, (const long long[]){x, y, z}, type, 1)
#define READ_Many (IGNORE_LAYOUT, set_many(&of, n_dimensions, lengths, type, n))
#define READ_Many64 (IGNORE_LAYOUT, set(&of, n_dimensions, lengths, type, n))

/* NOLINTBEGIN(readability-function-size): cuFFT's own signatures. */
#define MAKES(name, rank)                                                                          \
    TIDE_VC_EXPORT int name(int number, ARGUMENTS_##rank, size_t *ret_bytes);                      \
    int name(int number, ARGUMENTS_##rank, size_t *ret_bytes) {                                    \
        older of;                                                                                  \
        int status = READ_##rank;                                                                  \
        return make(__func__, number, status, &of, ret_bytes);                                     \
    }
#define MEASURES(name, rank)                                                                       \
    TIDE_VC_EXPORT int name(int number, ARGUMENTS_##rank, size_t *ret_bytes);                      \
    int name(int number, ARGUMENTS_##rank, size_t *ret_bytes) {                                    \
        older of;                                                                                  \
        int status = READ_##rank;                                                                  \
        (void)number;                                                                              \
        return measure(__func__, status, &of, ret_bytes);                                          \
    }
#define ESTIMATES(name, rank)                                                                      \
    TIDE_VC_EXPORT int name(ARGUMENTS_##rank, size_t *ret_bytes);                                  \
    int name(ARGUMENTS_##rank, size_t *ret_bytes) {                                                \
        older of;                                                                                  \
        int status = READ_##rank;                                                                  \
        return measure(__func__, status, &of, ret_bytes);                                          \
    }
#define PLANS(name, rank)                                                                          \
    TIDE_VC_EXPORT int name(int *ret_number, ARGUMENTS_##rank);                                    \
    int name(int *ret_number, ARGUMENTS_##rank) {                                                  \
        older of;                                                                                  \
        int status = READ_##rank;                                                                  \
        return plan(__func__, status, &of, ret_number);                                            \
    }
MAKES(cufftMakePlan1d, 1d)
MAKES(cufftMakePlan2d, 2d)
MAKES(cufftMakePlan3d, 3d)
MAKES(cufftMakePlanMany, Many)
MAKES(cufftMakePlanMany64, Many64)
MEASURES(cufftGetSize1d, 1d)
MEASURES(cufftGetSize2d, 2d)
MEASURES(cufftGetSize3d, 3d)
MEASURES(cufftGetSizeMany, Many)
MEASURES(cufftGetSizeMany64, Many64)
ESTIMATES(cufftEstimate1d, 1d)
ESTIMATES(cufftEstimate2d, 2d)
ESTIMATES(cufftEstimate3d, 3d)
ESTIMATES(cufftEstimateMany, Many)
PLANS(cufftPlan1d, 1d)
PLANS(cufftPlan2d, 2d)
PLANS(cufftPlan3d, 3d)
PLANS(cufftPlanMany, Many)

TIDE_VC_EXPORT int cufftXtMakePlanMany(int number, int n_dimensions, long long *lengths,
                                       long long *in_lengths, long long in_step,
                                       long long in_distance, int in_type, long long *out_lengths,
                                       long long out_step, long long out_distance, int out_type,
                                       long long n, size_t *ret_bytes, int execution_type);
TIDE_VC_EXPORT int cufftXtGetSizeMany(int number, int n_dimensions, long long *lengths,
                                      long long *in_lengths, long long in_step,
                                      long long in_distance, int in_type, long long *out_lengths,
                                      long long out_step, long long out_distance, int out_type,
                                      long long n, size_t *ret_bytes, int execution_type);

int cufftXtMakePlanMany(int number, int n_dimensions, long long *lengths, long long *in_lengths,
                        long long in_step, long long in_distance, int in_type,
                        long long *out_lengths, long long out_step, long long out_distance,
                        int out_type, long long n, size_t *ret_bytes, int execution_type) {
    tide_vc_transforms what = {n_dimensions, lengths, in_type, out_type, execution_type, n};
    IGNORE_LAYOUT;
    return tide_vc_cufft_make(__func__, number, &what, ret_bytes);
}

int cufftXtGetSizeMany(int number, int n_dimensions, long long *lengths, long long *in_lengths,
                       long long in_step, long long in_distance, int in_type,
                       long long *out_lengths, long long out_step, long long out_distance,
                       int out_type, long long n, size_t *ret_bytes, int execution_type) {
    tide_vc_transforms what = {n_dimensions, lengths, in_type, out_type, execution_type, n};
    IGNORE_LAYOUT;
    (void)number;
    return tide_vc_cufft_measure(__func__, &what, ret_bytes);
}
/* NOLINTEND(readability-function-size) */

#define RUNS(name)                                                                                 \
    TIDE_VC_EXPORT int name(int number, void *input, void *output);                                \
    int name(int number, void *input, void *output) {                                              \
        return tide_vc_cufft_run(__func__, number, input, output);                                 \
    }
#define RUNS_EITHER_WAY(name)                                                                      \
    TIDE_VC_EXPORT int name(int number, void *input, void *output, int direction);                 \
    int name(int number, void *input, void *output, int direction) {                               \
        (void)direction;                                                                           \
        return tide_vc_cufft_run(__func__, number, input, output);                                 \
    }
RUNS(cufftExecC2R)
RUNS(cufftExecR2C)
RUNS(cufftExecD2Z)
RUNS(cufftExecZ2D)
RUNS_EITHER_WAY(cufftExecC2C)
RUNS_EITHER_WAY(cufftExecZ2Z)
RUNS_EITHER_WAY(cufftXtExec)
