/* test_volume.c - copies and fills of rectangles, boxes and lists, memory in rows and layers, and a
 * device that is reset. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

enum { OK = 0, INVALID_VALUE = 1, NOT_SUPPORTED = 801, ANY = 4 };
enum { WIDTH = 8, HEIGHT = 4, DEPTH = 2, PITCH = 512 };

typedef struct box {
    size_t width, height, depth;
} box;
typedef struct place {
    size_t x, y, z;
} place;
typedef struct pitched {
    void *address;
    size_t pitch, x_bytes, y_rows;
} pitched;
typedef struct copy3 {
    const void *from_array;
    place from_at;
    pitched from;
    const void *to_array;
    place to_at;
    pitched to;
    box size;
    int kind;
} copy3;
typedef struct side2 {
    size_t x, y;
    int type;
    const void *host;
    uint64_t device;
    const void *array;
    size_t pitch;
} side2;
typedef struct copy2 {
    side2 from, to;
    size_t width, height;
} copy2;

int cudaMalloc3D(pitched *ret_pitched, box size);
int cudaMemcpy3D(const copy3 *what);
int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
int cudaMemset3D(pitched to, int value, box size);
int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *n_bytes, size_t n,
                         void *attributes, size_t *attributes_at, size_t n_attributes,
                         void *stream); /* CUDA 13; test_runtime.c calls the form of CUDA 12 */
int cudaDeviceReset(void);
int cuMemcpy2D_v2(const copy2 *what);
int cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height);

static unsigned char host[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];

static int prepare(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(host); i++) {
        (&host[0][0][0])[i] = (unsigned char)(i + 1);
    }
    memset(back, 0, sizeof(back));
    return 0;
}

static pitched host_box(void *at) {
    return (pitched){at, WIDTH, WIDTH, HEIGHT};
}

static void a_box_returns_as_it_was(void **state) {
    (void)state;
    pitched on_card;
    const box size = {WIDTH, HEIGHT, DEPTH};
    assert_int_equal(cudaMalloc3D(&on_card, size), OK);
    assert_int_equal(on_card.pitch, PITCH);
    assert_int_equal(on_card.y_rows, HEIGHT);
    copy3 up = {.from = host_box(host), .to = on_card, .size = size, .kind = ANY};
    assert_int_equal(cudaMemcpy3D(&up), OK);
    copy3 down = {.from = on_card, .to = host_box(back), .size = size, .kind = ANY};
    assert_int_equal(cudaMemcpy3D(&down), OK);
    assert_memory_equal(back, host, sizeof(host));

    /* the last two lines of the second layer, without their first byte */
    memset(back, 0, sizeof(back));
    down.from_at = down.to_at = (place){1, HEIGHT - 2, 1};
    down.size = (box){WIDTH - 1, 2, 1};
    assert_int_equal(cudaMemcpy3D(&down), OK);
    assert_int_equal(back[1][HEIGHT - 2][0], 0);
    assert_memory_equal(&back[1][HEIGHT - 2][1], &host[1][HEIGHT - 2][1], WIDTH - 1);
    assert_memory_equal(&back[1][HEIGHT - 1][1], &host[1][HEIGHT - 1][1], WIDTH - 1);
    assert_int_equal(back[0][HEIGHT - 1][1], 0);

    down.from_array = host;
    assert_int_equal(cudaMemcpy3D(&down), NOT_SUPPORTED);
    assert_int_equal(cudaGetLastError(), NOT_SUPPORTED);

    assert_int_equal(cudaMemset3D(on_card, 7, size), OK);
    down = (copy3){.from = on_card, .to = host_box(back), .size = size, .kind = ANY};
    assert_int_equal(cudaMemcpy3D(&down), OK);
    assert_int_equal(back[0][0][0], 7);
    assert_int_equal(back[DEPTH - 1][HEIGHT - 1][WIDTH - 1], 7);
    assert_int_equal(cudaFree(on_card.address), OK);
}

static void the_driver_copies_rectangles(void **state) {
    (void)state;
    enum { OF_HOST = 1, OF_DEVICE = 2 };
    void *card = NULL;
    assert_int_equal(cudaMalloc(&card, PITCH * HEIGHT), OK);
    side2 there = {.type = OF_DEVICE, .device = (uint64_t)(uintptr_t)card, .pitch = PITCH};
    copy2 up = {.from = {.type = OF_HOST, .host = host, .pitch = WIDTH},
                .to = there,
                .width = WIDTH,
                .height = HEIGHT};
    copy2 down = {.from = there,
                  .to = {.type = OF_HOST, .host = back, .pitch = WIDTH},
                  .width = WIDTH,
                  .height = HEIGHT};
    assert_int_equal(cuMemcpy2D_v2(&up), OK);
    assert_int_equal(cuMemcpy2D_v2(&down), OK);
    assert_memory_equal(back, host, WIDTH * HEIGHT);
    assert_int_equal(cuMemsetD2D16_v2((uint64_t)(uintptr_t)card, PITCH, 0x0102, WIDTH / 2, HEIGHT),
                     OK);
    assert_int_equal(cuMemcpy2D_v2(&down), OK);
    assert_int_equal(back[0][HEIGHT - 1][WIDTH - 1], 1);
    down.from.device = 0;
    assert_int_equal(cuMemcpy2D_v2(&down), INVALID_VALUE);
    assert_int_equal(cudaFree(card), OK);
}

static void a_list_copies_each(void **state) {
    (void)state;
    void *const to[] = {back[0], back[1]};
    const void *const from[] = {host[0], host[1]};
    const size_t n_bytes[] = {WIDTH, WIDTH * HEIGHT};
    assert_int_equal(cudaMemcpyBatchAsync(to, from, n_bytes, 2, NULL, NULL, 0, NULL), OK);
    assert_memory_equal(back[0][0], host[0][0], WIDTH);
    assert_int_equal(back[0][1][0], 0);
    assert_memory_equal(back[1], host[1], WIDTH * HEIGHT);
}

static void a_reset_frees_the_memory(void **state) {
    (void)state;
    void *first = NULL;
    void *second = NULL;
    size_t before = 0, after = 0, total = 0;
    assert_int_equal(cudaMemGetInfo(&before, &total), OK);
    assert_int_equal(cudaMalloc(&first, 64 << 20), OK);
    assert_int_equal(cudaMalloc(&second, 64 << 20), OK);
    assert_int_equal(cudaMemGetInfo(&after, &total), OK);
    assert_int_equal(before - after, 128 << 20);
    assert_int_equal(cudaDeviceReset(), OK);
    assert_int_equal(cudaMemGetInfo(&after, &total), OK);
    assert_int_equal(before, after);
    assert_int_equal(cudaFree(first), INVALID_VALUE);
    (void)cudaGetLastError();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_box_returns_as_it_was, prepare),
        cmocka_unit_test_setup(the_driver_copies_rectangles, prepare),
        cmocka_unit_test_setup(a_list_copies_each, prepare),
        cmocka_unit_test_setup(a_reset_frees_the_memory, prepare),
    };
    return setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1) == 0
               ? cmocka_run_group_tests(tests, NULL, NULL)
               : 1;
}
