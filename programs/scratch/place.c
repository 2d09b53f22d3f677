#define _GNU_SOURCE /* AT_FDCWD, O_PATH */
#include "programs/scratch/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/marks.h"
#include "programs/scratch/moved.h"
#include "programs/scratch/parents.h"
#include "programs/scratch/real_links.h"

enum { MAX_LINKS = 40, MAX_DEPTH = TIDE_SCRATCH_PATH_BYTES / 2, LINK_BYTES = 128 };

enum { HAS_COPY = 1, SHOWS_BELOW = 2 }; /* of a folder on the way */

typedef struct walk {
    tide_scratch_place *place;
    size_t n_files;          /* length of FOLDER/files in place->copy */
    size_t n;                /* length of place->copy so far */
    size_t depth;            /* components in place->path */
    int n_links;             /* followed so far */
    const char *rest;        /* the rest of the text, in `text` */
    const char *folder;      /* text of the folder to cache; NULL if none */
    size_t n_folder;         /* its length */
    uint32_t generation;     /* when the walk began */
    char itself[LINK_BYTES]; /* the /proc link of a process that the path ended in; "" if none */
    char text[TIDE_SCRATCH_PATH_BYTES];   /* the remaining path */
    char target[TIDE_SCRATCH_PATH_BYTES]; /* of the last link */
    unsigned char flags[MAX_DEPTH];       /* of the folder at each depth; 0 is the root */
} walk;

bool tide_scratch_strip(char *path) {
    const tide_scratch_state *state = tide_scratch_state_get();
    size_t n = state->n_files;
    if (n == 0 || strncmp(path, state->files, n) != 0 || (path[n] != '/' && path[n] != '\0')) {
        return false;
    }
    if (path[n] == '\0') {
        memcpy(path, "/", 2);
    } else {
        memmove(path, path + n, strlen(path + n) + 1);
    }
    return true;
}

/* The real path of a descriptor. */
static int real_path_of(int fd, char path[TIDE_SCRATCH_PATH_BYTES]) {
    if (fd == AT_FDCWD) {
        long n = tide_sys_getcwd(path, TIDE_SCRATCH_PATH_BYTES);
        return n < 0 ? (int)n : path[0] == '/' ? 0 : -ENXIO;
    }
    char link[64] = "/proc/self/fd/";
    size_t n = strlen(link);
    char digits[16];
    size_t n_digits = 0;
    if (fd < 0) {
        return -EBADF;
    }
    for (int left = fd; n_digits == 0 || left != 0; left /= 10) {
        digits[n_digits++] = (char)('0' + left % 10);
    }
    while (n_digits > 0) {
        link[n++] = digits[--n_digits];
    }
    link[n] = '\0';
    long n_path = tide_sys_readlink(AT_FDCWD, link, path, TIDE_SCRATCH_PATH_BYTES - 1);
    if (n_path <= 0) {
        return -EBADF;
    }
    path[n_path] = '\0';
    return path[0] == '/' ? 0 : -ENXIO;
}

int tide_scratch_path_of(int fd, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    int result = real_path_of(fd, ret_path);
    if (result == 0) {
        (void)tide_scratch_strip(ret_path);
    }
    return result;
}

/* Puts `first`, a slash and the rest of the walk into the text to walk. */
static int put_before(walk *w, const char *first, size_t n_first) {
    size_t n_rest = strlen(w->rest);
    if (n_first + 1 + n_rest >= sizeof(w->text)) {
        return -ENAMETOOLONG;
    }
    memmove(w->text + n_first + 1, w->rest, n_rest + 1);
    memcpy(w->text, first, n_first);
    w->text[n_first] = n_rest > 0 ? '/' : '\0';
    w->rest = w->text;
    return 0;
}

static void go_to_root(walk *w) {
    w->n = w->n_files;
    w->place->copy[w->n] = '\0';
    w->place->is_real = false;
    w->depth = 0;
    w->flags[0] = HAS_COPY | SHOWS_BELOW;
}

static void go_up(walk *w) {
    if (w->depth > 0) {
        while (w->place->copy[--w->n] != '/') {
        }
        w->place->copy[w->n] = '\0';
        w->depth--;
    }
    w->place->is_real = tide_scratch_is_real(w->place->path, w->n - w->n_files);
}

