/* test_environment.c - the environment of a program, by recording method. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/launch_internal.h"

static tide_launch launch;
static char **environment;

/* The value of the name in the environment that was made; NULL if it is missing. No name occurs
 * twice. */
static const char *value_of(const char *name) {
    const char *found = NULL;
    size_t n = strlen(name);
    for (size_t i = 0; environment[i] != NULL; i++) {
        if (strncmp(environment[i], name, n) == 0 && environment[i][n] == '=') {
            assert_null(found);
            found = environment[i] + n + 1;
        }
    }
    return found;
}

static void expect(const char *name, const char *value) {
    const char *found = value_of(name);
    if (found == NULL || strcmp(found, value) != 0) {
        fail_msg("%s is %s, not %s", name, found != NULL ? found : "not there", value);
    }
}

static void make(const tide_launch_config *config) {
    tide_launch_environment_release(environment);
    environment = tide_launch_environment(&launch, config);
    assert_non_null(environment);
}

static void put_file(const char *name) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", launch.objects, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(launch.objects, sizeof(launch.objects), "/tmp/tidemark-test-XXXXXX");
    (void)snprintf(launch.folder, sizeof(launch.folder), "/run/folder");
    (void)snprintf(launch.library, sizeof(launch.library), "/run/folder/lib");
    (void)snprintf(launch.python, sizeof(launch.python), "/our/python");
    (void)snprintf(launch.program, sizeof(launch.program), "/bin/tidemark");
    (void)snprintf(launch.logs, sizeof(launch.logs), "/state/run-1");
    assert_non_null(mkdtemp(launch.objects));
    put_file("libtidemark_live.so");
    put_file("libtidemark_scratch.so");
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    assert_int_equal(unsetenv("PYTHONPATH"), 0);
    assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
    assert_int_equal(unsetenv("TIDEMARK_SCRATCH_OWN"), 0);
    return 0;
}

static int tear_down(void **state) {
    char command[TIDE_LAUNCH_PATH_BYTES + 16];
    (void)state;
    tide_launch_environment_release(environment);
    environment = NULL;
    assert_int_equal(unsetenv("LD_PRELOAD"), 0); /* of the command below */
    (void)snprintf(command, sizeof(command), "rm -r %s", launch.objects);
    return system(command);
}

/* "A:B" with A and B in the folder of the objects. */
static void expect_preloaded(const char *first, const char *second, const char *third) {
    const char *const names[] = {first, second, third};
    char text[4 * TIDE_LAUNCH_PATH_BYTES] = "";
    for (size_t i = 0; i < 3 && names[i] != NULL; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "%s%s/%s", n > 0 ? ":" : "", launch.objects,
                       names[i]);
    }
    expect("LD_PRELOAD", text);
}

static tide_launch_config config_of(tide_launch_method method) {
    tide_launch_config config;
    tide_launch_config_init(&config);
    config.writes_are_real = true;
    config.method = method;
    config.cards = NULL;
    return config;
}

/* ---- methods ---- */

static void the_library_is_preloaded_before_the_card(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_PRELOAD);
    config.cards = "h100-80";
    make(&config);
    expect_preloaded("libtidemark_live.so", "libtidemark_virtual_cuda.so",
                     "libtidemark_scratch.so");
    expect("LD_LIBRARY_PATH", "/run/folder/lib");
    expect("TIDEMARK_VIRTUAL_CARDS", "h100-80");
    expect("TIDEMARK_LIVE", "/state/run-1/%p.log");
    expect("TIDEMARK_RUN_FOLDER", "/run/folder");
    expect("PYTHONPATH", "/our/python");
    assert_null(value_of("TIDEMARK_LIVE_LIBRARY"));
    config.method = TIDE_LAUNCH_AUTO; /* the same */
    make(&config);
    expect_preloaded("libtidemark_live.so", "libtidemark_virtual_cuda.so",
                     "libtidemark_scratch.so");
}

