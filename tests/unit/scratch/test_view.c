/* test_view.c - the view answers as the kernel would, and the real files stay unchanged. The tests
 * share the view, so each uses its own names.
 */
#define _GNU_SOURCE /* O_TMPFILE, mkdtemp */
#include "ground.h"

#include "programs/scratch/change.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/opening.h"

static int open_view(const char *name, int flags) {
    return tide_scratch_open(AT_FDCWD, user(name), flags, 0644);
}

static void write_view(const char *name, int flags, const char *content) {
    int fd = open_view(name, flags);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    (void)close(fd);
}

/* The kind of file seen at a path, or the negative errno. */
static int kind_of(const char *name) {
    tide_scratch_place place;
    struct stat status;
    int result = tide_scratch_look(AT_FDCWD, user(name), TIDE_SCRATCH_NOFOLLOW, &place);
    result = result == 0 ? tide_scratch_status(&place, &status) : result;
    return result == 0 ? (int)(status.st_mode & S_IFMT) : result;
}

/* Names of a folder, sorted because those of the copies come first. */
static void assert_lists(const char *name, const char *expected) {
    tide_scratch_place place;
    tide_scratch_listing listing;
    char text[512] = "";
    assert_int_equal(tide_scratch_look(AT_FDCWD, user(name), TIDE_SCRATCH_FOLLOW, &place), 0);
    assert_int_equal(tide_scratch_list(&place, &listing), 0);
    assert_true(listing.n_entries >= 2);
    assert_string_equal(listing.entries[0].name, ".");
    for (size_t i = 2; i < listing.n_entries; i++) {
        (void)strcat(strcat(text, listing.entries[i].name), " ");
    }
    tide_scratch_listing_release(&listing);
    assert_string_equal(text, expected);
}

static void nothing_is_written_by_looking(void **state) {
    (void)state;
    assert_false(tide_scratch_has_written());
    assert_string_equal(content_of(open_view("file", O_RDONLY)), "real");
    assert_int_equal(open_view("absent", O_RDWR), -ENOENT);
    assert_int_equal(open_view("file", O_RDWR | O_CREAT | O_EXCL), -EEXIST);
    assert_int_equal(open_view("folder", O_RDWR), -EISDIR);
    assert_int_equal(open_view("file/x", O_RDWR | O_CREAT), -ENOTDIR);
    assert_int_equal(open_view("file/", O_RDWR), -ENOTDIR);
    assert_int_equal(open_view("no/such/folder", O_RDWR | O_CREAT), -ENOENT);
    assert_int_equal(open_view("loop", O_RDWR | O_CREAT), -ELOOP);
    assert_int_equal(tide_scratch_mkdir(AT_FDCWD, user("folder"), 0700), -EEXIST);
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder")), -EISDIR);
    assert_int_equal(tide_scratch_rmdir(AT_FDCWD, user("folder")), -ENOTEMPTY);
    assert_int_equal(tide_scratch_rmdir(AT_FDCWD, user("file")), -ENOTDIR);
    assert_int_equal(tide_scratch_open(AT_FDCWD, "", O_WRONLY, 0), -ENOENT);
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, NULL), -EFAULT);
    assert_false(tide_scratch_has_written());
}

static bool stays_real(const char *path) {
    return tide_scratch_is_real(path, strlen(path));
}

static void disks_in_folders_of_the_system_are_kept(void **state) {
    (void)state;
    (void)tide_scratch_state_get();
    assert_true(stays_real("/run") && stays_real("/run/user/1000/bus") && stays_real("/run/media"));
    assert_true(stays_real("/dev/shm/x") && stays_real("/proc/self") &&
                stays_real("/run/mediax/a"));
    assert_false(stays_real("/run/media/me/disk/model.pt"));
    assert_false(stays_real("/run/host/home/me/model.pt"));
    assert_false(stays_real("/running") || stays_real("/home/run/a"));
}