/* Puts the text of a link in front of the rest. */
static int follow_link(walk *w, size_t n) {
    if (++w->n_links > MAX_LINKS) {
        return -ELOOP;
    }
    w->place->has_copy = w->place->is_folder = w->place->is_gone = false;
    go_up(w);
    if (w->target[0] == '/') {
        go_to_root(w);
    }
    return put_before(w, w->target, n);
}

/* Looks at the copy of the last component. Sets has_copy, is_folder, is_gone and shows_below.
 * Returns the length of a link's text, 0 for anything else, or -errno. */
static long look_at_copy(walk *w) {
    tide_scratch_place *place = w->place;
    long n = tide_sys_readlink(AT_FDCWD, place->copy, w->target, sizeof(w->target));
    if (n == -ENOENT || n == -ENOTDIR) {
        return 0;
    }
    if (n >= 0) {
        place->shows_below = false;
        place->is_gone = tide_scratch_is_gone(w->target, (size_t)n);
        place->has_copy = !place->is_gone;
        return place->is_gone ? 0 : n;
    }
    if (n != -EINVAL) {
        return n;
    }
    place->has_copy = true;
    if (w->n + sizeof(TIDE_SCRATCH_COVERS) + 1 > TIDE_SCRATCH_PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    place->copy[w->n] = '/';
    memcpy(place->copy + w->n + 1, TIDE_SCRATCH_COVERS, sizeof(TIDE_SCRATCH_COVERS));
    int covers = tide_sys_access(AT_FDCWD, place->copy, F_OK, 0);
    place->copy[w->n] = '\0';
    /* If a folder may not be entered, the program itself set its permissions. */
    place->is_folder = covers == 0 || covers == -ENOENT || covers == -EACCES;
    if (!place->is_folder || covers != -ENOENT) {
        place->shows_below = false;
    }
    return 0;
}

/* Appends the rest of the path unchanged. */
static int take_rest(walk *w) {
    size_t n = strlen(w->rest);
    if (w->n + 1 + n >= TIDE_SCRATCH_PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    if (n > 0) {
        w->place->copy[w->n] = '/';
        memcpy(w->place->copy + w->n + 1, w->rest, n + 1);
        w->rest += n;
    }
    return 0;
}

/* The last component is in a folder that stays real, and may lead out of it. 1: a link was
 * followed. */
static int step_in_real(walk *w, bool is_last, bool follow) {
    tide_scratch_place *place = w->place;
    size_t n = 0;
    place->has_copy = place->is_folder = place->is_gone = place->has_parent = false;
    place->parent_below = place->shows_below = true;
    bool has_copies = tide_scratch_leads_to_disks(place->path, w->n - w->n_files) &&
                      tide_sys_access(AT_FDCWD, place->copy, F_OK, 0) == 0;
    w->flags[w->depth] = (unsigned char)(SHOWS_BELOW | (has_copies ? HAS_COPY : 0));
    w->folder = NULL; /* other processes change such links freely */
    if ((is_last && !follow) || tide_scratch_is_no_link(place->path, w->n - w->n_files)) {
        return 0;
    }
    int link = tide_scratch_real_link(place->path, w->target, &n);
    if (link < 0) {
        return is_last ? 0 : link;
    }
    if (link == TIDE_SCRATCH_FOREIGN || (link == TIDE_SCRATCH_ITSELF && !is_last)) {
        place->is_foreign = true;
        return take_rest(w);
    }
    if (link == TIDE_SCRATCH_NO_LINK || link == TIDE_SCRATCH_ITSELF) {
        return 0;
    }
    if (link == TIDE_SCRATCH_BY_NAME) {
        place->is_changed = true;
        if (is_last && w->n - w->n_files < sizeof(w->itself)) {
            memcpy(w->itself, place->path, w->n - w->n_files + 1);
        }
    }
    int result = follow_link(w, n);
    return result < 0 ? result : 1;
}

/* Walks one more component, of n bytes at `name`. 1: a link was followed. */
static int step(walk *w, const char *name, size_t n, bool is_last, bool follow) {
    tide_scratch_place *place = w->place;
    unsigned char parent = w->flags[w->depth];
    if (w->n + 1 + n + 1 > TIDE_SCRATCH_PATH_BYTES || w->depth + 1 >= MAX_DEPTH) {
        return -ENAMETOOLONG;
    }
    place->copy[w->n] = '/';
    memcpy(place->copy + w->n + 1, name, n);
    w->n += 1 + n;
    place->copy[w->n] = '\0';
    w->depth++;
    place->is_real = tide_scratch_is_real(place->path, w->n - w->n_files);
    if (place->is_real) {
        return step_in_real(w, is_last, follow);
    }
    place->has_copy = place->is_folder = place->is_gone = false;
    place->has_parent = (parent & HAS_COPY) != 0;
    place->parent_below = place->shows_below = (parent & SHOWS_BELOW) != 0;
    long n_target = place->has_parent ? look_at_copy(w) : 0;
    bool from_copy = n_target > 0;
    bool has_below = false;
    if (n_target == 0 && !place->has_copy && place->shows_below && (!is_last || follow)) {
        n_target = tide_sys_readlink(AT_FDCWD, place->path, w->target, sizeof(w->target));
        has_below = n_target == -EINVAL;
        n_target = has_below || (is_last && n_target < 0) ? 0 : n_target;
    }
    if (n_target < 0) {
        return (int)n_target;
    }
    if (n_target > 0 && (!is_last || follow)) {
        place->is_changed = place->is_changed || from_copy;
        int result = follow_link(w, (size_t)n_target);
        return result < 0 ? result : 1;
    }
    if (!is_last && !has_below && !place->is_folder) {
        return place->has_copy ? -ENOTDIR : -ENOENT;
    }
    w->flags[w->depth] =
        (unsigned char)((place->is_folder ? HAS_COPY : 0) | (place->shows_below ? SHOWS_BELOW : 0));
    return 0;
}

/* Caches the folder of the last component, which was just reached. The rest may be the text of a
 * link. */
static void remember_folder(walk *w) {
    tide_scratch_parent parent = {.n_path = w->n - w->n_files,
                                  .flags = w->flags[w->depth],
                                  .is_changed = w->place->is_changed};
    if (parent.n_path < sizeof(parent.path)) {
        memcpy(parent.path, w->place->path, parent.n_path);
        tide_scratch_remember(w->folder, w->n_folder, w->generation, &parent);
    }
    w->folder = NULL;
}

/* Begins at the folder of the last component, if it is cached. The walk cannot go up from there. */
static bool begin_late(walk *w) {
    tide_scratch_parent parent;
    if (w->folder == NULL || !tide_scratch_recall(w->folder, w->n_folder, w->generation, &parent)) {
        return false;
    }
    memcpy(w->place->copy + w->n_files, parent.path, parent.n_path);
    w->n = w->n_files + parent.n_path;
    w->place->copy[w->n] = '\0';
    w->place->is_changed = parent.is_changed;
    w->depth = 1;
    w->flags[1] = parent.flags;
    w->rest = w->text + w->n_folder;
    w->folder = NULL;
    return true;
}

/* Copies the text of the folder of the last component, unless the last component is not a name. */
static void note_folder(walk *w, char folder[TIDE_SCRATCH_PARENT_BYTES]) {
    const char *slash = strrchr(w->text, '/');
    w->folder = NULL;
    w->generation = tide_scratch_generation();
    if (slash == NULL || slash[1] == '\0' || strcmp(slash, "/.") == 0 ||
        strcmp(slash, "/..") == 0 || (size_t)(slash - w->text) > TIDE_SCRATCH_PARENT_BYTES) {
        return;
    }
    w->n_folder = (size_t)(slash - w->text);
    memcpy(folder, w->text, w->n_folder);
    w->folder = folder;
}

static int go(walk *w, bool follow) {
    tide_scratch_place *place = w->place;
    while (true) {
        while (*w->rest == '/') {
            w->rest++;
        }
        size_t n = strcspn(w->rest, "/");
        if (n == 0) {
            break;
        }
        const char *name = w->rest;
        w->rest += n;
        size_t n_slashes = strspn(w->rest, "/");
        bool is_last = w->rest[n_slashes] == '\0';
        place->ends_in_slash = is_last && n_slashes > 0;
        if (n == 1 && name[0] == '.') {
            continue;
        }
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            /* The folder that ".." leaves may exist only in the view. */
            place->is_changed = place->is_changed || (w->flags[w->depth] & SHOWS_BELOW) == 0;
            go_up(w);
            continue;
        }
        if (is_last && w->folder != NULL) {
            remember_folder(w);
        }
        int result = step(w, name, n, is_last, follow || n_slashes > 0);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

/* After "." or "..", or at the root, the flags of the last step belong to another component. */
static void settle(walk *w) {
    tide_scratch_place *place = w->place;
    unsigned char flags = w->flags[w->depth];
    if (place->is_gone || (place->has_copy && !place->is_folder)) {
        return;
    }
    place->has_copy = place->is_folder = (flags & HAS_COPY) != 0;
    place->shows_below = (flags & SHOWS_BELOW) != 0;
    unsigned char parent = w->flags[w->depth > 0 ? w->depth - 1 : 0];
    place->has_parent = (parent & HAS_COPY) != 0;
    place->parent_below = (parent & SHOWS_BELOW) != 0;
}

/* Sets the text to walk, which is absolute. */
static int put_text(walk *w, int at, const char *path) {
    size_t n_path = strlen(path);
    if (n_path == 0) {
        return -ENOENT;
    }
    if (n_path >= sizeof(w->text)) {
        return -ENAMETOOLONG;
    }
    memcpy(w->text, path, n_path + 1);
    w->rest = w->text;
    w->place->is_changed = false;
    if (path[0] == '/') {
        return 0;
    }
    char base[TIDE_SCRATCH_PATH_BYTES];
    int result = real_path_of(at, base);
    w->place->is_changed = result == 0 && tide_scratch_strip(base);
    return result == 0 ? put_before(w, base, strlen(base)) : result;
}

static int look(walk *w, int at, const char *path, bool follow, bool may_recall) {
    tide_scratch_place *place = w->place;
    char folder[TIDE_SCRATCH_PARENT_BYTES];
    place->is_real = place->has_copy = place->is_folder = place->is_gone = false;
    place->ends_in_slash = place->is_foreign = false;
    w->n_links = 0;
    w->itself[0] = '\0';
    go_to_root(w);
    int result = put_text(w, at, path);
    if (result != 0) {
        return result;
    }
    note_folder(w, folder);
    bool is_changed = place->is_changed;
    bool is_late = may_recall && begin_late(w);
    place->is_changed = place->is_changed || is_changed;
    result = go(w, follow);
    w->folder = NULL;
    /* A link's path may go up, which only a whole walk can do. */
    return is_late && w->n_links > 0 ? look(w, at, path, follow, false) : result;
}

/* The program names a file by its descriptor, and the file no longer has its name in the view. 1:
 * it has another name, which is now in w->text. 0: it is deleted, and only the link remains. */
static int stay_at_link(walk *w) {
    tide_scratch_place *place = w->place;
    size_t n = 0;
    if (tide_scratch_real_link(w->itself, w->target, &n) == TIDE_SCRATCH_BY_NAME) {
        w->target[n] = '\0';
        if (tide_scratch_moved_to(w->target, w->text) == 0) {
            return 1;
        }
    }
    memcpy(place->copy + w->n_files, w->itself, strlen(w->itself) + 1);
    place->is_real = place->is_foreign = true;
    place->has_copy = place->is_gone = false;
    return 0;
}

int tide_scratch_look(int at, const char *path, tide_scratch_follow follow,
                      tide_scratch_place *ret_place) {
    const tide_scratch_state *state = tide_scratch_state_get();
    tide_scratch_place *place = ret_place;
    walk w; /* clearing its texts would be slow */
    w.place = place;
    w.n_files = state->n_files;
    memcpy(place->copy, state->files, state->n_files + 1);
    place->path = place->copy + state->n_files;
    int result = look(&w, at, path, follow == TIDE_SCRATCH_FOLLOW, true);
    if (w.itself[0] != '\0' && (result == -ENOENT || (result == 0 && place->is_gone))) {
        result = 0;
        if (stay_at_link(&w) == 1) {
            memcpy(w.target, w.text, sizeof(w.target));
            result = look(&w, AT_FDCWD, w.target, follow == TIDE_SCRATCH_FOLLOW, false);
            place->is_changed = true;
        }
    }
    if (result == 0 && !place->is_real) {
        settle(&w);
        place->is_changed = place->is_changed || place->is_gone || !place->shows_below ||
                            (place->has_copy && !place->is_folder);
        if (place->ends_in_slash && place->has_copy && !place->is_folder) {
            return -ENOTDIR;
        }
    }
    return result;
}
