/* test_study_memory.c - a study without host memory for its runs reports how many runs it wanted,
 * and ends without touching missing runs. The linker sends tide_hostmem_zeroed here (--wrap),
 * because the command uses the default heap. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "model/commands/commands.h"
#include "model/commands/study/internal.h"

extern const tide_command tide_command_study;

void *__real_tide_hostmem_zeroed(const tide_hostmem *mem, size_t n_items, size_t item_bytes);
void *__wrap_tide_hostmem_zeroed(const tide_hostmem *mem, size_t n_items, size_t item_bytes);

static bool cells_fail;

void *__wrap_tide_hostmem_zeroed(const tide_hostmem *mem, size_t n_items, size_t item_bytes) {
    return cells_fail && item_bytes == sizeof(tide_study_cell)
               ? NULL
               : __real_tide_hostmem_zeroed(mem, n_items, item_bytes);
}

/* Runs the command and returns its exit status; `output` gets the start of what it prints to the
 * stream. */
static int run_study(int argc, char **argv, FILE *stream, char *output, size_t n_room) {
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fflush(stream), 0);
    int kept = dup(fileno(stream));
    assert_true(kept >= 0);
    assert_true(dup2(fileno(file), fileno(stream)) >= 0);
    int exit_status = tide_command_study.run(argc, argv);
    assert_int_equal(fflush(stream), 0);
    assert_true(dup2(kept, fileno(stream)) >= 0);
    assert_int_equal(close(kept), 0);
    rewind(file);
    output[fread(output, 1, n_room - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return exit_status;
}

static void the_message_counts_the_runs(void **state) {
    (void)state;
    static char *two[] = {"study", "parameters", "--size", "small,medium"};
    static char *one[] = {"study", "parameters", "--size", "small"};
    char text[1024];
    cells_fail = true;
    assert_int_equal(run_study(4, two, stderr, text, sizeof(text)), TIDE_EXIT_FAILURE);
    assert_non_null(strstr(text, "no host memory for 2 runs"));
    assert_int_equal(run_study(4, one, stderr, text, sizeof(text)), TIDE_EXIT_FAILURE);
    assert_non_null(strstr(text, "no host memory for 1 run\n"));
}

/* The same command line succeeds with memory, so only the lack of memory refused it above. */
static void with_memory_the_study_is_made(void **state) {
    (void)state;
    static char *two[] = {"study", "parameters", "--size", "small,medium"};
    char text[1024];
    cells_fail = false;
    assert_int_equal(run_study(4, two, stdout, text, sizeof(text)), TIDE_EXIT_SUCCESS);
    assert_non_null(strstr(text, "medium"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_counts_the_runs),
        cmocka_unit_test(with_memory_the_study_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