/* The user's own flags stay, and win. */
static void xla_gets_flags_on_a_virtual_card(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    assert_int_equal(unsetenv("XLA_FLAGS"), 0);
    make(&config);
    assert_null(value_of("XLA_FLAGS"));
    config.cards = "h100-80";
    make(&config);
    expect("XLA_FLAGS", "--xla_gpu_enable_command_buffer= --xla_gpu_autotune_level=0");
    assert_int_equal(setenv("XLA_FLAGS", "--xla_gpu_autotune_level=4", 1), 0);
    make(&config);
    expect("XLA_FLAGS", "--xla_gpu_autotune_level=4 --xla_gpu_enable_command_buffer=");
    static char flags[4 * TIDE_LAUNCH_PATH_BYTES];
    memset(flags, 'x', sizeof(flags) - 1);
    assert_int_equal(setenv("XLA_FLAGS", flags, 1), 0);
    assert_null(tide_launch_environment(&launch, &config)); /* no room: nothing is cut off */
    assert_int_equal(unsetenv("XLA_FLAGS"), 0);
}

static void on_real_cards_nothing_stands_for_them(void **state) {
    (void)state;
    const tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    make(&config);
    expect_preloaded("libtidemark_live.so", "libtidemark_scratch.so", NULL);
    assert_null(value_of("LD_LIBRARY_PATH"));
    assert_null(value_of("TIDEMARK_VIRTUAL_CARDS"));
}

static void python_opens_the_library_where_nothing_is_preloaded(void **state) {
    (void)state;
    char library[TIDE_LAUNCH_PATH_BYTES + 64];
    const tide_launch_config config = config_of(TIDE_LAUNCH_PYTHONPATH);
    make(&config);
    expect_preloaded("libtidemark_scratch.so", NULL, NULL);
    (void)snprintf(library, sizeof(library), "%s/libtidemark_live.so", launch.objects);
    expect("TIDEMARK_LIVE_LIBRARY", library);
    expect("TIDEMARK_LIVE", "/state/run-1/%p.log");
    expect("PYTHONPATH", "/our/python/tidemark/attach:/our/python");
}

static void pytorchs_history_needs_no_library(void **state) {
    (void)state;
    const tide_launch_config config = config_of(TIDE_LAUNCH_HISTORY);
    make(&config);
    expect_preloaded("libtidemark_scratch.so", NULL, NULL);
    assert_null(value_of("TIDEMARK_LIVE"));
    assert_null(value_of("TIDEMARK_LIVE_LIBRARY"));
    expect("PYTHONPATH", "/our/python/tidemark/attach:/our/python");
}

/* ---- what the program already has ---- */

static void what_the_program_has_stays_around_ours(void **state) {
    (void)state;
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    config.cards = "h100-80";
    assert_int_equal(setenv("LD_PRELOAD", "/their/lib.so", 1), 0);
    assert_int_equal(setenv("PYTHONPATH", "/their/python", 1), 0);
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/their/lib", 1), 0);
    assert_int_equal(setenv("TIDEMARK_TEST_OTHER", "a=b", 1), 0);
    make(&config);
    (void)snprintf(path, sizeof(path), "%s/libtidemark_scratch.so:/their/lib.so", launch.objects);
    const char *preloaded = value_of("LD_PRELOAD");
    assert_non_null(strstr(preloaded, path));
    assert_string_equal(strstr(preloaded, path), path);
    expect("PYTHONPATH", "/their/python:/our/python");
    expect("LD_LIBRARY_PATH", "/run/folder/lib:/their/lib");
    expect("TIDEMARK_TEST_OTHER", "a=b");
    config.method = TIDE_LAUNCH_PYTHONPATH;
    make(&config);
    expect("PYTHONPATH", "/our/python/tidemark/attach:/their/python:/our/python");
    assert_int_equal(unsetenv("TIDEMARK_TEST_OTHER"), 0);
}

