/* ground.h - a user's folder and a view of it, for the tests of the view. A process has one view,
 * so a test program has one ground.
 */
#ifndef TIDE_TESTS_SCRATCH_GROUND_H
#define TIDE_TESTS_SCRATCH_GROUND_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { GROUND_PATH_BYTES = 4096 };

static char ground[512]; /* /var/tmp/..., with user/ and run/ */

/* A path in the user's folder; valid until the fourth call after this one. */
static inline const char *user(const char *name) {
    static _Thread_local char paths[4][GROUND_PATH_BYTES];
    static _Thread_local unsigned n;
    char *path = paths[n++ % 4];
    (void)snprintf(path, GROUND_PATH_BYTES, "%s/user/%s", ground, name);
    return path;
}

/* A real file. */
static inline void put_real(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Reads the contents of a descriptor, then closes it. */
static inline const char *content_of(int fd) {
    static char text[256];
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    (void)close(fd);
    return text;
}

static inline void assert_real(const char *path, const char *content) {
    assert_string_equal(content_of(open(path, O_RDONLY)), content);
}

/* Makes the folders, and sets the variables that point to the view. */
static inline void make_ground(void) {
    char made[] = "/var/tmp/tide_scratch_XXXXXX";
    char path[GROUND_PATH_BYTES];
    if (mkdtemp(made) == NULL || realpath(made, path) == NULL) {
        abort();
    }
    (void)snprintf(ground, sizeof(ground), "%.400s", path);
    (void)snprintf(path, sizeof(path), "%s/run", ground);
    (void)setenv("TIDEMARK_RUN_FOLDER", path, 1);
    (void)mkdir(path, 0700);
    (void)mkdir(user(""), 0700);
    (void)mkdir(user("folder"), 0755);
    (void)mkdir(user("folder/deep"), 0755);
    put_real(user("file"), "real");
    put_real(user("folder/one"), "one");
    put_real(user("folder/deep/two"), "two");
    (void)symlink("folder/deep", user("link"));
    (void)symlink("nowhere", user("dangling"));
    (void)symlink("loop", user("loop"));
    (void)snprintf(path, sizeof(path), "%s/run/writes", ground);
    (void)setenv("TIDEMARK_SCRATCH", path, 1);
    (void)snprintf(path, sizeof(path), "%s/run/lib:/usr/local/lib", ground);
    (void)setenv("LD_LIBRARY_PATH", path, 1);
    /* These do not exist, and the loader complains about that. */
    (void)setenv("LD_PRELOAD", "/x/libtidemark_a.so:/x/libtidemark_b.so", 1);
    (void)setenv("TIDEMARK_SCRATCH_REAL", user("folder/really"), 1);
}

/* The view begins when a process starts, so the program makes the ground and starts itself again.
 */
static inline void begin_view(int argc, char **argv) {
    const char *made = getenv("TIDE_TEST_GROUND");
    if (argc == 1) {
        make_ground();
        (void)setenv("TIDE_TEST_GROUND", ground, 1);
        (void)execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    if (argc == 1 || made == NULL) {
        abort();
    }
    (void)snprintf(ground, sizeof(ground), "%.400s", made);
}

static inline void remove_ground(void) {
    char command[GROUND_PATH_BYTES];
    (void)unsetenv("LD_PRELOAD");
    (void)snprintf(command, sizeof(command), "chmod -R u+rwx '%s'; rm -rf '%s'", ground, ground);
    if (system(command) != 0) {
        abort();
    }
}

#endif
