/* links.c - links to the libraries, the package and the run's folder, if their own paths contain a
 * character at which the dynamic linker or Python splits its lists.
 *
 * The links are in a separate folder that processes of other users can search: a program that drops
 * its rights still needs the libraries. */
#define _DEFAULT_SOURCE /* symlink */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/launch/launch_internal.h"

/* LD_PRELOAD is split at spaces and colons, LD_LIBRARY_PATH at colons and semicolons, PYTHONPATH at
 * colons; the dynamic linker replaces words that begin with a dollar sign. */
static bool is_listable(const char *path) {
    return strpbrk(path, " :;$") == NULL;
}

static bool needs_links(const tide_launch *launch, bool has_card) {
    return !is_listable(launch->objects) || !is_listable(launch->python) ||
           (has_card && !is_listable(launch->folder));
}

tide_status tide_launch_choose_links(tide_launch *launch, bool has_card, tide_error *error) {
    static const char *const PARENTS[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};
    uint64_t number = 0;
    launch->links[0] = '\0';
    if (!needs_links(launch, has_card)) {
        return TIDE_OK;
    }
    const char *parent = NULL;
    for (size_t i = 0; parent == NULL && i < sizeof(PARENTS) / sizeof(PARENTS[0]); i++) {
        parent = access(PARENTS[i], W_OK | X_OK) == 0 ? PARENTS[i] : NULL;
    }
    if (parent == NULL || getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the dynamic linker cannot load libraries from %s, whose path contains a "
                         "space, a colon, a semicolon or a dollar sign, and no folder for links to "
                         "it can be made in /tmp: install tidemark, or name a TMPDIR, without such "
                         "characters",
                         is_listable(launch->objects) ? launch->folder : launch->objects);
    }
    snprintf(launch->links, sizeof(launch->links), "%s/tidemark-links-%016" PRIx64, parent, number);
    return TIDE_OK;
}

/* Makes a link, and replaces the path by the link's. */
static bool take_link(const tide_launch *launch, const char *name,
                      char path[TIDE_LAUNCH_PATH_BYTES]) {
    char link[TIDE_LAUNCH_PATH_BYTES + 16];
    snprintf(link, sizeof(link), "%s/%s", launch->links, name);
    bool ok = strlen(link) < TIDE_LAUNCH_PATH_BYTES && symlink(path, link) == 0;
    if (ok) {
        memcpy(path, link, strlen(link) + 1);
    }
    return ok;
}

tide_status tide_launch_make_links(tide_launch *launch, tide_error *error) {
    int n = snprintf(launch->library, sizeof(launch->library), "%s/lib", launch->folder);
    bool ok = n > 0 && n < (int)sizeof(launch->library);
    if (ok && launch->links[0] == '\0') {
        return TIDE_OK;
    }
    /* mkdir drops the bits of the umask. */
    ok = ok && mkdir(launch->links, S_IRWXU) == 0 &&
         chmod(launch->links, S_IRWXU | S_IXGRP | S_IXOTH) == 0;
    if (ok && !is_listable(launch->objects)) {
        ok = take_link(launch, "objects", launch->objects);
    }
    if (ok && !is_listable(launch->python)) {
        ok = take_link(launch, "python", launch->python);
    }
    if (ok && !is_listable(launch->library)) {
        ok = take_link(launch, "lib", launch->library);
    }
    return ok ? TIDE_OK
              : tide_fail(error, TIDE_IO, "%s: links to tidemark's libraries cannot be made: %s",
                          launch->links, strerror(errno));
}
