/* test_oom_files.c - reading files with cJSON and writing reports while the n-th allocation inside
 * cJSON, which does not use our heap, or the n-th call of the system fails, for every n: the status
 * is clear, nothing leaks, and an older report survives.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "cli/html_report.h"
#include "model/commands/options/model_options.h"
#include "common/files/output_file.h"
#include "model/reference/safetensors.h"
#include "support/hostmem_fault.h"
#include "support/system_fault.h"

enum { MAX_CALLS = 2000 };

/* cJSON's hooks take no context, so the heap in use is a global variable. */
static tide_hostmem_fault heap;

static char folder[] = "/tmp/tidemark-oom-XXXXXX";
static const char OLDER[] = "what stood there before";

static void *hook_alloc(size_t n_bytes) {
    void *memory = heap.mem.alloc(heap.mem.ctx, n_bytes);
    if (memory == NULL) {
        errno = ENOMEM; /* as malloc does */
    }
    return memory;
}

static void hook_release(void *memory) {
    heap.mem.release(heap.mem.ctx, memory);
}

/* The path of a file in the folder; valid until the next call. */
static const char *path_of(const char *name) {
    static char path[sizeof(folder) + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *bytes, size_t n_bytes) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

static size_t count_files(void) {
    size_t n_files = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        n_files += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    assert_int_equal(closedir(listing), 0);
    return n_files;
}

/* ---- the operations ---- */

static tide_status read_config(tide_error *error) {
    tide_model_config config = {.d_model = 1};
    tide_status status = tide_model_file_read(path_of("config.json"), &config, error);
    assert_int_equal(config.d_model, status == TIDE_OK ? 16 : 1); /* written only when it worked */
    return status;
}

static tide_status read_tensors(tide_error *error) {
    tide_safetensors *file = NULL;
    tide_status status =
        tide_safetensors_open(tide_hostmem_default(), path_of("x.safetensors"), &file, error);
    tide_safetensors_close(file);
    return status;
}

/* Two runs, so that the sentence of the comparison goes through cJSON. */
static tide_status write_report(tide_error *error) {
    static char input[sizeof(folder) + 64];
    (void)snprintf(input, sizeof(input), "%s", path_of("run.json"));
    tide_snapshot *snapshot = NULL;
    tide_status status = tide_snapshot_create(NULL, &snapshot);
    const tide_html_run run = {.label = "a run", .path = input, .snapshot = snapshot};
    const tide_html_run runs[2] = {run, run};
    if (status == TIDE_OK) {
        status = tide_html_report_write(path_of("report.html"), runs, 2, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

/* Writes a file that must not exist yet. */
static tide_status write_new(tide_error *error) {
    tide_output_file file;
    tide_status status = tide_output_file_open(path_of("new"), &file, error);
    if (status == TIDE_OK) {
        (void)tide_output_file_write(&file, OLDER, sizeof(OLDER));
        status = tide_output_file_commit_new(&file, error);
    }
    assert_int_equal(unlink(path_of("new")), status == TIDE_OK ? 0 : -1);
    return status;
}

typedef tide_status (*attempt)(tide_error *error);

static void expect_clear(tide_status status, tide_status expected, const tide_error *error) {
    if (status != TIDE_OK && (status != expected || strlen(error->message) < 10)) {
        fail_msg("%s: \"%s\"", tide_status_text(status), error->message);
    }
}

/* A report may lack its sentence, so a failure there does not fail the report: `can_do_without`. */
static void sweep_cjson(attempt call, bool can_do_without) {
    cJSON_Hooks hooks = {hook_alloc, hook_release};
    cJSON_InitHooks(&hooks);
    size_t n = 1;
    for (bool failed = true; failed; n++) {
        tide_error error = {""};
        assert_true(n < MAX_CALLS);
        tide_hostmem_fault_init(&heap, n);
        tide_status status = call(&error);
        failed = heap.n_calls >= n;
        expect_clear(status, TIDE_NO_MEMORY, &error);
        assert_true(status == TIDE_OK || failed);
        assert_true(status != TIDE_OK || !failed || can_do_without);
        assert_int_equal(heap.n_live, 0);
    }
    assert_true(n > 4);
    cJSON_InitHooks(NULL);
}

static void any_allocation_in_cjson_may_fail(void **state) {
    (void)state;
    sweep_cjson(read_config, false);
    sweep_cjson(read_tensors, false);
    sweep_cjson(write_report, true);
    assert_int_equal(unlink(path_of("report.html")), 0);
}

static bool is_older_report(void) {
    char text[sizeof(OLDER)] = "";
    FILE *file = fopen(path_of("report.html"), "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text), file);
    assert_int_equal(fclose(file), 0);
    return n == sizeof(OLDER) - 1 && memcmp(text, OLDER, n) == 0;
}

static void any_call_of_the_system_may_fail(void **state) {
    (void)state;
    static const attempt CALLS[] = {read_config, read_tensors, write_report, write_new};
    size_t n_failed[TIDE_N_SYSTEM_CALLS] = {0};
    size_t n_files = count_files() + 1;
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        size_t n_failures = 1;
        for (size_t n = 1; n_failures > 0; n++) {
            tide_error error = {""};
            tide_system_fault fault = {.fail_call = n};
            assert_true(n < MAX_CALLS);
            put("report.html", OLDER, sizeof(OLDER) - 1);
            tide_system_fault_use(&fault);
            tide_status status = CALLS[i](&error);
            tide_system_fault_use(NULL);
            n_failures = 0;
            for (size_t k = 0; k < TIDE_N_SYSTEM_CALLS; k++) {
                n_failures += fault.n_failed[k];
                n_failed[k] += fault.n_failed[k];
            }
            expect_clear(status, TIDE_IO, &error);
            assert_true(status == TIDE_OK || n_failures > 0);
            assert_int_equal(count_files(), n_files);
            assert_int_equal(is_older_report(), CALLS[i] != write_report || status != TIDE_OK);
        }
    }
    assert_int_equal(unlink(path_of("report.html")), 0);
    static const tide_system_call REACHED[] = {
        TIDE_SYSTEM_FOPEN, TIDE_SYSTEM_FREAD,  TIDE_SYSTEM_FCLOSE,  TIDE_SYSTEM_OPEN,
        TIDE_SYSTEM_WRITE, TIDE_SYSTEM_CLOSE,  TIDE_SYSTEM_FSYNC,   TIDE_SYSTEM_RENAME,
        TIDE_SYSTEM_LINK,  TIDE_SYSTEM_RANDOM, TIDE_SYSTEM_REALPATH};
    for (size_t i = 0; i < sizeof(REACHED) / sizeof(REACHED[0]); i++) {
        if (n_failed[REACHED[i]] == 0) {
            fail_msg("no call of %s was reached", tide_system_call_name(REACHED[i]));
        }
    }
}

/* The finished report replaces the file to which a link leads. */
static void a_report_follows_a_link(void **state) {
    (void)state;
    char link[sizeof(folder) + 64];
    char text[sizeof(folder) + 64];
    tide_error error = {""};
    put("elsewhere.html", OLDER, sizeof(OLDER) - 1);
    (void)snprintf(link, sizeof(link), "%s", path_of("report.html"));
    assert_int_equal(symlink(path_of("elsewhere.html"), link), 0);
    assert_int_equal(write_report(&error), TIDE_OK);
    assert_true(readlink(link, text, sizeof(text)) > 0);
    assert_false(is_older_report());
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path_of("elsewhere.html")), 0);
}

static const char *const INPUTS[] = {"config.json", "x.safetensors", "run.json"};

static int make_folder(void **state) {
    (void)state;
    static const char CONFIG[] = "{\"size\": \"small\", \"d_model\": 16, \"rope_theta\": 5.5}";
    static const char HEADER[] = "{\"__metadata__\": {\"seed\": \"7\"}, \"a\": {\"dtype\": \"F32\","
                                 " \"shape\": [1], \"data_offsets\": [0, 4]}}";
    char tensors[8 + sizeof(HEADER) - 1 + 4] = {(char)(sizeof(HEADER) - 1)};
    _Static_assert(sizeof(HEADER) - 1 < 128, "its length is one byte");
    memcpy(tensors + 8, HEADER, sizeof(HEADER) - 1);
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    put(INPUTS[0], CONFIG, sizeof(CONFIG) - 1);
    put(INPUTS[1], tensors, sizeof(tensors));
    put(INPUTS[2], "{}", 2);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(INPUTS) / sizeof(INPUTS[0]); i++) {
        (void)unlink(path_of(INPUTS[i]));
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_in_cjson_may_fail),
        cmocka_unit_test(any_call_of_the_system_may_fail),
        cmocka_unit_test(a_report_follows_a_link),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
