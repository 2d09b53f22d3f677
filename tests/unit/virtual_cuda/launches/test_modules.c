/* test_modules.c - variables of modules and parameters of their kernels, by the calls of a program.
 * The image is built here like a compiler's. */
#define _GNU_SOURCE /* setenv, MAP_ANONYMOUS */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { OK = 0, INVALID_VALUE = 1, INVALID_SYMBOL = 13, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { IMAGE_BYTES = 1024, AT_NAMES = 64, AT_SYMBOLS = 192, AT_TEXTS = 320, AT_INFO = 384 };
enum { AT_SECTIONS = 512, N_SECTIONS = 6 };

int cuModuleLoadData(void **ret_module, const void *image);
int cuModuleLoad(void **ret_module, const char *path);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **ret_kernel, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *ret_address, size_t *ret_n_bytes, void *module,
                         const char *name);
int cuFuncGetParamInfo(void *kernel, size_t number, size_t *ret_offset, size_t *ret_n_bytes);
int cuFuncGetModule(void **ret_module, void *kernel);
int cudaLibraryLoadData(void **ret_library, const void *image);
int cudaLibraryGetGlobal(void **ret_address, size_t *ret_n_bytes, void *library, const char *name);
int cudaGetSymbolSize(size_t *ret_n_bytes, const void *host);
int cudaMemPoolGetAccess(int *ret_flags, void *pool, const int *where);
int cudaMemPoolSetAccess(void *pool, const void *access, size_t n);
int cudaDeviceGetDefaultMemPool(void **ret_pool, int device);
int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind);
int cudaGetLastError(void);
void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int is_external,
                       size_t n_bytes, int is_constant, int is_global);

static const char NAMES[] = "\0.names\0.symbols\0.nv.info.first\0.nv.global\0";
static const char SYMBOLS[] = "\0first\0table\0state\0";
static unsigned char image[IMAGE_BYTES];

static uint32_t at(const char *texts, size_t n, const char *name) {
    for (size_t i = 1; i + strlen(name) < n; i++) {
        if (strcmp(texts + i, name) == 0) {
            return (uint32_t)i;
        }
    }
    fail();
    return 0;
}

static void put_section(size_t i, Elf64_Shdr row) {
    memcpy(image + AT_SECTIONS + i * sizeof(row), &row, sizeof(row));
}

static int make_image(void **state) {
    (void)state;
    enum { VARIABLE = STT_OBJECT, FUNCTION = STT_FUNC };
    const Elf64_Sym symbols[] = {
        {0},
        {.st_name = at(SYMBOLS, sizeof(SYMBOLS), "first"), .st_info = FUNCTION, .st_shndx = 4},
        {.st_name = at(SYMBOLS, sizeof(SYMBOLS), "table"),
         .st_info = VARIABLE,
         .st_shndx = 5,
         .st_size = 5000},
        {.st_name = at(SYMBOLS, sizeof(SYMBOLS), "state"),
         .st_info = VARIABLE,
         .st_shndx = 5,
         .st_size = 8}};
    /* number 1 at offset 8 with 4 bytes, number 0 at offset 0 with 8 */
    static const uint32_t RECORDS[] = {0x000c0000 | 0x1704, 0, 1 | 8 << 16, 4U << 18 | 0x1f000,
                                       0x00010000 | 0x3603, /* another record */
                                       0x000c0000 | 0x1704, 0, 0,           8U << 18 | 0x1f000};
    Elf64_Ehdr header = {.e_shoff = AT_SECTIONS,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = N_SECTIONS,
                         .e_shstrndx = 1};
    memset(image, 0, sizeof(image));
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(image, &header, sizeof(header));
    memcpy(image + AT_NAMES, NAMES, sizeof(NAMES));
    memcpy(image + AT_SYMBOLS, symbols, sizeof(symbols));
    memcpy(image + AT_TEXTS, SYMBOLS, sizeof(SYMBOLS));
    memcpy(image + AT_INFO, RECORDS, sizeof(RECORDS));
    put_section(1, (Elf64_Shdr){.sh_name = at(NAMES, sizeof(NAMES), ".names"),
                                .sh_type = SHT_STRTAB,
                                .sh_offset = AT_NAMES,
                                .sh_size = sizeof(NAMES)});
    put_section(2, (Elf64_Shdr){.sh_name = at(NAMES, sizeof(NAMES), ".symbols"),
                                .sh_type = SHT_SYMTAB,
                                .sh_offset = AT_SYMBOLS,
                                .sh_size = sizeof(symbols),
                                .sh_link = 3});
    put_section(
        3, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT_TEXTS, .sh_size = sizeof(SYMBOLS)});
    put_section(4, (Elf64_Shdr){.sh_name = at(NAMES, sizeof(NAMES), ".nv.info.first"),
                                .sh_type = 0x70000000,
                                .sh_offset = AT_INFO,
                                .sh_size = sizeof(RECORDS)});
    put_section(5, (Elf64_Shdr){.sh_name = at(NAMES, sizeof(NAMES), ".nv.global"),
                                .sh_type = SHT_NOBITS,
                                .sh_size = 5008});
    return 0;
}