static void a_file_is_copied_before_it_changes(void **state) {
    (void)state;
    struct stat before;
    struct stat after;
    assert_int_equal(chmod(user("file"), 0640), 0);
    assert_int_equal(stat(user("file"), &before), 0);
    write_view("file", O_WRONLY | O_APPEND, " and more");
    assert_string_equal(content_of(open_view("file", O_RDONLY)), "real and more");
    int fd = open_view("file", O_RDONLY);
    assert_int_equal(fstat(fd, &after), 0);
    (void)close(fd);
    assert_int_equal(after.st_mode, before.st_mode);
    write_view("file", O_WRONLY | O_TRUNC, "new");
    assert_string_equal(content_of(open_view("file", O_RDONLY)), "new");
    assert_real(user("file"), "real");
    assert_int_equal(stat(user("file"), &after), 0);
    assert_int_equal(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
}

static void a_name_goes_and_comes_back(void **state) {
    (void)state;
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder/one")), 0);
    assert_int_equal(kind_of("folder/one"), -ENOENT);
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder/one")), -ENOENT);
    assert_int_equal(open_view("folder/one", O_RDONLY), -ENOENT);
    assert_lists("folder", "deep ");
    write_view("folder/one", O_WRONLY | O_CREAT | O_EXCL, "again");
    assert_int_equal(open_view("folder/one", O_WRONLY | O_CREAT | O_EXCL), -EEXIST);
    assert_string_equal(content_of(open_view("folder/one", O_RDONLY)), "again");
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder/one")), 0);
    assert_int_equal(kind_of("folder/one"), -ENOENT);
    assert_int_equal(tide_scratch_mkdir(AT_FDCWD, user("folder/one"), 0755), 0);
    assert_int_equal(kind_of("folder/one"), S_IFDIR);
    assert_lists("folder/one", "");
    assert_int_equal(tide_scratch_rmdir(AT_FDCWD, user("folder/one")), 0);
    assert_int_equal(kind_of("folder/one"), -ENOENT);
    assert_real(user("folder/one"), "one");
}

static void a_link_leads_where_the_view_says(void **state) {
    (void)state;
    write_view("link/made", O_WRONLY | O_CREAT, "by link");
    assert_string_equal(content_of(open_view("folder/deep/made", O_RDONLY)), "by link");
    assert_string_equal(content_of(open_view("link/../deep/./made", O_RDONLY)), "by link");
    assert_lists("link", "made two ");
    write_view("dangling", O_WRONLY | O_CREAT, "found");
    assert_string_equal(content_of(open_view("nowhere", O_RDONLY)), "found");
    assert_int_equal(open_view("dangling", O_RDONLY | O_NOFOLLOW), -ELOOP);
    assert_int_equal(kind_of("link/made"), S_IFREG);
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("link")), 0);
    assert_int_equal(kind_of("link"), -ENOENT);
    assert_int_equal(kind_of("link/made"), -ENOENT); /* though its folder was known */
    assert_int_equal(kind_of("folder/deep/made"), S_IFREG);
    assert_int_equal(tide_scratch_symlink("folder", AT_FDCWD, user("link")), 0);
    assert_string_equal(content_of(open_view("link/deep/two", O_RDONLY)), "two");
    assert_int_equal(access(user("folder/deep/made"), F_OK), -1);
    char target[64] = "";
    assert_int_equal(readlink(user("link"), target, sizeof(target)), strlen("folder/deep"));
}

static void a_folder_moves_whole(void **state) {
    (void)state;
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("folder"), AT_FDCWD, user("folder/in"), 0),
                     -EINVAL);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("folder"), AT_FDCWD, user("moved"), 0), 0);
    assert_int_equal(kind_of("folder"), -ENOENT);
    assert_string_equal(content_of(open_view("moved/deep/two", O_RDONLY)), "two");
    assert_int_equal(kind_of("moved/one"), -ENOENT); /* it was gone before */
    assert_int_equal(tide_scratch_mkdir(AT_FDCWD, user("folder"), 0755), 0);
    assert_lists("folder", "");
    write_view("folder/own", O_WRONLY | O_CREAT, "own");
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("moved"), AT_FDCWD, user("folder"), 0),
                     -ENOTEMPTY);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("moved/deep"), AT_FDCWD, user("file"), 0),
                     -ENOTDIR);
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder/own")), 0);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("moved"), AT_FDCWD, user("folder"), 0), 0);
    assert_string_equal(content_of(open_view("folder/deep/two", O_RDONLY)), "two");
    assert_int_equal(kind_of("moved"), -ENOENT);
    assert_real(user("folder/deep/two"), "two");
    assert_real(user("folder/one"), "one");
}

