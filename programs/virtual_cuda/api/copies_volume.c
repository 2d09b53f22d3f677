/* copies_volume.c - copies and fills of rectangles and boxes of memory, and lists of copies. Arrays
 * are refused: the virtual card has none. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/copies_internal.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/process/inexact.h"

/* The bytes of a box, and the memory that contains it. */
typedef struct volume {
    char *base;
    size_t pitch, rows; /* of the memory: bytes from line to line, lines from layer to layer */
    size_t x, y, z;     /* where the box begins: bytes, lines, layers */
    bool is_array;
} volume;

enum { ANY_DIRECTION = 4 }; /* cudaMemcpyDefault */

static char *layer_of(const volume *of, size_t z) {
    return of->base + ((of->z + z) * of->rows + of->y) * of->pitch + of->x;
}

/* Layers follow each other without a gap, so the box is one rectangle. */
static bool is_one(const volume *of, const tide_vc_box *size) {
    return size->depth <= 1 || of->rows == size->height;
}

static int copy_lines(char *to, size_t to_pitch, const char *from, size_t from_pitch,
                      const tide_vc_box *size, bool is_async, void *stream) {
    return is_async ? cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, size->width, size->height,
                                        ANY_DIRECTION, stream)
                    : cudaMemcpy2D(to, to_pitch, from, from_pitch, size->width, size->height,
                                   ANY_DIRECTION);
}

