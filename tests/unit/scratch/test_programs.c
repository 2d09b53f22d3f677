/* test_programs.c - a program that is started with another environment gets ours with it, and one
 * that cannot see the view is noted.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <elf.h>

#include "ground.h"

#include "scratch/programs.h"

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

/* A program file with one program header of this type. */
static void put_program(const char *path, unsigned char class, uint32_t type) {
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr part;
    } file;
    memset(&file, 0, sizeof(file));
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

static void a_program_that_sees_nothing_is_noted(void **state) {
    (void)state;
    char expected[2 * GROUND_PATH_BYTES];
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
    tide_scratch_note_program(user("ldconfig"), "-p");
    (void)snprintf(expected, sizeof(expected), "%s/run/writes/unseen", ground);
    assert_int_equal(access(expected, F_OK), -1);
    tide_scratch_note_program(user("static"), NULL);
    tide_scratch_note_program(user("small"), NULL);
    tide_scratch_note_program(user("script"), NULL);
    char text[4 * GROUND_PATH_BYTES] = "";
    FILE *file = fopen(expected, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    (void)snprintf(expected, sizeof(expected),
                   "%.1000s\tis linked statically\n%.1000s\tis a program of 32 bits\n%.1000s\tis "
                   "linked statically\n",
                   user("static"), user("small"), user("script"));
    assert_string_equal(text, expected);
}

int main(int argc, char **argv) {
    begin_view(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_environment_gets_ours),
        cmocka_unit_test(others_are_left_as_they_are),
        cmocka_unit_test(what_was_taken_out_comes_back),
        cmocka_unit_test(a_program_that_sees_nothing_is_noted),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    remove_ground();
    return result;
}
