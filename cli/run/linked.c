/* CUDA runtimes that were linked into the program or its libraries. */
#include <stdbool.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/text.h"

enum { LINE_BYTES = 1024, NAME_BYTES = 128, MOST_NAMES = 4 };

/* Folders of packages that pip knows by another name. */
static const struct {
    const char *folder, *package;
} PACKAGES[] = {{"cupy_backends", "cupy"}, {"cuda", "cuda-bindings"}};

static void add_package(tide_text *to, const char *folder, size_t n_bytes) {
    for (size_t i = 0; i < sizeof(PACKAGES) / sizeof(PACKAGES[0]); i++) {
        if (strlen(PACKAGES[i].folder) == n_bytes &&
            strncmp(PACKAGES[i].folder, folder, n_bytes) == 0) {
            tide_text_add(to, "the package %s", PACKAGES[i].package);
            return;
        }
    }
    tide_text_add(to, "the package %.*s", (int)n_bytes, folder);
}

/* "the package cupy" for a file in a package of Python, and otherwise the name of the file. */
static void name_file(const char *path, char ret[NAME_BYTES]) {
    static const char *const FOLDERS[] = {"/site-packages/", "/dist-packages/"};
    const char *slash = strrchr(path, '/');
    tide_text text = tide_text_in(ret, NAME_BYTES);
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        const char *at = strstr(path, FOLDERS[i]);
        if (at != NULL) {
            const char *name = at + strlen(FOLDERS[i]);
            add_package(&text, name, strcspn(name, "/."));
            return;
        }
    }
    tide_text_add(&text, "%s", slash != NULL ? slash + 1 : path);
}

/* Whether an earlier row has the same name and version: a package may have several files. */
static bool is_named(const tide_left_list *list, size_t row, const char *name) {
    char other[NAME_BYTES];
    for (size_t i = 0; i < row; i++) {
        name_file(list->linked[i].path, other);
        if (strcmp(other, name) == 0 &&
            strcmp(list->linked[i].version, list->linked[row].version) == 0) {
            return true;
        }
    }
    return false;
}

void tide_run_tell_linked(const tide_run_answer *of) {
    char line[LINE_BYTES];
    char name[NAME_BYTES];
    const tide_left_list *list = of->list;
    tide_text text = tide_text_in(line, sizeof(line));
    size_t n = 0;
    for (size_t i = 0; i < list->n_linked; i++) {
        name_file(list->linked[i].path, name);
        if (!is_named(list, i, name) && n++ < MOST_NAMES) {
            tide_text_add_item(&text, ", ", "%s (CUDA %s)", name, list->linked[i].version);
        }
    }
    if (n > MOST_NAMES) {
        tide_text_add(&text, " and %zu more", n - MOST_NAMES);
    }
    if (n > 0) {
        tide_cli_note(
            TIDE_COMMAND_RUN,
            "the virtual card answered instead of the CUDA runtime that is linked into %s", line);
    }
}
