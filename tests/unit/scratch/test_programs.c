/* test_programs.c - a program started with another environment gets our variables added, and a
 * program that cannot see the view is noted.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <elf.h>

#include "ground.h"

#include "programs/scratch/programs.h"
#include "programs/scratch/unseen.h"

static const char *value(char *const *environment, const char *name) {
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, strlen(name)) == 0) {
            return *environment + strlen(name);
        }
    }
    return NULL;
}

static void an_empty_environment_gets_ours(void **state) {
    (void)state;
    char *const empty[] = {NULL};
    char **made = tide_scratch_environment(empty);
    assert_non_null(made);
    assert_string_equal(value(made, "LD_PRELOAD="), "/x/libtidemark_a.so:/x/libtidemark_b.so");
    assert_string_equal(value(made, "TIDEMARK_SCRATCH="), getenv("TIDEMARK_SCRATCH"));
    assert_non_null(strstr(value(made, "LD_LIBRARY_PATH="), "/run/lib"));
    assert_null(strstr(value(made, "LD_LIBRARY_PATH="), "/usr/local/lib"));
    assert_null(value(made, "HOME="));
    made = tide_scratch_environment(NULL);
    assert_non_null(value(made, "LD_PRELOAD="));
}

static void others_are_left_as_they_are(void **state) {
    (void)state;
    extern char **environ;
    assert_ptr_equal(tide_scratch_environment(environ), environ);
    char *const some[] = {"LD_PRELOAD=libjemalloc.so", "A=1", "TIDEMARK_SCRATCH=/elsewhere",
                          "LD_LIBRARY_PATH=/opt/lib", NULL};
    char **made = tide_scratch_environment(some);
    assert_string_equal(value(made, "LD_PRELOAD="),
                        "/x/libtidemark_a.so:/x/libtidemark_b.so:libjemalloc.so");
    assert_string_equal(value(made, "A="), "1");
    assert_string_equal(value(made, "TIDEMARK_SCRATCH="), "/elsewhere");
    assert_non_null(strstr(value(made, "LD_LIBRARY_PATH="), "/run/lib:/opt/lib"));
}

static void what_was_taken_out_comes_back(void **state) {
    (void)state;
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    assert_int_equal(unsetenv("TIDEMARK_SCRATCH"), 0);
    tide_scratch_restore_environment();
    assert_string_equal(getenv("LD_PRELOAD"), "/x/libtidemark_a.so:/x/libtidemark_b.so");
    assert_non_null(getenv("TIDEMARK_SCRATCH"));
    /* The environment owned this copy; remove_ground takes the variable out of it. */
    char *copy = getenv("LD_PRELOAD") - strlen("LD_PRELOAD=");
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    free(copy);
}

/* A program file with one program header of this type, and its contents. */
static void put_part(const char *path, unsigned char class, uint32_t type, const void *bytes,
                     size_t n_bytes) {
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr part;
        char bytes[64];
    } file;
    memset(&file, 0, sizeof(file));
    file.part.p_offset = sizeof(file.head) + sizeof(file.part);
    file.part.p_filesz = n_bytes;
    if (n_bytes > 0) {
        memcpy(file.bytes, bytes, n_bytes);
    }
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_ident[EI_CLASS] = class;
    file.head.e_type = ET_EXEC;
    file.head.e_phoff = sizeof(file.head);
    file.head.e_phnum = 1;
    file.part.p_type = type;
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(&file, sizeof(file), 1, to), 1);
    assert_int_equal(fclose(to), 0);
}

static void put_program(const char *path, unsigned char class, uint32_t type) {
    put_part(path, class, type, NULL, 0);
}