/* ---- options ---- */

static void options_of_the_recording_are_handed_on(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    assert_int_equal(setenv("TIDEMARK_LIVE_BYTES", "67108864", 1), 0);
    assert_int_equal(setenv("TIDEMARK_LIVE_FRAMES", "2", 1), 0);
    make(&config);
    expect("TIDEMARK_SCRATCH_OWN", "/state/run-1");
    expect("TIDEMARK_LIVE_BYTES", ""); /* those of a black box around the run are not the run's */
    expect("TIDEMARK_LIVE_FRAMES", "");
    assert_int_equal(unsetenv("TIDEMARK_LIVE_BYTES"), 0);
    assert_int_equal(unsetenv("TIDEMARK_LIVE_FRAMES"), 0);
    assert_null(value_of("TIDEMARK_LIVE_EVERY"));
    assert_null(value_of("TIDEMARK_LIVE_ON_OOM"));
    config.stacks = "both";
    config.full = "stop";
    config.log_bytes = 1 << 20;
    config.every = 100;
    config.tells_failures = true;
    config.log = "/data/rank%p.log";
    make(&config);
    expect("TIDEMARK_LIVE", "/data/rank%p.log");
    expect("TIDEMARK_LIVE_STACKS", "both");
    expect("TIDEMARK_LIVE_FULL", "stop");
    expect("TIDEMARK_LIVE_BYTES", "1048576");
    expect("TIDEMARK_LIVE_EVERY", "100");
    expect("TIDEMARK_LIVE_ON_OOM", "1");
    expect("TIDEMARK_SCRATCH_OWN", "/data"); /* the log is not a write of the program */
}

static void writes_are_kept_away_unless_they_are_real(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    assert_int_equal(unsetenv("WANDB_MODE"), 0);
    make(&config);
    assert_null(value_of("TIDEMARK_SCRATCH"));
    assert_null(value_of("WANDB_MODE"));
    config.writes_are_real = false;
    make(&config);
    expect("TIDEMARK_SCRATCH", "/run/folder/writes");
    expect("WANDB_MODE", "disabled");
}

/* A run within a run sees only its own clock. */
static void a_clock_is_that_of_this_run(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_AUTO);
    config.cards = "h100-80";
    make(&config);
    assert_null(value_of("TIDEMARK_CLOCK"));
    config.clock = "0.5 1";
    make(&config);
    expect("TIDEMARK_CLOCK", "0.5 1");
    assert_int_equal(setenv("TIDEMARK_CLOCK", "0.7 1", 1), 0);
    make(&config);
    expect("TIDEMARK_CLOCK", "0.5 1");
    config.clock = NULL;
    make(&config);
    expect("TIDEMARK_CLOCK", "");
    assert_int_equal(unsetenv("TIDEMARK_CLOCK"), 0);
}

#define PREPARED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void a_failure_is_asked_about_if_it_is_explained(void **state) {
    (void)state;
    tide_launch_config config;
    tide_launch_config_init(&config);
    config.cards = "h100-80";
    make(&config);
    assert_null(value_of("TIDEMARK_AT_FAILURE"));
    config.asks_at_failure = true;
    make(&config);
    expect("TIDEMARK_AT_FAILURE", "1");
}

/* Without a number, the card has its model of NCCL's memory; 0 is a number. */
static void memory_of_communicators(void **state) {
    (void)state;
    tide_launch_config config;
    tide_launch_config_init(&config);
    make(&config);
    assert_null(value_of("TIDEMARK_NCCL_BYTES"));
    config.nccl_bytes = 0;
    make(&config);
    expect("TIDEMARK_NCCL_BYTES", "0");
    config.nccl_bytes = UINT64_C(5) << 32;
    make(&config);
    expect("TIDEMARK_NCCL_BYTES", "21474836480");
}

/* The user's settings stay, and the added ones count, because they are last, in the variable that
 * PyTorch reads. */