static int copy(const char *call, const volume *to, const volume *from, const tide_vc_box *size,
                bool is_async, void *stream) {
    if (to->is_array || from->is_array) {
        tide_vc_refused(call, "arrays and textures are not simulated");
        return TIDE_VC_NOT_SUPPORTED;
    }
    if (to->base == NULL || from->base == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    tide_vc_box part = *size;
    size_t n_parts = size->depth;
    if (is_one(to, size) && is_one(from, size)) {
        part.height = size->height * size->depth;
        n_parts = part.height > 0 ? 1 : 0;
    }
    int status = TIDE_VC_OK;
    for (size_t z = 0; z < n_parts && status == TIDE_VC_OK; z++) {
        status = copy_lines(layer_of(to, z), to->pitch, layer_of(from, z), from->pitch, &part,
                            is_async, stream);
    }
    return status;
}

/* ---- the driver ---- */

enum { OF_HOST = 1, OF_ARRAY = 3 }; /* CUmemorytype */

/* One side of CUDA_MEMCPY2D. */
typedef struct side2 {
    size_t x, y;
    int type;
    const void *host;
    uint64_t device;
    const void *array;
    size_t pitch;
} side2;

/* CUDA_MEMCPY2D. */
typedef struct copy2 {
    side2 from, to;
    size_t width, height;
} copy2;
_Static_assert(sizeof(copy2) == 128, "as in NVIDIA's header");

/* One side of CUDA_MEMCPY3D and of CUDA_MEMCPY3D_PEER. */
typedef struct side3 {
    size_t x, y, z, level;
    int type;
    const void *host;
    uint64_t device;
    const void *array, *context; /* the context only in CUDA_MEMCPY3D_PEER */
    size_t pitch, rows;
} side3;

typedef struct copy3 {
    side3 from, to;
    tide_vc_box size;
} copy3;
_Static_assert(sizeof(copy3) == 200, "as in NVIDIA's header");

static char *base_of(int type, const void *host, uint64_t device) {
    return type == OF_HOST ? (char *)(uintptr_t)host : (char *)(uintptr_t)device;
}

static volume of_side2(const side2 *from) {
    return (volume){base_of(from->type, from->host, from->device),
                    from->pitch,
                    0,
                    from->x,
                    from->y,
                    0,
                    from->type == OF_ARRAY};
}

static volume of_side3(const side3 *from) {
    return (volume){base_of(from->type, from->host, from->device),
                    from->pitch,
                    from->rows,
                    from->x,
                    from->y,
                    from->z,
                    from->type == OF_ARRAY};
}

static int driver_copy2(const char *call, const copy2 *what, bool is_async, void *stream) {
    volume to = of_side2(&what->to);
    volume from = of_side2(&what->from);
    tide_vc_box size = {what->width, what->height, 1};
    return copy(call, &to, &from, &size, is_async, stream);
}

static int driver_copy3(const char *call, const copy3 *what, bool is_async, void *stream) {
    volume to = of_side3(&what->to);
    volume from = of_side3(&what->from);
    return copy(call, &to, &from, &what->size, is_async, stream);
}

TIDE_VC_EXPORT int cuMemcpy2D_v2(const copy2 *what) {
    return driver_copy2("cuMemcpy2D_v2", what, false, NULL);
}

TIDE_VC_EXPORT int cuMemcpy2DUnaligned_v2(const copy2 *what) {
    return driver_copy2("cuMemcpy2DUnaligned_v2", what, false, NULL);
}

TIDE_VC_EXPORT int cuMemcpy2DAsync_v2(const copy2 *what, void *stream) {
    return driver_copy2("cuMemcpy2DAsync_v2", what, true, stream);
}

TIDE_VC_EXPORT int cuMemcpy3D_v2(const copy3 *what) {
    return driver_copy3("cuMemcpy3D_v2", what, false, NULL);
}

TIDE_VC_EXPORT int cuMemcpy3DAsync_v2(const copy3 *what, void *stream) {
    return driver_copy3("cuMemcpy3DAsync_v2", what, true, stream);
}

TIDE_VC_EXPORT int cuMemcpy3DPeer(const copy3 *what) {
    return driver_copy3("cuMemcpy3DPeer", what, false, NULL);
}

TIDE_VC_EXPORT int cuMemcpy3DPeerAsync(const copy3 *what, void *stream) {
    return driver_copy3("cuMemcpy3DPeerAsync", what, true, stream);
}

/* ---- the runtime ---- */

/* cudaPos */
typedef struct place {
    size_t x, y, z;
} place;

/* cudaMemcpy3DParms. */
typedef struct runtime_copy3 {
    const void *from_array;
    place from_at;
    tide_vc_pitched from;
    const void *to_array;
    place to_at;
    tide_vc_pitched to;
    tide_vc_box size;
    int kind;
} runtime_copy3;

/* cudaMemcpy3DPeerParms. */
typedef struct peer_copy3 {
    const void *from_array;
    place from_at;
    tide_vc_pitched from;
    int from_device;
    const void *to_array;
    place to_at;
    tide_vc_pitched to;
    int to_device;
    tide_vc_box size;
} peer_copy3;

static volume of_pitched(const tide_vc_pitched *of, const place *at, const void *array) {
    return (volume){of->address, of->pitch, of->y_rows, at->x, at->y, at->z, array != NULL};
}

static int runtime_copy(const char *call, const runtime_copy3 *what, bool is_async, void *stream) {
    volume to = of_pitched(&what->to, &what->to_at, what->to_array);
    volume from = of_pitched(&what->from, &what->from_at, what->from_array);
    return tide_vc_fail(copy(call, &to, &from, &what->size, is_async, stream));
}

static int peer_copy(const char *call, const peer_copy3 *what, void *stream) {
    volume to = of_pitched(&what->to, &what->to_at, what->to_array);
    volume from = of_pitched(&what->from, &what->from_at, what->from_array);
    return tide_vc_fail(copy(call, &to, &from, &what->size, true, stream));
}

TIDE_VC_EXPORT int cudaMemcpy3D(const runtime_copy3 *what) {
    return runtime_copy("cudaMemcpy3D", what, false, NULL);
}

TIDE_VC_EXPORT int cudaMemcpy3DAsync(const runtime_copy3 *what, void *stream) {
    return runtime_copy("cudaMemcpy3DAsync", what, true, stream);
}

TIDE_VC_EXPORT int cudaMemcpy3DPeer(const peer_copy3 *what) {
    return peer_copy("cudaMemcpy3DPeer", what, NULL);
}

TIDE_VC_EXPORT int cudaMemcpy3DPeerAsync(const peer_copy3 *what, void *stream) {
    return peer_copy("cudaMemcpy3DPeerAsync", what, stream);
}

/* ---- lists of copies. Their attributes are hints, or an order among the host's threads. ---- */

static int copy_list(void *const *to, const void *const *from, const size_t *n_bytes, size_t n,
                     void *stream) {
    int status = TIDE_VC_OK;
    for (size_t i = 0; i < n && status == TIDE_VC_OK; i++) {
        status = cudaMemcpyAsync(to[i], from[i], n_bytes[i], ANY_DIRECTION, stream);
    }
    return status;
}

/* The driver's first form, and the runtime's of CUDA 12.8 and 12.9: it also returns which copy
 * failed; SIZE_MAX means that no single one did. */
static int copy_list_of_12(void *const *to, const void *const *from, const size_t *n_bytes,
                           size_t n, size_t *ret_failed, void *stream) {
    if (ret_failed != NULL) {
        *ret_failed = SIZE_MAX;
    }
    return copy_list(to, from, n_bytes, n, stream);
}

/* CUDA 13: the stream is the eighth argument and the last one. CUDA 12: ret_failed, then the
 * stream. */
TIDE_VC_EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from,
                                        const size_t *n_bytes, size_t n, void *attributes,
                                        size_t *attributes_at, size_t n_attributes, void *eighth,
                                        void *ninth) {
    (void)attributes;
    (void)attributes_at;
    (void)n_attributes;
    return tide_vc_runtime_major() >= 13 ? copy_list(to, from, n_bytes, n, eighth)
                                         : copy_list_of_12(to, from, n_bytes, n, eighth, ninth);
}

