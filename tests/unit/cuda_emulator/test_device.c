/* test_device.c - the emulator's device functions compared with plain C, each in three thread
 * orders. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_emulator.h"
#include "device.h"
#include "device_memory.h"
#include "model/bf16.h"

static void *device_copy_of(const void *bytes, size_t n_bytes) {
    void *made = tide_emulator_alloc(n_bytes);
    assert_non_null(made);
    memcpy(made, bytes, n_bytes);
    return made;
}

/* Expects that a launch succeeded and that nothing was reported. */
static void assert_fine(int result) {
    if (result != 0 || tide_emulator_n_reports() != 0) {
        fail_msg("launch: %d, %s", result, tide_emulator_last_report());
    }
}

/* For every order. */
static void in_all_orders(void (*check)(void)) {
    for (unsigned order = 0; order < TIDE_EMULATOR_N_ORDERS; order++) {
        tide_emulator_set_order((tide_emulator_order)order, 5);
        check();
    }
}

static void check_shuffles(void) {
    int *out = tide_emulator_alloc(6 * 32 * sizeof(*out));
    assert_fine(device_shuffles(out));
    for (int i = 0; i < 32; i++) {
        assert_int_equal(out[i], 100 + i / 8 * 8 + 5);
        assert_int_equal(out[32 + i], 100 + (i ^ 3));
        assert_int_equal(out[64 + i], 100 + (i >= 2 ? i - 2 : i));
        assert_int_equal(out[96 + i], 100 + (i < 30 ? i + 2 : i));
        assert_int_equal(out[128 + i], 100 + (i % 8 >= 3 ? i - 3 : i));
        assert_int_equal(out[160 + i], 100 + (i % 8 < 5 ? i + 3 : i));
    }
    tide_emulator_release(out);
}

static void check_votes(void) {
    unsigned *out = tide_emulator_alloc(6 * sizeof(*out));
    static const unsigned WANT[6] = {0xAAAAAAAA, 1, 0, 0xAAAA, 0, 1};
    assert_fine(device_votes(out));
    assert_memory_equal(out, WANT, sizeof(WANT));
    tide_emulator_release(out);
}

static void check_atomics(void) {
    static const unsigned BEFORE[4] = {0, 0, UINT32_MAX, 0};
    unsigned *out = device_copy_of(BEFORE, sizeof(BEFORE));
    const unsigned n = 5 * 64;
    assert_fine(device_atomics(out, 5));
    assert_int_equal(out[0], n * (n + 1) / 2);
    assert_int_equal(out[1], n);
    assert_int_equal(out[2], 1);
    assert_int_equal(out[3], n);
    tide_emulator_release(out);
}

static void check_indices(void) {
    int *out = tide_emulator_alloc(12 * 24 * sizeof(*out));
    int at = 0;
    assert_fine(device_indices(out));
    for (int block = 0; block < 12; block++) {
        for (int thread = 0; thread < 24; thread++) {
            const int want = block % 3 * 100000 + block / 3 % 2 * 10000 + block / 6 * 1000 +
                             thread % 4 * 100 + thread / 4 % 2 * 10 + thread / 8;
            assert_int_equal(out[at++], want);
        }
    }
    tide_emulator_release(out);
}

static void check_bf16(void) {
    const float x[] = {0.0F,        -0.0F,     1.0F,        1.00390625F, 1.01171875F,
                       1.00390637F, -2.5F,     3.4e38F,     INFINITY,    -INFINITY,
                       1e-40F,      -65504.0F, 0.33333333F, 1.0e-38F,    7.0F};
    enum { N = sizeof(x) / sizeof(x[0]) };
    float with_nan[N + 1];
    memcpy(with_nan, x, sizeof(x));
    with_nan[N] = NAN;
    float *in = device_copy_of(with_nan, sizeof(with_nan));
    uint16_t *bits = tide_emulator_alloc((N + 1) * sizeof(*bits));
    float *back = tide_emulator_alloc((N + 1) * sizeof(*back));
    assert_fine(device_bf16(bits, back, in, N + 1));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(bits[i], tide_fp32_to_bf16(x[i]));
        assert_true(back[i] == tide_bf16_to_fp32(bits[i]));
    }
    assert_int_equal(bits[N], 0x7FFF);
    assert_true(isnan(back[N]));
    tide_emulator_release(back);
    tide_emulator_release(bits);
    tide_emulator_release(in);
}

/* Small whole numbers: exact in bf16 and in every sum. */
static void fill_matrix(uint16_t *out, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        out[i] = tide_fp32_to_bf16((float)((int)(seed >> 24) % 17 - 8));
    }
}

