/* test_world.c - the command that runs some ranks of a larger world: which Python starts them, its
 * arguments, and commands that start ranks themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hostmem.h"
#include "programs/launch/launch_internal.h"

#define CHECK(expected, ...)                                                                       \
    check((expected), (char *const[]){__VA_ARGS__, NULL}, (const char *)#__VA_ARGS__)

static void check(const char *starter, char *const *arguments, const char *shown) {
    tide_error error = {""};
    tide_status status = tide_launch_check_world(arguments, &error);
    if (starter == NULL ? status != TIDE_OK : status != TIDE_INVALID) {
        fail_msg("%s: status %d, %s", shown, (int)status, error.message);
    }
    if (starter != NULL && strncmp(error.message, starter, strlen(starter)) != 0) {
        fail_msg("%s: %s", shown, error.message);
    }
}

static void what_starts_ranks_itself_is_refused(void **state) {
    (void)state;
    CHECK(NULL, "python", "train.py");
    CHECK(NULL, "python", "-m", "train");
    CHECK(NULL, "./torchrun.py", "train.py");
    CHECK(NULL, "bash", "-m", "torchrun");
    CHECK(NULL, "python", "train.py", "torchrun");
    CHECK(NULL, "python", "train.py", "a", "b", "-m", "torchrun");
    CHECK("torchrun ", "torchrun", "train.py");
    CHECK("torchrun ", "/usr/bin/torchrun", "train.py");
    CHECK("srun ", "srun", "python", "train.py");
    CHECK("torch.distributed.run ", "python3.11", "-m", "torch.distributed.run", "train.py");
    CHECK("accelerate.commands.launch ", "/a/python", "-u", "-m", "accelerate.commands.launch");
}

/* The command points into itself, so it must not move. */
static void make(const char *path, const char *interpreter, const char *cards,
                 tide_launch_world_command *ret) {
    static char python[] = "python", script[] = "train.py", dashes[] = "--";
    char *const arguments[] = {python, script, dashes, NULL};
    tide_launch launch = {.cleaner = -1};
    tide_ranks ranks = {.n = 3, .ranks = {0, 7, 1023}};
    tide_launch_program program;
    tide_launch_config config;
    tide_error error = {""};
    (void)snprintf(program.path, sizeof(program.path), "%s", path);
    (void)snprintf(program.interpreter, sizeof(program.interpreter), "%s", interpreter);
    (void)snprintf(launch.python, sizeof(launch.python), "/package");
    tide_launch_config_init(&config);
    config.arguments = arguments;
    config.cards = cards;
    config.world = 1024;
    config.ranks = &ranks;
    assert_int_equal(tide_launch_world(&config, &launch, &program, ret, &error), TIDE_OK);
}

static void expect_arguments(const tide_launch_world_command *of, const char *python,
                             const char *cards) {
    const char *const WANTED[] = {
        python,    "-I",   "-S",      "-B",       "/package/tidemark/cluster",
        "--world", "1024", "--ranks", "0,7,1023", "--cards",
        cards,     "--",   "python",  "train.py", "--"};
    size_t n = sizeof(WANTED) / sizeof(WANTED[0]);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(of->arguments[i]);
        assert_string_equal(of->arguments[i], WANTED[i]);
    }
    assert_null(of->arguments[n]);
    assert_string_equal(of->path, python);
}

static void release(const tide_launch_world_command *of) {
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, of->arguments);
}

static void the_launcher_is_told_the_world(void **state) {
    (void)state;
    tide_launch_world_command of;
    make("/venv/bin/python3", "/venv/bin/python3", "h100-80+h100-80+a100-40", &of);
    expect_arguments(&of, "/venv/bin/python3", "3");
    release(&of);
}

static void a_script_is_run_by_its_interpreter(void **state) {
    (void)state;
    tide_launch_world_command of;
    make("/home/train.py", "/venv/bin/python3.11", "h100-80", &of);
    expect_arguments(&of, "/venv/bin/python3.11", "1");
    release(&of);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_starts_ranks_itself_is_refused),
        cmocka_unit_test(the_launcher_is_told_the_world),
        cmocka_unit_test(a_script_is_run_by_its_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