static void a_variable_has_its_address_and_size(void **state) {
    (void)state;
    void *module = NULL;
    uint64_t first = 0, again = 0, other = 0;
    size_t n_bytes = 0;
    const int value = 7;
    int back = 0;
    assert_int_equal(cuModuleLoadData(&module, image), OK);
    assert_int_equal(cuModuleGetGlobal_v2(&first, &n_bytes, module, "table"), OK);
    assert_int_equal(n_bytes, 5000);
    assert_int_equal(cuModuleGetGlobal_v2(&again, NULL, module, "table"), OK);
    assert_int_equal(first, again);
    assert_int_equal(cuModuleGetGlobal_v2(&other, &n_bytes, module, "state"), OK);
    assert_int_equal(n_bytes, 8);
    assert_true(other >= first + 5000 || other + 8 <= first);
    assert_int_equal(cudaMemcpy((void *)(uintptr_t)first, &value, sizeof(value), 1), OK);
    assert_int_equal(cudaMemcpy(&back, (const void *)(uintptr_t)first, sizeof(back), 2), OK);
    assert_int_equal(back, value);
    assert_int_equal(cuModuleGetGlobal_v2(&other, NULL, module, "first"), NOT_FOUND);
    assert_int_equal(cuModuleUnload(module), OK);

    void *address = NULL;
    assert_int_equal(cudaLibraryLoadData(&module, image), OK);
    assert_int_equal(cudaLibraryGetGlobal(&address, &n_bytes, module, "state"), OK);
    assert_non_null(address);
    assert_int_equal(n_bytes, 8);
}

static void parameters_are_counted(void **state) {
    (void)state;
    void *module = NULL, *kernel = NULL, *of = NULL;
    size_t offset = 77, n_bytes = 77;
    assert_int_equal(cuModuleLoadData(&module, image), OK);
    assert_int_equal(cuModuleGetFunction(&kernel, module, "first"), OK);
    assert_int_equal(cuFuncGetParamInfo(kernel, 0, &offset, &n_bytes), OK);
    assert_int_equal(offset, 0);
    assert_int_equal(n_bytes, 8);
    assert_int_equal(cuFuncGetParamInfo(kernel, 1, &offset, &n_bytes), OK);
    assert_int_equal(offset, 8);
    assert_int_equal(n_bytes, 4);
    assert_int_equal(cuFuncGetParamInfo(kernel, 2, &offset, NULL), INVALID_VALUE);
    assert_int_equal(cuFuncGetModule(&of, kernel), OK);
    assert_ptr_equal(of, module);
}

static void text_and_damaged_images_are_refused(void **state) {
    (void)state;
    static const char PTX[64] = ".version 8.0\n.target sm_90\n";
    void *module = NULL, *kernel = NULL;
    uint64_t address = 0;
    size_t offset = 0;
    assert_int_equal(cuModuleLoadData(&module, PTX), OK);
    assert_int_equal(cuModuleGetGlobal_v2(&address, NULL, module, "table"), NOT_SUPPORTED);
    assert_int_equal(cuModuleGetFunction(&kernel, module, "first"), OK);
    assert_int_equal(cuFuncGetParamInfo(kernel, 0, &offset, NULL), NOT_SUPPORTED);
    assert_int_equal(cuModuleUnload(module), OK);
    memset(image + AT_NAMES, 'x', sizeof(NAMES)); /* names without an end */
    assert_int_equal(cuModuleLoadData(&module, image), OK);
    assert_int_equal(cuModuleGetGlobal_v2(&address, NULL, module, "table"), NOT_SUPPORTED);
    assert_int_equal(cuModuleUnload(module), OK);
    assert_int_equal(cuModuleLoad(&module, "/no/such/file"), OK);
    assert_int_equal(cuModuleGetGlobal_v2(&address, NULL, module, "table"), NOT_SUPPORTED);
    assert_int_equal(cuModuleUnload(module), OK);
}

/* Loads a damaged image: the program goes on, and its variable is found or not. */
static void use_damaged(int status, void *module) {
    uint64_t address = 0;
    assert_int_equal(status, OK);
    status = cuModuleGetGlobal_v2(&address, NULL, module, "table");
    assert_true(status == OK || status == NOT_FOUND || status == NOT_SUPPORTED);
    assert_int_equal(cuModuleUnload(module), OK);
}

static void load_from_memory(unsigned char *at) {
    void *module = NULL;
    memcpy(at, image, sizeof(image));
    int status = cuModuleLoadData(&module, at);
    use_damaged(status, module);
}

