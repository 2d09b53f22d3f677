/* test_images.c - the image of a fat binary that a card runs, as the driver chooses it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/images.h"

enum { PTX = 1, BINARY = 2, HEADER_BYTES = 16, ENTRY_BYTES = 64 };

typedef struct entry {
    uint16_t kind;
    uint32_t capability;
} entry;

typedef struct fat {
    _Alignas(8) unsigned char bytes[HEADER_BYTES + 8 * ENTRY_BYTES];
} fat;

static void put(unsigned char *at, uint64_t number, size_t n_bytes) {
    memcpy(at, &number, n_bytes);
}

static fat make_fat(const entry *entries, size_t n) {
    fat made = {{0}};
    put(made.bytes, 0xBA55ED50u, 4);
    put(made.bytes + 6, HEADER_BYTES, 2);
    put(made.bytes + 8, n * ENTRY_BYTES, 8);
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = made.bytes + HEADER_BYTES + i * ENTRY_BYTES;
        put(at, entries[i].kind, 2);
        put(at + 4, ENTRY_BYTES, 4); /* header alone, no payload */
        put(at + 28, entries[i].capability, 4);
    }
    return made;
}

static void assert_chosen(const fat *of, int capability, int ptx, int binary) {
    tide_vc_image image = {.entry = NULL};
    assert_true(tide_vc_image_choose(of->bytes, capability, &image));
    assert_int_equal(image.ptx_version, ptx);
    assert_int_equal(image.binary_version, binary);
}

/* The architectures of PyTorch's wheels: 8.9 takes the code of 8.6, and 12.1 that of 12.0. */
static void the_nearest_code_of_the_same_major_is_chosen(void **state) {
    (void)state;
    const entry entries[] = {{BINARY, 75}, {BINARY, 80},  {BINARY, 86},
                             {BINARY, 90}, {BINARY, 120}, {PTX, 120}};
    const fat made = make_fat(entries, 6);
    assert_chosen(&made, 75, 75, 75);
    assert_chosen(&made, 80, 80, 80);
    assert_chosen(&made, 86, 86, 86);
    assert_chosen(&made, 89, 86, 86);
    assert_chosen(&made, 90, 90, 90);
    assert_chosen(&made, 121, 120, 120);
}

static void ptx_serves_where_no_code_does(void **state) {
    (void)state;
    const entry entries[] = {{BINARY, 80}, {PTX, 80}, {PTX, 90}};
    const fat made = make_fat(entries, 3);
    assert_chosen(&made, 100, 90, 100);
    assert_chosen(&made, 89, 80, 80);
}

static void a_card_that_is_too_old_has_no_image(void **state) {
    (void)state;
    const entry entries[] = {{BINARY, 80}, {PTX, 80}};
    const fat made = make_fat(entries, 2);
    tide_vc_image image = {.ptx_version = 1};
    assert_false(tide_vc_image_choose(made.bytes, 75, &image));
    assert_false(tide_vc_image_choose(NULL, 75, &image));
}

/* Volta (7.0) with code for Turing and later; PTX of an older architecture serves every later one.
 */
static void an_image_is_missing_if_no_entry_serves_the_card(void **state) {
    (void)state;
    const entry wheel[] = {{BINARY, 75}, {BINARY, 80},  {BINARY, 86},
                           {BINARY, 90}, {BINARY, 100}, {BINARY, 120}};
    const entry with_ptx[] = {{BINARY, 90}, {PTX, 80}};
    const int served[] = {75, 80, 86, 87, 89, 90, 100, 103, 120, 121};
    const fat made = make_fat(wheel, 6);
    const fat other = make_fat(with_ptx, 2);
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
        assert_false(tide_vc_image_is_missing(made.bytes, served[i]));
    }
    assert_true(tide_vc_image_is_missing(made.bytes, 70));
    assert_true(tide_vc_image_is_missing(made.bytes, 72));
    assert_true(tide_vc_image_is_missing(made.bytes, 110)); /* a major version without any */
    assert_true(tide_vc_image_is_missing(other.bytes, 75));
    assert_false(tide_vc_image_is_missing(other.bytes, 80));
    assert_false(tide_vc_image_is_missing(other.bytes, 120));
}

/* An unreadable part may contain an image. */
static void an_unreadable_fat_binary_refuses_no_kernel(void **state) {
    (void)state;
    const entry linkable[] = {{BINARY, 80}, {8, 70}};
    const entry entries[] = {{BINARY, 80}, {BINARY, 86}};
    fat made = make_fat(linkable, 2);
    assert_false(tide_vc_image_is_missing(made.bytes, 70));
    made = make_fat(entries, 2);
    put(made.bytes + HEADER_BYTES + 8, UINT64_C(1) << 40, 8);
    assert_false(tide_vc_image_is_missing(made.bytes, 70));
    made = make_fat(entries, 0);
    assert_false(tide_vc_image_is_missing(made.bytes, 70));
    put(made.bytes, 0, 4);
    assert_false(tide_vc_image_is_missing(made.bytes, 70));
    assert_false(tide_vc_image_is_missing(NULL, 70));
}

/* The sizes of entries are read from the program's file, which may be damaged. */
static void a_damaged_fat_binary_ends_the_search(void **state) {
    (void)state;
    const entry entries[] = {{BINARY, 80}, {BINARY, 86}};
    tide_vc_image image = {.entry = NULL};
    fat made = make_fat(entries, 2);
    put(made.bytes + HEADER_BYTES + 8, UINT64_C(1) << 40, 8); /* the first entry's payload */
    assert_true(tide_vc_image_choose(made.bytes, 86, &image));
    assert_int_equal(image.binary_version, 80);
    made = make_fat(entries, 2);
    put(made.bytes + HEADER_BYTES + 4, 0, 4); /* an entry of 0 bytes would loop for ever */
    assert_true(tide_vc_image_choose(made.bytes, 86, &image));
    put(made.bytes, 0, 4);
    assert_false(tide_vc_image_choose(made.bytes, 86, &image));
}

static void the_size_is_in_the_header(void **state) {
    (void)state;
    unsigned char header[16] = {0};
    put(header, 0xBA55ED50u, 4);
    put(header + 6, HEADER_BYTES, 2);
    put(header + 8, 1000, 8);
    assert_int_equal(tide_vc_image_bytes(header), HEADER_BYTES + 1000);
    put(header + 8, UINT64_MAX - 2, 8);
    assert_true(tide_vc_image_bytes(header) == SIZE_MAX);
    memset(header, 0, sizeof(header));
    assert_true(tide_vc_image_bytes(header) == SIZE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_code_of_the_same_major_is_chosen),
        cmocka_unit_test(ptx_serves_where_no_code_does),
        cmocka_unit_test(a_card_that_is_too_old_has_no_image),
        cmocka_unit_test(an_image_is_missing_if_no_entry_serves_the_card),
        cmocka_unit_test(an_unreadable_fat_binary_refuses_no_kernel),
        cmocka_unit_test(a_damaged_fat_binary_ends_the_search),
        cmocka_unit_test(the_size_is_in_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
