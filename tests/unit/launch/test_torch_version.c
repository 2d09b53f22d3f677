/* test_torch_version.c - which PyTorch a Python has: version.py as releases have it, interpreters
 * that answer and those that do not, and the words of each refusal. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/torch_version.h"

static char folder[128];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/tidemark-torch-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state) {
    static const char *const FILES[] = {"version.py", "python"};
    (void)state;
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, FILES[i]);
        (void)remove(path);
    }
    return rmdir(folder);
}

static void write_file(const char *name, const char *text, mode_t mode, char ret_path[256]) {
    snprintf(ret_path, 256, "%s/%s", folder, name);
    FILE *file = fopen(ret_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(ret_path, mode), 0);
}

static tide_torch read_version(const char *text) {
    char path[256];
    tide_torch torch;
    tide_error error = {""};
    write_file("version.py", text, 0600, path);
    assert_int_equal(tide_torch_read(folder, &torch, &error), TIDE_OK);
    assert_string_equal(torch.folder, folder);
    return torch;
}

static void test_a_version_is_read_as_releases_write_it(void **state) {
    (void)state;
    tide_torch torch = read_version("from typing import Optional\n\n"
                                    "__all__ = ['__version__', 'debug', 'cuda', 'hip']\n"
                                    "__version__ = '2.14.1+cu130'\ndebug = False\n"
                                    "cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n");
    assert_string_equal(torch.version, "2.14.1+cu130");
    assert_string_equal(torch.cuda, "13.0");
    assert_string_equal(torch.rocm, "");
    torch = read_version("__version__ = '2.3.0+cpu'\ndebug = False\ncuda = None\nhip = None\n");
    assert_string_equal(torch.version, "2.3.0+cpu");
    assert_string_equal(torch.cuda, "");
    torch = read_version("__version__ = '2.6.0+rocm6.1'\ncuda = None\nhip = '6.1.40091'\n");
    assert_string_equal(torch.rocm, "6.1.40091");
}

static void test_a_folder_without_a_version_is_damaged(void **state) {
    (void)state;
    char path[256];
    tide_torch torch;
    tide_error error = {""};
    assert_int_equal(tide_torch_read("/nonexistent", &torch, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "/nonexistent/version.py names no version"));
    write_file("version.py", "cuda = '12.4'\n", 0600, path);
    assert_int_equal(tide_torch_read(folder, &torch, &error), TIDE_FORMAT);
}

static void expect(const char *version, const char *cuda, const char *rocm, const char *refusal) {
    tide_torch torch = {.python = "/usr/bin/python3", .folder = "/somewhere"};
    tide_error error = {""};
    snprintf(torch.version, sizeof(torch.version), "%s", version);
    snprintf(torch.cuda, sizeof(torch.cuda), "%s", cuda);
    snprintf(torch.rocm, sizeof(torch.rocm), "%s", rocm);
    assert_int_equal(tide_torch_check(&torch, &error),
                     refusal == NULL ? TIDE_OK : TIDE_UNSUPPORTED);
    if (refusal != NULL) {
        assert_string_equal(error.message, refusal);
    }
}

static void test_what_is_served_and_what_is_refused(void **state) {
    (void)state;
    expect("2.3.1+cu121", "12.1", "", NULL);
    expect("2.14.1+cu130", "13.0", "", NULL);
    expect("2.14.0a0+git0123456", "12.8", "", NULL);
    expect("2.14.1+cpu", "", "", "torch 2.14.1+cpu has no CUDA in it: install a CUDA build");
    expect("2.6.0+rocm6.1", "", "6.1",
           "torch 2.6.0+rocm6.1 is built for AMD's ROCm 6.1: install a "
           "CUDA build");
    expect("2.2.2+cu121", "12.1", "",
           "torch 2.2.2+cu121 is not supported: the virtual card serves PyTorch 2.3 to 2.14");
    expect(
        "2.15.0.dev20261101+cu130", "13.0", "",
        "torch 2.15.0.dev20261101+cu130 is not supported: the virtual card serves PyTorch 2.3 to "
        "2.14");
    expect("1.13.1+cu117", "11.7", "",
           "torch 1.13.1+cu117 is not supported: the virtual card serves PyTorch 2.3 to 2.14");
    expect("3.0.0+cu140", "14.0", "",
           "torch 3.0.0+cu140 is not supported: the virtual card serves PyTorch 2.3 to 2.14");
    expect("2.4.0+cu118", "11.8", "",
           "torch 2.4.0+cu118 is built for CUDA 11.8: the virtual card serves CUDA 12 and 13");
    expect("2.14.0+cu140", "14.0", "",
           "torch 2.14.0+cu140 is built for CUDA 14.0: the virtual card serves CUDA 12 and 13");
}

static void test_an_interpreter_is_asked(void **state) {
    (void)state;
    char python[256], version[256], script[512];
    tide_torch torch;
    tide_error error = {""};
    write_file("version.py", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n", 0600, version);
    snprintf(script, sizeof(script),
             "#!/bin/sh\n[ \"$1\" = -c ] || exit 1\necho noise from its start\n"
             "printf '\\ntidemark:/an/env/bin/python\\ntidemark:%s\\n'\n",
             folder);
    write_file("python", script, 0700, python);
    assert_int_equal(tide_torch_find(python, &torch, &error), TIDE_OK);
    assert_string_equal(torch.python, "/an/env/bin/python");
    assert_string_equal(torch.version, "2.8.0+cu128");
}

static void test_a_python_without_torch(void **state) {
    (void)state;
    char python[256];
    tide_torch torch;
    tide_error error = {""};
    write_file("python", "#!/bin/sh\nprintf '\\ntidemark:/usr/bin/python3\\ntidemark:\\n'\n", 0700,
               python);
    assert_int_equal(tide_torch_find(python, &torch, &error), TIDE_OK);
    assert_string_equal(torch.folder, "");
    assert_int_equal(tide_torch_check(&torch, &error), TIDE_UNSUPPORTED);
    assert_string_equal(error.message, "/usr/bin/python3 has no PyTorch: install a CUDA build (pip "
                                       "install torch)");
}

static void test_what_is_no_python_is_named(void **state) {
    (void)state;
    char python[256];
    tide_torch torch;
    tide_error error = {""};
    assert_int_equal(tide_torch_find("/nonexistent/python", &torch, &error), TIDE_INVALID);
    assert_string_equal(error.message, "no Python: /nonexistent/python: No such file or directory");
    write_file("python", "#!/bin/sh\necho tidemark:half an answer\n", 0700, python);
    assert_int_equal(tide_torch_find(python, &torch, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "does not answer as Python 3 does"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_a_version_is_read_as_releases_write_it),
        TEST(test_a_folder_without_a_version_is_damaged),
        TEST(test_what_is_served_and_what_is_refused),
        TEST(test_an_interpreter_is_asked),
        TEST(test_a_python_without_torch),
        TEST(test_what_is_no_python_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
