/* vector_types.h - the CUDA vector types that kernels use, under the toolkit's names, for builds on
 * machines without the toolkit. Sizes and alignments are the toolkit's. C and C++.
 */
#ifndef TIDE_TESTS_VECTOR_TYPES_H
#define TIDE_TESTS_VECTOR_TYPES_H

typedef struct uint3 {
    unsigned int x, y, z;
} uint3;

#ifdef __cplusplus

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_) {
    }
};

struct alignas(8) uint2 {
    unsigned int x, y;
};
struct alignas(16) uint4 {
    unsigned int x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

static inline uint2 make_uint2(unsigned int x, unsigned int y) {
    return {x, y};
}
static inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
    return {x, y, z, w};
}
static inline int4 make_int4(int x, int y, int z, int w) {
    return {x, y, z, w};
}
static inline float2 make_float2(float x, float y) {
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

#else

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;

#endif

#endif