static void check_products(void) {
    uint16_t a[256];
    uint16_t b[128];
    uint16_t transposed[128];
    fill_matrix(a, 256, 1);
    fill_matrix(b, 128, 2);
    for (size_t k = 0; k < 16; k++) {
        for (size_t n = 0; n < 8; n++) {
            transposed[n * 16 + k] = b[k * 8 + n];
        }
    }
    uint16_t *on_device[3] = {device_copy_of(a, sizeof(a)), device_copy_of(b, sizeof(b)),
                              device_copy_of(transposed, sizeof(transposed))};
    float *d = tide_emulator_alloc(128 * sizeof(*d));
    for (int way = 0; way < 3; way++) {
        assert_fine(way == 0 ? device_product(d, on_device[0], on_device[1])
                             : device_product_loaded(d, on_device[0], on_device[1], on_device[2],
                                                     way == 2));
        for (size_t i = 0; i < 128; i++) {
            float want = 0;
            for (size_t k = 0; k < 16; k++) {
                want += tide_bf16_to_fp32(a[i / 8 * 16 + k]) * tide_bf16_to_fp32(b[k * 8 + i % 8]);
            }
            assert_true(d[i] == want);
        }
    }
    tide_emulator_release(d);
    for (size_t i = 0; i < 3; i++) {
        tide_emulator_release(on_device[i]);
    }
}

static void check_loads(void) {
    uint16_t numbers[256];
    for (size_t i = 0; i < 256; i++) {
        numbers[i] = (uint16_t)(i * 257 + 1);
    }
    uint16_t *matrices = device_copy_of(numbers, sizeof(numbers));
    for (size_t way = 0; way < 4; way++) {
        const size_t n = way < 2 ? 4 : 2;
        const size_t across =
            way % 2 == 0 ? 1 : 8; /* from one of a lane's two numbers to the other */
        const size_t down = way % 2 == 0 ? 8 : 1;
        uint32_t *out = tide_emulator_alloc(32 * n * sizeof(*out));
        assert_fine(device_load(out, matrices, (int)n, way % 2 == 1));
        for (size_t lane = 0; lane < 32; lane++) {
            for (size_t i = 0; i < n; i++) {
                const size_t at = i * 64 + lane / 4 * down + lane % 4 * 2 * across;
                assert_int_equal(out[lane * n + i],
                                 numbers[at] | (uint32_t)numbers[at + across] << 16);
            }
        }
        tide_emulator_release(out);
    }
    tide_emulator_release(matrices);
}

/* Numbers of up to seven bits, whose products and sums are exact, and of one bit more than TF32
 * has, which are halfway and go away from 0: 1.0 + k 2^-10 + 2^-11. */
static void check_products_tf32(void) {
    float a[128];
    float b[64];
    for (int i = 0; i < 128; i++) {
        a[i] = (float)((i * 37 + 11) % 101 - 50);
    }
    for (int i = 0; i < 64; i++) {
        b[i] = (float)(i * 29 % 61 - 30);
    }
    a[5] = 1 + 0x1p-11F; /* row 0, column 5; row 12, column 2 */
    a[98] = -1 - 0x3p-11F;
    float *on_device[2] = {device_copy_of(a, sizeof(a)), device_copy_of(b, sizeof(b))};
    float *d = tide_emulator_alloc(128 * sizeof(*d));
    a[5] = 1 + 0x1p-10F;
    a[98] = -1 - 0x1p-9F;
    for (int loaded = 0; loaded < 2; loaded++) {
        assert_fine(device_product_tf32(d, on_device[0], on_device[1], loaded));
        for (size_t i = 0; i < 128; i++) {
            float want = 0;
            for (size_t k = 0; k < 8; k++) {
                want += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
            }
            assert_true(d[i] == want);
        }
    }
    tide_emulator_release(d);
    tide_emulator_release(on_device[0]);
    tide_emulator_release(on_device[1]);
}

/* The bits of numbers and of the TF32 numbers nearest to them: ties round away from 0. Infinity and
 * NaN stay, except for the bits of a NaN that TF32 lacks. */
static void check_tf32(void) {
    static const uint32_t BITS[][2] = {
        {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x3F800000, 0x3F800000},
        {0x3F800FFF, 0x3F800000}, {0x3F801000, 0x3F802000}, {0x3F803000, 0x3F804000},
        {0xBF801000, 0xBF802000}, {0xBF800FFF, 0xBF800000}, {0x3FFFF000, 0x40000000},
        {0x00000FFF, 0x00000000}, {0x00001000, 0x00002000}, {0x7F7FFFFF, 0x7F800000},
        {0x7F800000, 0x7F800000}, {0xFF800000, 0xFF800000}, {0x7FFFFFFF, 0x7FFFE000}};
    enum { N = sizeof(BITS) / sizeof(BITS[0]) };
    float numbers[N];
    for (size_t i = 0; i < N; i++) {
        memcpy(&numbers[i], &BITS[i][0], sizeof(numbers[i]));
    }
    float *x = device_copy_of(numbers, sizeof(numbers));
    uint32_t *out = tide_emulator_alloc(N * sizeof(*out));
    assert_fine(device_tf32(out, x, N));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(out[i], BITS[i][1]);
    }
    tide_emulator_release(out);
    tide_emulator_release(x);
}

