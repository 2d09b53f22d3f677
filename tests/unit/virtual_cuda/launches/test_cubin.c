/* test_cubin.c - registers and shared memory of kernels, read from machine code.
 *
 * The image is built here like a compiler's: texts, two symbols, the records of .nv.info, and
 * sections of shared memory.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/cubin.h"

enum { N_SECTIONS = 7, IMAGE_BYTES = 1024, AT_INFO = 128, AT_SYMBOLS = 192, AT_TEXTS = 256 };

static const char NAMES[] =
    "\0.names\0.nv.info\0.symbols\0.nv.shared.first\0.nv.shared.reserved.0\0";
static const char SYMBOLS[] = "\0first\0second\0";

static unsigned char image[IMAGE_BYTES];

static uint32_t name_at(const char *name) {
    for (size_t i = 0; i + strlen(name) < sizeof(NAMES); i++) {
        if (strcmp(NAMES + i, name) == 0) {
            return (uint32_t)i;
        }
    }
    fail();
    return 0;
}

static void put_section(size_t i, Elf64_Shdr row) {
    memcpy(image + 512 + i * sizeof(row), &row, sizeof(row));
}

static void put_records(void) {
    static const uint32_t RECORDS[] = {0x00080000 | 0x2f04, 1, 40, /* registers of symbol 1 */
                                       0x00010000 | 0x3603,        /* a record without more */
                                       0x00080000 | 0x2f04, 2, 255,
                                       0x00080000 | 0x1104, 2, 16 /* a stack's bytes */};
    memcpy(image + AT_INFO, RECORDS, sizeof(RECORDS));
    put_section(2, (Elf64_Shdr){.sh_name = name_at(".nv.info"),
                                .sh_type = 0x70000000,
                                .sh_offset = AT_INFO,
                                .sh_size = sizeof(RECORDS)});
}

/* `has_reserved`: of a compiler that counts the system's shared memory among the kernel's. */
static void make_image(bool has_reserved) {
    const Elf64_Sym symbols[] = {{0}, {.st_name = 1}, {.st_name = 7}};
    Elf64_Ehdr header = {.e_shoff = 512,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = has_reserved ? N_SECTIONS : N_SECTIONS - 1,
                         .e_shstrndx = 1};
    memset(image, 0, sizeof(image));
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(image, &header, sizeof(header));
    memcpy(image + AT_SYMBOLS, symbols, sizeof(symbols));
    memcpy(image + AT_TEXTS, NAMES, sizeof(NAMES));
    memcpy(image + AT_TEXTS + 128, SYMBOLS, sizeof(SYMBOLS));
    put_section(1, (Elf64_Shdr){.sh_name = name_at(".names"),
                                .sh_type = SHT_STRTAB,
                                .sh_offset = AT_TEXTS,
                                .sh_size = sizeof(NAMES)});
    put_records();
    put_section(3, (Elf64_Shdr){.sh_name = name_at(".symbols"),
                                .sh_type = SHT_SYMTAB,
                                .sh_offset = AT_SYMBOLS,
                                .sh_size = sizeof(symbols),
                                .sh_link = 4});
    put_section(4, (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                .sh_offset = AT_TEXTS + 128,
                                .sh_size = sizeof(SYMBOLS)});
    put_section(5, (Elf64_Shdr){.sh_name = name_at(".nv.shared.first"),
                                .sh_type = SHT_NOBITS,
                                .sh_size = has_reserved ? 3072 : 2048});
    put_section(6,
                (Elf64_Shdr){.sh_name = name_at(".nv.shared.reserved.0"), .sh_type = SHT_NOBITS});
}

static void assert_both_kernels(void) {
    tide_vc_use *uses = NULL;
    assert_int_equal(tide_vc_cubin_read(image, sizeof(image), &uses), 2);
    assert_true(uses[0].name_hash == tide_vc_cubin_hash("first"));
    assert_int_equal(uses[0].n_registers, 40);
    assert_int_equal(uses[0].shared_bytes, 2048);
    assert_true(uses[1].name_hash == tide_vc_cubin_hash("second"));
    assert_int_equal(uses[1].n_registers, 255);
    assert_int_equal(uses[1].shared_bytes, 0);
    free(uses);
}

static void registers_and_shared_memory_are_read(void **state) {
    (void)state;
    make_image(false);
    assert_both_kernels();
    make_image(true);
    assert_both_kernels();
}

/* Read from memory of exactly that size, so that a sanitizer sees a read past the end. */
static void read_copy(size_t n_bytes) {
    tide_vc_use *uses = NULL;
    unsigned char *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(copy);
    memcpy(copy, image, n_bytes);
    size_t n = tide_vc_cubin_read(copy, n_bytes, &uses);
    assert_true(n > 0 || uses == NULL);
    for (size_t i = 0; i < n; i++) {
        assert_in_range(uses[i].n_registers, 1, 255);
    }
    free(uses);
    free(copy);
}

static void a_cut_image_is_not_read_beyond_its_end(void **state) {
    (void)state;
    make_image(true);
    for (size_t n = 0; n <= sizeof(image); n++) {
        read_copy(n);
    }
}

static void any_byte_may_be_wrong(void **state) {
    (void)state;
    static const unsigned char WRONG[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < sizeof(image); i++) {
        for (size_t j = 0; j < sizeof(WRONG); j++) {
            make_image(true);
            image[i] = WRONG[j];
            read_copy(sizeof(image));
        }
    }
}

static void what_is_no_machine_code_has_no_kernels(void **state) {
    (void)state;
    tide_vc_use *uses = NULL;
    make_image(false);
    image[EI_CLASS] = ELFCLASS32;
    assert_int_equal(tide_vc_cubin_read(image, sizeof(image), &uses), 0);
    assert_null(uses);
    assert_int_equal(tide_vc_cubin_read((const unsigned char *)".version 8.7", 12, &uses), 0);
}

/* An image in memory is as long as its headers say. */
static void a_copy_ends_with_its_last_section(void **state) {
    (void)state;
    size_t n_bytes = 0;
    make_image(false);
    assert_true(tide_vc_cubin_is(image));
    unsigned char *copy = tide_vc_cubin_copy(image, &n_bytes);
    assert_non_null(copy);
    assert_int_equal(n_bytes, 512 + (N_SECTIONS - 1) * sizeof(Elf64_Shdr));
    assert_memory_equal(copy, image, n_bytes);
    free(copy);
    static const uint64_t SIZES[] = {UINT64_MAX, UINT64_MAX - AT_TEXTS, TIDE_VC_CUBIN_MOST_BYTES};
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        put_section(
            4,
            (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT_TEXTS + 128, .sh_size = SIZES[i]});
        assert_null(tide_vc_cubin_copy(image, &n_bytes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_and_shared_memory_are_read),
        cmocka_unit_test(a_cut_image_is_not_read_beyond_its_end),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(what_is_no_machine_code_has_no_kernels),
        cmocka_unit_test(a_copy_ends_with_its_last_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
