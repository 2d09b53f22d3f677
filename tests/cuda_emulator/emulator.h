/* emulator.h - CUDA as kernel files see it in the emulator: built-in variables, barriers, shuffles,
 * shared memory, atomics, device mathematics, launches. Included only by model/ops_cuda/gpu.h.
 *
 * Operations that wait for other threads get the caller's place (file and line), for reports.
 */
#ifndef TIDE_TESTS_EMULATOR_H
#define TIDE_TESTS_EMULATOR_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <vector_types.h>

#define TIDE_EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace tide_emulator {

/* The operations at which lanes of a warp wait for each other. */
enum class meeting { none, block, warp, shuffle, vote, matrix };

/* Called once all lanes of the mask have arrived: data[lane] is the lane's contribution; nullptr
 * for lanes that take no part. */
typedef void (*combine_function)(void *const *data, unsigned mask);

void barrier(const char *file, int line);
void meet(meeting kind, unsigned mask, void *data, combine_function combine, const char *file,
          int line);
void report_here(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
unsigned lane();

void *shared_array(const void *key, size_t n_bytes, const char *name, const char *file, int line);
void *dynamic_shared(const char *file, int line);

enum class access { read, write, atomic };
/* Whether a kernel may touch these bytes; reports it otherwise. Notifies the race detector. */
bool touch(const void *address, size_t n_bytes, access kind, size_t alignment, const char *file,
           int line);

void check_argument(const char *kernel, unsigned position, const volatile void *address);
int set_shared_limit(const void *function, int n_bytes);
int run(const char *kernel, const void *function, dim3 grid, dim3 block, size_t shared_bytes,
        size_t argument_bytes, void (*body)(void *), void *argument);
/* Runs the launch, or keeps it if the stream is captured. */
int submit(cudaStream_t stream, std::function<int()> launch);

template <typename T> void check_one(const char *kernel, unsigned position, const T &argument) {
    if constexpr (std::is_pointer_v<T>) {
        check_argument(kernel, position, argument);
    } else {
        (void)kernel;
        (void)position;
        (void)argument;
    }
}

/* Converts arguments to the kernel's own types once, as a launch does. */
template <typename... Parameters, typename... Arguments>
int launch(const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
           size_t shared_bytes, cudaStream_t stream, Arguments &&...arguments) {
    struct call {
        void (*kernel)(Parameters...);
        std::tuple<std::remove_const_t<Parameters>...> parameters;
    };
    const call given = {kernel, {static_cast<Parameters>(std::forward<Arguments>(arguments))...}};
    unsigned position = 0;
    std::apply([&](const auto &...each) { (check_one(name, ++position, each), ...); },
               given.parameters);
    return submit(stream, [=]() {
        call made = given;
        return run(
            name, reinterpret_cast<const void *>(kernel), grid, block, shared_bytes, sizeof(call),
            [](void *argument) {
                call *passed = static_cast<call *>(argument);
                std::apply(passed->kernel, passed->parameters);
            },
            &made);
    });
}

template <typename T> struct shuffled {
    T value;         /* contributed, then replaced by the result */
    unsigned source; /* lane whose value is wanted */
    bool ok;         /* the source takes part */
};

template <typename T> void combine_shuffle(void *const *data, unsigned mask) {
    T values[32];
    for (unsigned i = 0; i < 32; i++) {
        if (mask >> i & 1U) {
            values[i] = static_cast<shuffled<T> *>(data[i])->value;
        }
    }
    for (unsigned i = 0; i < 32; i++) {
        if (mask >> i & 1U) {
            shuffled<T> *mine = static_cast<shuffled<T> *>(data[i]);
            mine->ok = (mask >> mine->source & 1U) != 0;
            if (mine->ok) {
                mine->value = values[mine->source];
            } else {
                std::memset(&mine->value, 0xFF, sizeof(T));
            }
        }
    }
}

template <typename T>
T shuffle(unsigned mask, T value, unsigned source, const char *file, int line) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "numbers alone are shuffled");
    shuffled<T> mine = {value, source, true};
    meet(meeting::shuffle, mask, &mine, combine_shuffle<T>, file, line);
    if (!mine.ok) {
        report_here(file, line, "reads lane %u, which takes no part (mask %08x)", source, mask);
    }
    return mine.value;
}

struct vote {
    bool yes;         /* brought */
    unsigned ballots; /* of all lanes, removed */
};

} /* namespace tide_emulator */

/* ---- qualifiers ---- */
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n_bytes) __attribute__((aligned(n_bytes)))

/* ---- built-in variables, of the thread that runs ---- */
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
#define warpSize 32

/* ---- shared memory and launches ---- */
#define TIDE_SHARED(type, name, dimensions)                                                        \
    typedef type name##_shared_type dimensions;                                                    \
    static char name##_shared_key;                                                                 \
    name##_shared_type &name = *static_cast<name##_shared_type *>(tide_emulator::shared_array(     \
        &name##_shared_key, sizeof(name##_shared_type), #name, __FILE__, __LINE__))

#define TIDE_DYNAMIC_SHARED(type, name)                                                            \
    type *name = static_cast<type *>(tide_emulator::dynamic_shared(__FILE__, __LINE__))

#define TIDE_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                \
    tide_emulator::launch(#kernel, kernel, (grid), (block), (shared_bytes), (stream), __VA_ARGS__)

template <typename... Parameters>
inline cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                        int value) {
    (void)attribute;
    return static_cast<cudaError_t>(
        tide_emulator::set_shared_limit(reinterpret_cast<const void *>(kernel), value));
}