/* The notes so far. */
static const char *noted(void) {
    static char text[8 * GROUND_PATH_BYTES];
    char path[GROUND_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/run/writes/unseen", ground);
    FILE *file = fopen(path, "r");
    text[file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
    if (file != NULL) {
        assert_int_equal(fclose(file), 0);
    }
    return text;
}

static void a_program_that_sees_nothing_is_noted(void **state) {
    (void)state;
    char expected[2 * GROUND_PATH_BYTES];
    char name[] = "ldconfig";
    char option[] = "-p";
    char *const listing[] = {name, option, NULL};
    put_program(user("static"), ELFCLASS64, PT_LOAD);
    put_program(user("dynamic"), ELFCLASS64, PT_INTERP);
    put_program(user("small"), ELFCLASS32, PT_INTERP);
    put_program(user("ldconfig"), ELFCLASS64, PT_LOAD);
    char script[GROUND_PATH_BYTES];
    (void)snprintf(script, sizeof(script), "#! %s -x\n", user("static"));
    put_real(user("script"), script);
    put_real(user("text"), "no program");
    tide_scratch_note_program(user("dynamic"), NULL);
    tide_scratch_note_program(user("text"), NULL);
    tide_scratch_note_program(user("absent"), NULL);
    tide_scratch_note_program(user("ldconfig"), listing);
    assert_string_equal(noted(), "");
    tide_scratch_note_program(user("static"), NULL);
    tide_scratch_note_program(user("small"), NULL);
    tide_scratch_note_program(user("script"), NULL);
    (void)snprintf(expected, sizeof(expected),
                   "%.500s\tis linked statically\n%.500s\tis a program of 32 bits\n%.500s\truns "
                   "%.500s, which is linked statically\n",
                   user("static"), user("small"), user("script"), user("static"));
    assert_string_equal(noted(), expected);
}

/* Programs linked by Go and by gcc differ in their sections. */
static void programs_of_go_are_noted(void **state) {
    (void)state;
    static const struct {
        Elf64_Nhdr head;
        char name[4], value[4];
    } NOTE = {{4, 4, 4}, "Go\0", "abc"};
    static const struct {
        Elf64_Nhdr head;
        char name[4], value[4];
    } OTHER = {{4, 4, 4}, "GNU", "abc"};
    char expected[2 * GROUND_PATH_BYTES];
    size_t n_before = strlen(noted());
    put_part(user("go"), ELFCLASS64, PT_NOTE, &NOTE, sizeof(NOTE));
    put_part(user("gnu"), ELFCLASS64, PT_NOTE, &OTHER, sizeof(OTHER));
    tide_scratch_note_program(user("go"), NULL);
    int fd = open(user("go"), O_RDONLY | O_CLOEXEC);
    tide_scratch_note_descriptor(fd, "", NULL);
    assert_int_equal(close(fd), 0);
    tide_scratch_note_program(user("gnu"), NULL);
    (void)snprintf(expected, sizeof(expected),
                   "%.500s\tis a Go program\n%.500s\tis a Go program\n%.500s\tis linked "
                   "statically\n",
                   user("go"), user("go"), user("gnu"));
    assert_string_equal(noted() + n_before, expected);
}

/* A dynamic linker requests no interpreter itself, but has the name of a library. */
static void what_the_dynamic_linker_runs_decides(void **state) {
    (void)state;
    static const Elf64_Dyn ROWS[] = {{.d_tag = DT_SONAME, .d_un = {.d_val = 1}},
                                     {.d_tag = DT_NULL}};
    char expected[2 * GROUND_PATH_BYTES];
    char linker[GROUND_PATH_BYTES];
    char program[GROUND_PATH_BYTES];
    char option[] = "--argv0";
    char value[] = "x";
    char *const arguments[] = {linker, option, value, program, NULL};
    size_t n_before = strlen(noted());
    (void)snprintf(linker, sizeof(linker), "%s", user("ld.so"));
    (void)snprintf(program, sizeof(program), "%s", user("dynamic"));
    put_part(linker, ELFCLASS64, PT_DYNAMIC, ROWS, sizeof(ROWS));
    tide_scratch_note_program(linker, arguments);
    assert_string_equal(noted() + n_before, "");
    (void)snprintf(program, sizeof(program), "%s", user("go"));
    tide_scratch_note_program(linker, arguments);
    (void)snprintf(expected, sizeof(expected), "%.500s\truns %.500s, which is a Go program\n",
                   linker, program);
    assert_string_equal(noted() + n_before, expected);
}

int main(int argc, char **argv) {
    begin_view(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_environment_gets_ours),
        cmocka_unit_test(others_are_left_as_they_are),
        cmocka_unit_test(what_was_taken_out_comes_back),
        cmocka_unit_test(a_program_that_sees_nothing_is_noted),
        cmocka_unit_test(programs_of_go_are_noted),
        cmocka_unit_test(what_the_dynamic_linker_runs_decides),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    remove_ground();
    return result;
}
