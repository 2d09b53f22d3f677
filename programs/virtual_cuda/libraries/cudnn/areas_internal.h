/* areas_internal.h - the work areas of cuDNN's convolutions: the likely size, which programs get,
 * and the largest that is expected. NVIDIA publishes no sizes; areas.c has a rule from published
 * measurements, with the source of each line. Thread-safe. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_AREAS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_AREAS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"

/* The result of the convolution: its output, or the gradient of its input or of its filter. */
typedef enum tide_vc_cudnn_way {
    TIDE_VC_CUDNN_OUTPUT = 0,
    TIDE_VC_CUDNN_DATA,
    TIDE_VC_CUDNN_FILTER,
    TIDE_VC_CUDNN_N_WAYS
} tide_vc_cudnn_way;

/* A convolution, and the cuDNN and the card that compute it. */
typedef struct tide_vc_cudnn_problem {
    tide_vc_cudnn_way way;
    uint64_t x_bytes, w_bytes, y_bytes; /* of input, filter and output, in their own type */
    uint64_t w_values;
    bool is_channels_last;
    bool is_pointwise; /* windows of one value in steps of one */
    bool is_grouped;   /* more than one group */
    bool has_tensor_cores;
    int cudnn_major; /* 8, 9 */
} tide_vc_cudnn_problem;

typedef struct tide_vc_cudnn_area {
    uint64_t likely_bytes, most_bytes; /* likely <= most */
    bool is_convolution;
    bool is_measured; /* a published measurement shows the likely size of this kind */
} tide_vc_cudnn_area;

/* x_bytes 0: no convolution, so both sizes are 0. */
tide_vc_cudnn_area tide_vc_cudnn_area_of(const tide_vc_cudnn_problem *problem);

/* The same for this process' cuDNN and its current card, which replace those of the problem; it
 * computes in that type. The variable CUDNN_CONV_WSCAP_DBG limits both sizes. */
tide_vc_cudnn_area tide_vc_cudnn_area_here(const tide_vc_cudnn_problem *of, tide_run_type type);
/* Reports that the answer of `call`, static, is not exact, and the bytes that it may need more. */
void tide_vc_cudnn_say_area(const char *call, const tide_vc_cudnn_area *area);
/* Records a call that computes with the area at that address (NULL: it got none) on the stream, for
 * the peaks without areas and with the largest ones. Nothing without a recorder. */
void tide_vc_cudnn_record_area(const void *address, const tide_vc_cudnn_area *area, void *stream);
/* compute_capability: 90 for 9.0. */
bool tide_vc_cudnn_has_tensor_cores(tide_run_type type, int compute_capability);

#endif