TIDE_VC_EXPORT int cuMemcpyBatchAsync_v2(void *const *to, const void *const *from,
                                         const size_t *n_bytes, size_t n, void *attributes,
                                         size_t *attributes_at, size_t n_attributes, void *stream) {
    (void)attributes;
    (void)attributes_at;
    (void)n_attributes;
    return copy_list(to, from, n_bytes, n, stream);
}

TIDE_VC_EXPORT int cuMemcpyBatchAsync(void *const *to, const void *const *from,
                                      const size_t *n_bytes, size_t n, void *attributes,
                                      size_t *attributes_at, size_t n_attributes,
                                      size_t *ret_failed, void *stream) {
    (void)attributes;
    (void)attributes_at;
    (void)n_attributes;
    return copy_list_of_12(to, from, n_bytes, n, ret_failed, stream);
}

/* ---- fills ---- */

TIDE_VC_EXPORT int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                     void *stream) {
    unsigned char byte = (unsigned char)value;
    tide_vc_pattern with = {&byte, 1, width};
    return tide_vc_fill_lines(to, pitch, height, &with, stream);
}

TIDE_VC_EXPORT int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}

TIDE_VC_EXPORT int cudaMemset3DAsync(tide_vc_pitched to, int value, tide_vc_box size,
                                     void *stream) {
    volume of = of_pitched(&to, &(place){0, 0, 0}, NULL);
    int status = TIDE_VC_OK;
    for (size_t z = 0; z < size.depth && status == TIDE_VC_OK; z++) {
        status =
            cudaMemset2DAsync(layer_of(&of, z), to.pitch, value, size.width, size.height, stream);
    }
    return status;
}

TIDE_VC_EXPORT int cudaMemset3D(tide_vc_pitched to, int value, tide_vc_box size) {
    return cudaMemset3DAsync(to, value, size, NULL);
}

#define FILL_2D(name, name_async, type)                                                            \
    TIDE_VC_EXPORT int name_async(uint64_t to, size_t pitch, type value, size_t width,             \
                                  size_t height, void *stream) {                                   \
        tide_vc_pattern with = {&value, sizeof(value), width};                                     \
        return tide_vc_fill_lines((void *)(uintptr_t)to, pitch, height, &with, stream);            \
    }                                                                                              \
    TIDE_VC_EXPORT int name(uint64_t to, size_t pitch, type value, size_t width, size_t height) {  \
        return name_async(to, pitch, value, width, height, NULL);                                  \
    }
FILL_2D(cuMemsetD2D8_v2, cuMemsetD2D8Async, unsigned char)
FILL_2D(cuMemsetD2D16_v2, cuMemsetD2D16Async, unsigned short)
FILL_2D(cuMemsetD2D32_v2, cuMemsetD2D32Async, unsigned)
