/* test_devices.c - the files of a card hide the real ones in the same folder, and their paths are
 * recognized in any form. */
#define _GNU_SOURCE /* mkdtemp, AT_FDCWD */
#include <dirent.h>

#include "ground.h"

#include "programs/scratch/devices.h"
#include "programs/scratch/listing.h"

static void assert_name(const char *path, const char *expected) {
    char name[TIDE_SCRATCH_PATH_BYTES] = "";
    assert_true(tide_scratch_device_name(AT_FDCWD, path, name));
    assert_string_equal(name, expected);
}

static void paths_are_recognized_in_any_form(void **state) {
    (void)state;
    assert_name("/dev/nvidia0", "/dev/nvidia0");
    assert_name("//dev/./nvidia0/", "/dev/nvidia0");
    assert_name("/proc/../dev/nvidiactl", "/dev/nvidiactl");
    assert_name("/proc/driver/nvidia/gpus/../version", "/proc/driver/nvidia/version");
    assert_name("/sys/module/nvidia_uvm", "/sys/module/nvidia_uvm");
}

static void other_paths_stay(void **state) {
    (void)state;
    static const char *const OTHERS[] = {"/dev/null",
                                         "/dev/nvidia0/../null",
                                         "/dev/shm/nvidia0",
                                         "/proc/driver/rtc",
                                         "/proc/nvidia",
                                         "/sys/nvidia",
                                         "/home/nvidia0",
                                         "nvidia0",
                                         "/opt/nvidia/dev/nvidia0",
                                         ""};
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        assert_false(tide_scratch_is_device(AT_FDCWD, OTHERS[i]));
    }
    assert_false(tide_scratch_is_device(AT_FDCWD, NULL));
}

static void a_path_relative_to_the_folder_is_recognized(void **state) {
    (void)state;
    int folder = open("/dev", O_RDONLY | O_DIRECTORY);
    assert_true(folder >= 0);
    assert_true(tide_scratch_is_device(folder, "nvidia0"));
    assert_false(tide_scratch_is_device(folder, "null"));
    (void)close(folder);
}

static void real_files_of_these_names_are_hidden(void **state) {
    (void)state;
    tide_scratch_listing listing;
    char real[GROUND_PATH_BYTES];
    char card[GROUND_PATH_BYTES];
    char text[256] = "";
    (void)snprintf(real, sizeof(real), "%s/user/dev", ground);
    (void)snprintf(card, sizeof(card), "%s/run/card/dev", ground);
    assert_int_equal(tide_scratch_list_devices(real, card, &listing), 0);
    for (size_t i = 0; i < listing.n_entries; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "%s ", listing.entries[i].name);
    }
    assert_string_equal(text, ". .. zero nvidia0 ");
    assert_int_equal(listing.entries[3].type, DT_CHR);
    tide_scratch_listing_release(&listing);
}

static void make_card(void) {
    static const char *const FOLDERS[] = {"dev", "../run/card", "../run/card/dev"};
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        assert_int_equal(mkdir(user(FOLDERS[i]), 0700), 0);
    }
    put_real(user("dev/nvidia7"), "");
    put_real(user("dev/zero"), "");
    put_real(user("../run/card/dev/nvidia0"), "");
}

int main(int argc, char **argv) {
    if (argc == 1) { /* the view looks for the card when a process starts */
        make_ground();
        make_card();
        (void)setenv("TIDE_TEST_GROUND", ground, 1);
        (void)execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    begin_view(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_recognized_in_any_form),
        cmocka_unit_test(other_paths_stay),
        cmocka_unit_test(a_path_relative_to_the_folder_is_recognized),
        cmocka_unit_test(real_files_of_these_names_are_hidden),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_ground();
    return n_failed;
}