static void settings_of_the_allocator(void **state) {
    (void)state;
    tide_launch_config config;
    tide_launch_config_init(&config);
    config.allocator_settings = "expandable_segments:True";
    assert_int_equal(unsetenv("PYTORCH_ALLOC_CONF"), 0);
    assert_int_equal(unsetenv("PYTORCH_CUDA_ALLOC_CONF"), 0);
    make(&config);
    expect("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
    assert_null(value_of("PYTORCH_ALLOC_CONF"));
    assert_int_equal(setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", 1), 0);
    make(&config);
    expect("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64,expandable_segments:True");
    assert_int_equal(setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:32", 1), 0);
    make(&config);
    expect("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64,expandable_segments:True");
    expect("PYTORCH_ALLOC_CONF", "max_split_size_mb:32");
    assert_int_equal(unsetenv("PYTORCH_CUDA_ALLOC_CONF"), 0);
    make(&config);
    expect("PYTORCH_ALLOC_CONF", "max_split_size_mb:32,expandable_segments:True");
    assert_null(value_of("PYTORCH_CUDA_ALLOC_CONF"));
    config.allocator_settings = NULL;
    make(&config);
    expect("PYTORCH_ALLOC_CONF", "max_split_size_mb:32");
    assert_int_equal(unsetenv("PYTORCH_ALLOC_CONF"), 0);
}

/* The user's own policy stays. */
static void idle_threads_sleep_beside_other_runs(void **state) {
    (void)state;
    tide_launch_config config;
    tide_launch_config_init(&config);
    assert_int_equal(unsetenv("OMP_WAIT_POLICY"), 0);
    make(&config);
    assert_null(value_of("OMP_WAIT_POLICY"));
    config.waits_asleep = true;
    make(&config);
    expect("OMP_WAIT_POLICY", "passive");
    assert_int_equal(setenv("OMP_WAIT_POLICY", "active", 1), 0);
    make(&config);
    expect("OMP_WAIT_POLICY", "active");
    assert_int_equal(unsetenv("OMP_WAIT_POLICY"), 0);
}

/* Changes need Python's start, also where a library is preloaded. */
static void changes_come_with_pythons_start(void **state) {
    (void)state;
    tide_launch_config config = config_of(TIDE_LAUNCH_PRELOAD);
    make(&config);
    assert_null(value_of("TIDEMARK_CHANGES"));
    config.changes = "checkpoint:Block,fused";
    make(&config);
    expect("TIDEMARK_CHANGES", "checkpoint:Block,fused");
    expect("PYTHONPATH", "/our/python/tidemark/attach:/our/python");
    assert_null(value_of("TIDEMARK_LIVE_LIBRARY")); /* the library is preloaded */
    assert_int_equal(setenv("TIDEMARK_CHANGES", "bf16", 1), 0);
    config.changes = NULL;
    make(&config);
    expect("TIDEMARK_CHANGES", ""); /* those of an outer run are not this run's */
    assert_int_equal(unsetenv("TIDEMARK_CHANGES"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PREPARED(the_library_is_preloaded_before_the_card),
        PREPARED(xla_gets_flags_on_a_virtual_card),
        PREPARED(memory_of_communicators),
        PREPARED(on_real_cards_nothing_stands_for_them),
        PREPARED(python_opens_the_library_where_nothing_is_preloaded),
        PREPARED(pytorchs_history_needs_no_library),
        PREPARED(what_the_program_has_stays_around_ours),
        PREPARED(options_of_the_recording_are_handed_on),
        PREPARED(a_clock_is_that_of_this_run),
        PREPARED(writes_are_kept_away_unless_they_are_real),
        PREPARED(a_failure_is_asked_about_if_it_is_explained),
        PREPARED(settings_of_the_allocator),
        PREPARED(idle_threads_sleep_beside_other_runs),
        PREPARED(changes_come_with_pythons_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