static void check_copies(void) {
    static const int SIZES[] = {4096, 4095, 1, 260, 1027};
    for (size_t s = 0; s < sizeof(SIZES) / sizeof(SIZES[0]); s++) {
        const size_t n = (size_t)SIZES[s];
        float *x = tide_emulator_alloc(n * sizeof(*x));
        float *out = tide_emulator_alloc(n * sizeof(*out));
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(i + 1);
        }
        assert_fine(device_copy(out, x, (int)n));
        assert_memory_equal(out, x, n * sizeof(*x));
        tide_emulator_release(out);
        tide_emulator_release(x);
    }
}

static void check_exp2_of(void) {
    const float x[] = {0.0F, 1.0F, -1.0F, 0.5F, -126.0F, -127.0F, -INFINITY, 128.0F};
    enum { N = sizeof(x) / sizeof(x[0]) };
    float *in = device_copy_of(x, sizeof(x));
    float *out = tide_emulator_alloc(sizeof(x));
    assert_fine(device_exp2(out, in, N));
    assert_true(out[0] == 1.0F && out[1] == 2.0F && out[2] == 0.5F);
    assert_true(fabsf(out[3] - 1.41421356F) < 3e-7F);
    assert_true(out[4] > 0 && out[5] == 0 && out[6] == 0 && isinf(out[7]));
    tide_emulator_release(out);
    tide_emulator_release(in);
}

/* Defines the test of a check in every order of threads. */
#define IN_ALL_ORDERS(name)                                                                        \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        in_all_orders(check_##name);                                                               \
    }
IN_ALL_ORDERS(shuffles)
IN_ALL_ORDERS(votes)
IN_ALL_ORDERS(atomics)
IN_ALL_ORDERS(indices)
IN_ALL_ORDERS(bf16)
IN_ALL_ORDERS(products)
IN_ALL_ORDERS(products_tf32)
IN_ALL_ORDERS(tf32)
IN_ALL_ORDERS(loads)
IN_ALL_ORDERS(copies)
IN_ALL_ORDERS(exp2_of)

static void device_memory_is_known(void **state) {
    (void)state;
    static char segment[64];
    assert_false(tide_device_memory_holds(segment, 1));
    tide_device_memory_register(segment, sizeof(segment));
    assert_true(tide_device_memory_holds(segment, sizeof(segment)));
    assert_true(tide_device_memory_holds(segment + 63, 1));
    assert_true(tide_device_memory_holds(segment + 64, 0));
    assert_false(tide_device_memory_holds(segment + 60, 8));
    assert_false(tide_device_memory_holds(segment + 64, 1));
    assert_true(tide_device_memory_unregister(segment));
    assert_false(tide_device_memory_unregister(segment));
    assert_false(tide_device_memory_holds(segment, 1));
}

/* The host cannot reach a GPU's own memory: a test that forgets this also crashes in the
 * emulator. */
static void hidden_memory_is_reached_by_copies_and_kernels_alone(void **state) {
    (void)state;
    float numbers[33];
    float back[33];
    for (size_t i = 0; i < 33; i++) {
        numbers[i] = (float)i;
    }
    tide_emulator_hide_memory(true);
    float *x = tide_emulator_alloc(sizeof(numbers));
    float *out = tide_emulator_alloc(sizeof(numbers));
    tide_emulator_hide_memory(false);
    assert_true(x != NULL && out != NULL);
    tide_emulator_write(x, numbers, sizeof(numbers));
    assert_fine(device_copy(out, x, 33));
    tide_emulator_read(back, out, sizeof(back));
    assert_memory_equal(back, numbers, sizeof(numbers));
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler would report a failed test */
        (void)close(STDERR_FILENO);     /* AddressSanitizer reports it also */
        _exit(*(volatile float *)out == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) > 1);
    tide_emulator_release(out);
    tide_emulator_release(x);
    assert_int_equal(tide_emulator_n_reports(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(votes),
        cmocka_unit_test(atomics),
        cmocka_unit_test(indices),
        cmocka_unit_test(bf16),
        cmocka_unit_test(products),
        cmocka_unit_test(products_tf32),
        cmocka_unit_test(tf32),
        cmocka_unit_test(loads),
        cmocka_unit_test(copies),
        cmocka_unit_test(exp2_of),
        cmocka_unit_test(device_memory_is_known),
        cmocka_unit_test(hidden_memory_is_reached_by_copies_and_kernels_alone),
    };
    return cmocka_run_group_tests_name("cuda_emulator.device", tests, NULL, NULL);
}