static void load_from_file(const char *path, size_t n_bytes) {
    void *module = NULL;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
    int status = cuModuleLoad(&module, path);
    use_damaged(status, module);
}

/* No memory is mapped after the image, and a file ends there. */
static void a_damaged_image_does_not_end_the_program(void **state) {
    static const unsigned char WRONG[] = {0, 1, 0x7f, 0x80, 0xff};
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char path[] = "/tmp/tidemark_cubin_XXXXXX";
    int made = mkstemp(path);
    unsigned char *pages =
        mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(made >= 0 && close(made) == 0 && pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page_bytes, page_bytes, PROT_NONE), 0);
    for (size_t n = 0; n <= sizeof(image); n += 8) {
        load_from_file(path, n);
    }
    for (size_t i = 0; i < sizeof(image); i++) {
        size_t section = i >= AT_SECTIONS ? (i - AT_SECTIONS) / sizeof(Elf64_Shdr) : N_SECTIONS;
        bool is_header = i < sizeof(Elf64_Ehdr) || section < N_SECTIONS;
        for (size_t j = 0; j < sizeof(WRONG) && (is_header || i % 16 == j); j++) {
            make_image(state);
            image[i] = WRONG[j];
            load_from_file(path, sizeof(image));
            if (image[0] == ELFMAG0) { /* another beginning is a fat binary's or PTX */
                load_from_memory(pages + page_bytes - sizeof(image));
            }
        }
    }
    assert_int_equal(munmap(pages, 2 * page_bytes), 0);
    assert_int_equal(unlink(path), 0);
}

/* The size of a fat binary in a file is its own word; a wrapper contains an address. */
static void a_damaged_file_of_another_kind_is_not_read(void **state) {
    (void)state;
    static const uint32_t WORDS[][4] = {
        {0xBA55ED50, 16 << 16 | 1, 0xffffff00, 0},          /* 4 GB of entries */
        {0xBA55ED50, 16 << 16 | 1, 0xffffffff, 0xffffffff}, /* beyond all memory */
        {0xBA55ED50, 0xffff0001, 64, 0},                    /* entries after the end */
        {0x466243b1, 1, 0x1000, 0}};                        /* a wrapper */
    char path[] = "/tmp/tidemark_fatbin_XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        memset(image, 0x01, sizeof(image));
        memcpy(image, WORDS[i], sizeof(WORDS[i]));
        load_from_file(path, sizeof(image));
        load_from_file(path, sizeof(WORDS[i]));
    }
    assert_int_equal(unlink(path), 0);
}

static void a_linked_variable_has_a_size(void **state) {
    (void)state;
    char host = 0;
    size_t n_bytes = 0;
    __cudaRegisterVar(NULL, &host, NULL, "host", 0, 24, 0, 0);
    assert_int_equal(cudaGetSymbolSize(&n_bytes, &host), OK);
    assert_int_equal(n_bytes, 24);
    assert_int_equal(cudaGetSymbolSize(&n_bytes, &n_bytes), INVALID_SYMBOL);
    assert_int_equal(cudaGetLastError(), INVALID_SYMBOL);
}

static void a_pool_knows_who_may_use_it(void **state) {
    (void)state;
    const int own[] = {1, 0}, other[] = {1, 1};
    const int give[] = {1, 1, 3}, take[] = {1, 1, 0};
    void *pool = NULL;
    int flags = 77;
    assert_int_equal(cudaDeviceGetDefaultMemPool(&pool, 0), OK);
    assert_int_equal(cudaMemPoolGetAccess(&flags, pool, own), OK);
    assert_int_equal(flags, 3);
    assert_int_equal(cudaMemPoolGetAccess(&flags, pool, other), OK);
    assert_int_equal(flags, 0);
    assert_int_equal(cudaMemPoolSetAccess(pool, give, 1), OK);
    assert_int_equal(cudaMemPoolGetAccess(&flags, pool, other), OK);
    assert_int_equal(flags, 3);
    assert_int_equal(cudaMemPoolSetAccess(pool, take, 1), OK);
    assert_int_equal(cudaMemPoolGetAccess(&flags, pool, other), OK);
    assert_int_equal(flags, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_variable_has_its_address_and_size, make_image),
        cmocka_unit_test_setup(parameters_are_counted, make_image),
        cmocka_unit_test_setup(text_and_damaged_images_are_refused, make_image),
        cmocka_unit_test_setup(a_damaged_image_does_not_end_the_program, make_image),
        cmocka_unit_test_setup(a_damaged_file_of_another_kind_is_not_read, make_image),
        cmocka_unit_test(a_linked_variable_has_a_size),
        cmocka_unit_test(a_pool_knows_who_may_use_it),
    };
    return setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80+h100-80", 1) == 0
               ? cmocka_run_group_tests(tests, NULL, NULL)
               : 1;
}
