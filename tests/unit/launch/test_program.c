/* test_program.c - which commands can be run on a virtual card, and the messages for the others. */
#define _POSIX_C_SOURCE 200809L
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/launch.h"

static char folder[64];

/* The parts of a program: its header, then the name of its dynamic linker. */
typedef struct image {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    char linker[64];
} image;

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/tidemark-program-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state) {
    char path[128];
    (void)state;
    snprintf(path, sizeof(path), "%s/program", folder);
    (void)remove(path);
    return rmdir(folder);
}

static void write_program(const void *content, size_t n_bytes, mode_t mode, char ret_path[128]) {
    snprintf(ret_path, 128, "%s/program", folder);
    FILE *file = fopen(ret_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(ret_path, mode), 0);
}

static image image_with(const char *linker) {
    image made = {.header = {.e_machine = EM_X86_64,
                             .e_phoff = offsetof(image, part),
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = 1},
                  .part = {.p_type = linker != NULL ? PT_INTERP : PT_LOAD,
                           .p_offset = offsetof(image, linker),
                           .p_filesz = linker != NULL ? strlen(linker) + 1 : 0}};
    memcpy(made.header.e_ident, ELFMAG, SELFMAG);
    made.header.e_ident[EI_CLASS] = ELFCLASS64;
    snprintf(made.linker, sizeof(made.linker), "%s", linker != NULL ? linker : "");
    return made;
}

/* `words`: expected in the message; NULL: the command can be run. */
static void check(const char *command, const char *words) {
    char text[256];
    snprintf(text, sizeof(text), "%s", command);
    char *arguments[] = {text, NULL};
    tide_launch_config config;
    tide_error error = {""};
    tide_launch_config_init(&config);
    config.arguments = arguments;
    assert_int_equal(tide_launch_check(&config, &error), words == NULL ? TIDE_OK : TIDE_INVALID);
    if (words != NULL && strstr(error.message, words) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, words);
    }
}

static void check_image(const image *made, size_t n_bytes, mode_t mode, const char *words) {
    char path[128];
    write_program(made, n_bytes, mode, path);
    check(path, words);
}

static void check_script(const char *text, const char *words) {
    char path[128];
    write_program(text, strlen(text), 0755, path);
    check(path, words);
}

static void test_a_program_of_this_system_can_be_run(void **state) {
    (void)state;
    image made = image_with("/lib64/ld-linux-x86-64.so.2");
    check("sh", NULL);
    check("/bin/sh", NULL);
    check_image(&made, sizeof(made), 0755, NULL);
}

static void test_what_is_not_there_is_named(void **state) {
    (void)state;
    check("no-such-program-anywhere", "no-such-program-anywhere is in no folder of PATH");
    check("/no/such/program", "no such program: /no/such/program: No such file or directory");
    check(folder, "is a folder, not a program");
    image made = image_with("/lib64/ld-linux-x86-64.so.2");
    check_image(&made, sizeof(made), 0644, "is not executable: name the program that runs it");
}

static void test_programs_that_cannot_be_served(void **state) {
    (void)state;
    image made = image_with(NULL);
    check_image(&made, sizeof(made), 0755, "is linked statically");
    made = image_with("/lib/ld-musl-x86_64.so.1");
    check_image(&made, sizeof(made), 0755, "uses the C library musl");
    made = image_with("/lib64/ld-linux-x86-64.so.2");
    check_image(&made, sizeof(made), 04755, "is setuid or setgid");
    check_image(&made, sizeof(made), 02755, "is setuid or setgid");
    made.header.e_machine = EM_AARCH64;
    check_image(&made, sizeof(made), 0755, "is a program for another processor");
    made.header.e_ident[EI_CLASS] = ELFCLASS32;
    check_image(&made, sizeof(Elf32_Ehdr), 0755, "is a 32-bit program");
}

static void test_half_a_program_is_named(void **state) {
    (void)state;
    image made = image_with("/lib64/ld-linux-x86-64.so.2");
    check_image(&made, EI_NIDENT - 1, 0755, "is no complete program");
    check_image(&made, sizeof(made.header) - 1, 0755, "is no complete program");
    check_image(&made, offsetof(image, part) + 1, 0755, "is no complete program");
}

static void test_scripts(void **state) {
    (void)state;
    check_script("#!/bin/sh\nexit 0\n", NULL);
    check_script("#! /usr/bin/env -S LC_ALL=C sh\nexit 0\n", NULL);
    check_script("exit 0\n", "is neither a program nor a script that begins with #!");
    check_script("", "is neither a program nor a script that begins with #!");
    check_script("#!/no/such/interpreter\n", "no such program: /no/such/interpreter");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_a_program_of_this_system_can_be_run),
        TEST(test_what_is_not_there_is_named),
        TEST(test_programs_that_cannot_be_served),
        TEST(test_half_a_program_is_named),
        TEST(test_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
