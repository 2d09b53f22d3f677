/* test_symbols.c - looks up addresses in files that other processes had loaded. */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/elf_note.h"
#include "common/text/strings.h"
#include "snapshot/document/symbols.h"

/* libbacktrace's views of this program exceed the limit if each process has its own. */
enum { PATH_BYTES = 4096, N_PROCESSES = 200, MAX_GROWTH_KIB = 4096 };

static long peak_kib(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* This program, as the dynamic linker loaded it. */
typedef struct program {
    char path[PATH_BYTES];
    unsigned char id[TIDE_MAX_BUILD_ID];
    uintptr_t base;
    tide_symbol_module module;
} program;

static int read_program(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    (void)n_bytes;
    program *of = data;
    of->base = (uintptr_t)info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum && of->module.build_id_bytes == 0; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE) {
            const unsigned char *notes = NULL;
            uintptr_t address = of->base + part->p_vaddr;
            memcpy(&notes, &address, sizeof(notes));
            of->module.build_id_bytes = tide_elf_build_id(notes, part->p_memsz, of->id);
        }
    }
    return 1; /* the program comes first */
}

static void describe_program(program *of) {
    struct stat status;
    *of = (program){.base = 0};
    ssize_t n = readlink("/proc/self/exe", of->path, PATH_BYTES - 1);
    assert_true(n > 0);
    assert_int_equal(stat(of->path, &status), 0);
    (void)dl_iterate_phdr(read_program, of);
    of->module.path = of->path;
    of->module.build_id = of->id;
    of->module.file_bytes = (uint64_t)status.st_size;
    of->module.modified_s = (int64_t)status.st_mtime;
}

#define NAMES_TEXT 256

/* The look-up of one process's stacks: with a symboliser of its own. */
static void look_up(const program *of, char ret_name[NAMES_TEXT]) {
    const tide_frame_row *frames = NULL;
    size_t n_frames = 0;
    tide_symbols *symbols = NULL;
    tide_strings strings;
    tide_strings_init(&strings, tide_hostmem_default());
    assert_int_equal(
        tide_symbols_create_for(tide_hostmem_default(), &strings, &of->module, 1, &symbols),
        TIDE_OK);
    uint64_t address = tide_symbol_address(0, (uint64_t)((uintptr_t)&peak_kib - of->base) + 1);
    assert_int_equal(tide_symbols_resolve(symbols, address, &frames, &n_frames), TIDE_OK);
    assert_true(n_frames > 0);
    const char *name = tide_strings_text(&strings, frames[n_frames - 1].function);
    assert_true(strlen(name) < NAMES_TEXT);
    strcpy(ret_name, name);
    tide_symbols_destroy(symbols);
    tide_strings_fini(&strings);
}

static void processes_share_the_symbols_of_a_file(void **state) {
    (void)state;
    char name[NAMES_TEXT];
    char again[NAMES_TEXT];
    program here;
    describe_program(&here);
    look_up(&here, name);
    long before = peak_kib();
    for (int i = 0; i < N_PROCESSES; i++) {
        look_up(&here, again);
        assert_string_equal(again, name);
    }
    assert_true(peak_kib() - before < MAX_GROWTH_KIB);
}

/* The name of a preloaded object of tidemark is in place of a source file. */
static void code_of_tidemark_has_a_file(void **state) {
    (void)state;
    static const struct {
        const char *path, *function, *file; /* NULL: unknown */
    } CASES[] = {{"/no/libtidemark_virtual_cuda.so", "0x10 in libtidemark_virtual_cuda.so",
                  "libtidemark_virtual_cuda.so"},
                 {"/no/libtide.so", "0x10 in libtide.so", NULL}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const tide_symbol_module module = {.path = CASES[i].path};
        const tide_frame_row *frames = NULL;
        size_t n_frames = 0;
        tide_symbols *symbols = NULL;
        tide_strings strings;
        tide_strings_init(&strings, tide_hostmem_default());
        assert_int_equal(
            tide_symbols_create_for(tide_hostmem_default(), &strings, &module, 1, &symbols),
            TIDE_OK);
        assert_int_equal(
            tide_symbols_resolve(symbols, tide_symbol_address(0, 0x11), &frames, &n_frames),
            TIDE_OK);
        assert_int_equal(n_frames, 1);
        assert_string_equal(tide_strings_text(&strings, frames[0].function), CASES[i].function);
        if (CASES[i].file == NULL) {
            assert_int_equal(frames[0].file, TIDE_NONE);
        } else {
            assert_string_equal(tide_strings_text(&strings, frames[0].file), CASES[i].file);
        }
        tide_symbols_destroy(symbols);
        tide_strings_fini(&strings);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_the_symbols_of_a_file),
        cmocka_unit_test(code_of_tidemark_has_a_file),
    };
    return cmocka_run_group_tests_name("snapshot.symbols", tests, NULL, NULL);
}
