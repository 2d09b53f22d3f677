/* test_folder.h - a run's folder for a test, and its end.
 */
#ifndef TIDE_TESTS_TEST_FOLDER_H
#define TIDE_TESTS_TEST_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *of, int kind, struct FTW *where) {
    (void)of;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int remove_folder(const char *folder) {
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
