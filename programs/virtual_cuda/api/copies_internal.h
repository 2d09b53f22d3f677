/* copies_internal.h - boxes of memory, fills of lines, and the copies that other copies are made
 * of. */
#ifndef TIDE_VIRTUAL_CUDA_COPIES_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_COPIES_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* cudaExtent: bytes, lines, layers. */
typedef struct tide_vc_box {
    size_t width, height, depth;
} tide_vc_box;

/* cudaPitchedPtr */
typedef struct tide_vc_pitched {
    void *address;
    size_t pitch, x_bytes, y_rows;
} tide_vc_pitched;

/* n equal values of n_bytes each. */
typedef struct tide_vc_pattern {
    const void *value; /* borrowed */
    size_t n_bytes, n;
} tide_vc_pattern;

/* Fills lines that are a pitch apart; one fill for the launch log. TIDE_VC_OK. */
int tide_vc_fill_lines(void *to, size_t pitch, size_t n_lines, const tide_vc_pattern *with,
                       void *stream);

int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind, void *stream);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind);
int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream);

#endif