static void a_file_moves_over_another(void **state) {
    (void)state;
    write_view("a", O_WRONLY | O_CREAT, "a");
    assert_int_equal(
        tide_scratch_rename(AT_FDCWD, user("a"), AT_FDCWD, user("file"), 1 /* NOREPLACE */),
        -EEXIST);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("a"), AT_FDCWD, user("file"), 0), 0);
    assert_string_equal(content_of(open_view("file", O_RDONLY)), "a");
    assert_int_equal(kind_of("a"), -ENOENT);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("file"), AT_FDCWD, user("b"), 0), 0);
    assert_int_equal(kind_of("file"), -ENOENT);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("b"), AT_FDCWD, user("b"), 0), 0);
    assert_int_equal(tide_scratch_link(AT_FDCWD, user("b"), AT_FDCWD, user("file"), 0), 0);
    write_view("file", O_WRONLY | O_APPEND, "+");
    assert_string_equal(content_of(open_view("b", O_RDONLY)), "a+");
    assert_int_equal(tide_scratch_link(AT_FDCWD, user("b"), AT_FDCWD, user("file"), 0), -EEXIST);
    assert_real(user("file"), "real");
}

static void a_nameless_file_gets_a_name(void **state) {
    (void)state;
    char link[64];
    int fd = open_view("folder", O_TMPFILE | O_RDWR);
    if (fd == -EOPNOTSUPP) {
        skip();
    }
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    assert_int_equal(
        tide_scratch_link(AT_FDCWD, link, AT_FDCWD, user("folder/named"), AT_SYMLINK_FOLLOW), 0);
    (void)close(fd);
    assert_string_equal(content_of(open_view("folder/named", O_RDONLY)), "x");
    assert_int_equal(access(user("folder/named"), F_OK), -1);
}

static void rights_are_those_of_reality(void **state) {
    (void)state;
    tide_scratch_place place;
    put_real(user("guarded"), "guarded");
    assert_int_equal(chmod(user("guarded"), 0400), 0);
    int fd = open_view("guarded", O_WRONLY);
    assert_true(geteuid() == 0 ? fd >= 0 : fd == -EACCES);
    if (fd >= 0) {
        (void)close(fd);
    }
    assert_int_equal(tide_scratch_own(AT_FDCWD, user("guarded"), TIDE_SCRATCH_FOLLOW,
                                      TIDE_SCRATCH_BY_OWNER, &place),
                     0);
    assert_int_equal(chmod(place.copy, 0777), 0);
    struct stat status;
    assert_int_equal(stat(user("guarded"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0400);
}

static void what_stays_real_is_written(void **state) {
    (void)state;
    assert_int_equal(mkdir(user("folder/really"), 0755), 0);
    write_view("folder/really/file", O_WRONLY | O_CREAT, "truth");
    assert_real(user("folder/really/file"), "truth");
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user("folder/really/file")), 0);
    assert_int_equal(access(user("folder/really/file"), F_OK), -1);
    assert_int_equal(tide_scratch_rename(AT_FDCWD, user("b"), AT_FDCWD, user("folder/really/b"), 0),
                     -EXDEV);
    int fd = tide_scratch_open(AT_FDCWD, "/dev/null", O_WRONLY | O_TRUNC | O_CREAT, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void names_may_be_long(void **state) {
    (void)state;
    char name[300];
    char deep[GROUND_PATH_BYTES + 64];
    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    write_view(name, O_WRONLY | O_CREAT, "long");
    assert_int_equal(tide_scratch_unlink(AT_FDCWD, user(name)), 0);
    name[255] = 'n';
    name[256] = '\0';
    assert_int_equal(open_view(name, O_WRONLY | O_CREAT), -ENAMETOOLONG);
    memset(deep, '/', sizeof(deep));
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(tide_scratch_open(AT_FDCWD, deep, O_WRONLY, 0), -ENAMETOOLONG);
    for (size_t i = 0; i + 2 < GROUND_PATH_BYTES; i += 2) {
        memcpy(deep + i, "/x", 3);
    }
    assert_true(tide_scratch_open(AT_FDCWD, deep, O_WRONLY | O_CREAT, 0600) < 0);
}

int main(int argc, char **argv) {
    begin_view(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_by_looking),
        cmocka_unit_test(disks_in_folders_of_the_system_are_kept),
        cmocka_unit_test(a_file_is_copied_before_it_changes),
        cmocka_unit_test(a_name_goes_and_comes_back),
        cmocka_unit_test(a_link_leads_where_the_view_says),
        cmocka_unit_test(a_folder_moves_whole),
        cmocka_unit_test(a_file_moves_over_another),
        cmocka_unit_test(a_nameless_file_gets_a_name),
        cmocka_unit_test(rights_are_those_of_reality),
        cmocka_unit_test(what_stays_real_is_written),
        cmocka_unit_test(names_may_be_long),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    remove_ground();
    return result;
}