inline uint4 tide_load16(const void *address, TIDE_EMULATOR_PLACE) {
    uint4 bytes = {~0U, ~0U, ~0U, ~0U};
    if (tide_emulator::touch(address, 16, tide_emulator::access::read, 16, file, line)) {
        __builtin_memcpy(&bytes, address, sizeof(bytes));
    }
    return bytes;
}

inline void tide_store16(void *address, uint4 bytes, TIDE_EMULATOR_PLACE) {
    if (tide_emulator::touch(address, 16, tide_emulator::access::write, 16, file, line)) {
        __builtin_memcpy(address, &bytes, sizeof(bytes));
    }
}

/* ---- barriers, votes, shuffles ---- */
inline void __syncthreads(TIDE_EMULATOR_PLACE) {
    tide_emulator::barrier(file, line);
}

inline void __syncwarp(unsigned mask = 0xFFFFFFFFU, TIDE_EMULATOR_PLACE) {
    tide_emulator::meet(tide_emulator::meeting::warp, mask, nullptr, nullptr, file, line);
}

inline unsigned __ballot_sync(unsigned mask, int yes, TIDE_EMULATOR_PLACE) {
    tide_emulator::vote mine = {yes != 0, 0};
    tide_emulator::meet(
        tide_emulator::meeting::vote, mask, &mine,
        [](void *const *data, unsigned present) {
            unsigned ballots = 0;
            for (unsigned i = 0; i < 32; i++) {
                if ((present >> i & 1U) && static_cast<tide_emulator::vote *>(data[i])->yes) {
                    ballots |= 1U << i;
                }
            }
            for (unsigned i = 0; i < 32; i++) {
                if (present >> i & 1U) {
                    static_cast<tide_emulator::vote *>(data[i])->ballots = ballots;
                }
            }
        },
        file, line);
    return mine.ballots;
}

inline int __any_sync(unsigned mask, int yes, TIDE_EMULATOR_PLACE) {
    return __ballot_sync(mask, yes, file, line) != 0;
}

inline int __all_sync(unsigned mask, int yes, TIDE_EMULATOR_PLACE) {
    return __ballot_sync(mask, yes == 0, file, line) == 0;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, TIDE_EMULATOR_PLACE) {
    const unsigned inside = static_cast<unsigned>(width) - 1;
    const unsigned from =
        (tide_emulator::lane() & ~inside) | (static_cast<unsigned>(source) & inside);
    return tide_emulator::shuffle(mask, value, from, file, line);
}

/* If the source is outside the segment of `width` lanes, a lane gets its own value back. */
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, TIDE_EMULATOR_PLACE) {
    const unsigned mine = tide_emulator::lane();
    const unsigned end =
        (mine & ~(static_cast<unsigned>(width) - 1)) + static_cast<unsigned>(width);
    const unsigned from = mine ^ static_cast<unsigned>(lanes);
    return tide_emulator::shuffle(mask, value, from < end ? from : mine, file, line);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, TIDE_EMULATOR_PLACE) {
    const unsigned mine = tide_emulator::lane();
    const unsigned last = mine | (static_cast<unsigned>(width) - 1);
    return tide_emulator::shuffle(mask, value, mine + delta <= last ? mine + delta : mine, file,
                                  line);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, TIDE_EMULATOR_PLACE) {
    const unsigned mine = tide_emulator::lane();
    const unsigned position = mine & (static_cast<unsigned>(width) - 1);
    return tide_emulator::shuffle(mask, value, position >= delta ? mine - delta : mine, file, line);
}

/* ---- atomics: fibers never run at the same time ---- */
template <typename T> using tide_same = typename std::common_type<T>::type;

#define TIDE_EMULATOR_ATOMIC(name, new_value)                                                      \
    template <typename T>                                                                          \
    __attribute__((no_sanitize("thread"), noinline)) T name(T *address, tide_same<T> operand,      \
                                                            TIDE_EMULATOR_PLACE) {                 \
        T old = T();                                                                               \
        if (tide_emulator::touch(address, sizeof(T), tide_emulator::access::atomic, sizeof(T),     \
                                 file, line)) {                                                    \
            old = *address;                                                                        \
            *address = (new_value);                                                                \
        }                                                                                          \
        return old;                                                                                \
    }
TIDE_EMULATOR_ATOMIC(atomicAdd, static_cast<T>(old + operand))
TIDE_EMULATOR_ATOMIC(atomicMax, old < operand ? operand : old)
TIDE_EMULATOR_ATOMIC(atomicMin, operand < old ? operand : old)
TIDE_EMULATOR_ATOMIC(atomicExch, operand)
#undef TIDE_EMULATOR_ATOMIC

inline void __threadfence() {
}
inline void __threadfence_block() {
}

/* ---- device mathematics; the C library declares some of these names, hence macros ---- */
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __fdividef(x, y) ((x) / (y))
#define __frcp_rn(x) (1.0F / (x))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define rsqrtf(x) (1.0F / sqrtf(x))

template <typename T> inline T __ldg(const T *address) {
    return *address;
}

inline unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}
inline int __float_as_int(float x) {
    return static_cast<int>(__float_as_uint(x));
}
inline float __int_as_float(int bits) {
    return __uint_as_float(static_cast<unsigned>(bits));
}
inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}
/* The number of the lowest bit that is set, counted from 1; 0 if none is set. */
inline int __ffs(int bits) {
    return __builtin_ffs(bits);
}

inline int __popc(unsigned bits) {
    return __builtin_popcount(bits);
}

template <typename T> inline T min(T x, tide_same<T> y) {
    return y < x ? y : x;
}
template <typename T> inline T max(T x, tide_same<T> y) {
    return x < y ? y : x;
}

#endif
