#define _GNU_SOURCE /* fts */
#include "programs/launch/writes/writes.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "programs/launch/writes/writes_internal.h"

typedef struct counting {
    tide_writes *writes;
    const char *current;    /* the program's folder */
    char temporary[256];    /* the folder of temporary files */
    char caches[512];       /* $HOME/.cache; "" if there is no home */
    uint64_t largest_bytes; /* of writes->largest */
} counting;

static bool lies_in(const char *path, const char *folder) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') {
        n--;
    }
    return n > 0 && strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* By-products: files in the folder of temporary files, unless the program works in it, and in
 * caches. */
static bool is_passing(const counting *c, const char *path) {
    return strstr(path, "/__pycache__/") != NULL ||
           (lies_in(path, c->temporary) && !lies_in(path, c->current)) ||
           strstr(path, "/.triton/") != NULL ||
           (lies_in(path, c->caches) && !lies_in(path, c->current));
}

bool tide_writes_is_gone(const char *path) {
    char target[sizeof(TIDE_WRITES_GONE)];
    ssize_t n = readlink(path, target, sizeof(target));
    return n == (ssize_t)sizeof(TIDE_WRITES_GONE) - 1 &&
           memcmp(target, TIDE_WRITES_GONE, (size_t)n) == 0;
}

/* One file or link. `path` is its real place. */
static void count_one(counting *c, const FTSENT *entry, const char *path) {
    struct stat below;
    bool is_there = lstat(path, &below) == 0;
    tide_writes *writes = c->writes;
    if (strcmp(entry->fts_name, TIDE_WRITES_COVERS) == 0) {
        return;
    }
    if (S_ISLNK(entry->fts_statp->st_mode) && tide_writes_is_gone(entry->fts_path)) {
        writes->n_deleted += is_there ? 1 : 0;
        return;
    }
    if (is_passing(c, path)) {
        writes->n_passing++;
        return;
    }
    uint64_t n_bytes = S_ISREG(entry->fts_statp->st_mode) ? (uint64_t)entry->fts_statp->st_size : 0;
    writes->n_files++;
    writes->n_changed += is_there ? 1 : 0;
    writes->n_bytes += n_bytes;
    if (writes->largest[0] == '\0' || n_bytes > c->largest_bytes) {
        size_t n = strlen(c->current);
        bool inside = lies_in(path, c->current) && path[n] == '/';
        c->largest_bytes = n_bytes;
        (void)snprintf(writes->largest, sizeof(writes->largest), "%s",
                       inside ? path + n + 1 : path);
    }
}

/* Opens FOLDER/files. NULL with TIDE_OK if it does not exist. */
static tide_status open_tree(const char *folder, FTS **ret_tree, size_t *ret_n_prefix,
                             tide_error *error) {
    char path[TIDE_WRITES_PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/files", folder);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return tide_fail(error, TIDE_LIMIT, "the path of the folder is too long: %s", folder);
    }
    *ret_n_prefix = (size_t)n;
    *ret_tree = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return TIDE_OK;
    }
    char *const paths[] = {path, NULL};
    *ret_tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    return *ret_tree != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_IO, "cannot read %s: %s", path, strerror(errno));
}

static tide_status count_files(counting *c, const char *folder, tide_error *error) {
    FTS *tree = NULL;
    size_t n_prefix = 0;
    TIDE_TRY(open_tree(folder, &tree, &n_prefix, error));
    tide_status status = TIDE_OK;
    FTSENT *entry = NULL;
    while (status == TIDE_OK && tree != NULL && (entry = fts_read(tree)) != NULL) {
        switch (entry->fts_info) {
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            status = tide_fail(error, TIDE_IO, "cannot read %s: %s", entry->fts_path,
                               strerror(entry->fts_errno));
            break;
        case FTS_F:
        case FTS_SL:
        case FTS_SLNONE:
            count_one(c, entry, entry->fts_path + n_prefix);
            break;
        default:
            break; /* folders, pipes and sockets */
        }
    }
    if (tree != NULL) {
        (void)fts_close(tree);
    }
    return status;
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* FOLDER/unseen has a line "PATH<TAB>REASON" for each start of such a program. */
static void count_unseen(tide_writes *writes, const char *folder) {
    enum { MAX_LINES = 1024 };
    char path[TIDE_WRITES_PATH_BYTES];
    char line[TIDE_WRITES_PATH_BYTES];
    char *lines[MAX_LINES];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/unseen", folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && n < MAX_LINES && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        lines[n] = strdup(line);
        n += lines[n] != NULL ? 1 : 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (n > 0) {
        qsort(lines, n, sizeof(lines[0]), by_text);
    }
    tide_text names = tide_text_in(writes->unseen, sizeof(writes->unseen));
    for (size_t i = 0; i < n; i++) {
        char *tab = strchr(lines[i], '\t');
        bool is_new = i == 0 || strcmp(lines[i], lines[i - 1]) != 0;
        if (is_new && writes->n_unseen++ < TIDE_WRITES_MAX_NAMED) {
            int n_path = tab != NULL ? (int)(tab - lines[i]) : (int)strlen(lines[i]);
            tide_text_add_item(&names, ", ", "%.*s %s", n_path, lines[i],
                               tab != NULL ? tab + 1 : "");
        }
    }
    for (size_t i = 0; i < n; i++) {
        free(lines[i]);
    }
}

tide_status tide_writes_count(const char *folder, const char *current, tide_writes *ret_writes,
                              tide_error *error) {
    tide_writes writes = {.n_files = 0};
    counting c = {.writes = &writes, .current = current};
    const char *temporary = getenv("TMPDIR");
    const char *home = getenv("HOME");
    (void)snprintf(c.temporary, sizeof(c.temporary), "%s",
                   temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (home != NULL && home[0] == '/') {
        (void)snprintf(c.caches, sizeof(c.caches), "%s/.cache", home);
    }
    char page[TIDE_WRITES_PATH_BYTES];
    (void)snprintf(page, sizeof(page), "%s/state", folder);
    writes.is_view = access(page, F_OK) == 0;
    TIDE_TRY(count_files(&c, folder, error));
    count_unseen(&writes, folder);
    *ret_writes = writes;
    return TIDE_OK;
}

char *tide_writes_sentence(const tide_writes *writes, const char *kept,
                           char text[TIDE_WRITES_TEXT_BYTES]) {
    char bytes[TIDE_BYTES_TEXT];
    tide_text sentence = tide_text_in(text, TIDE_WRITES_TEXT_BYTES);
    size_t n_others = writes->n_files > 0 ? writes->n_files - 1 : 0;
    if (writes->n_files > 0) {
        tide_text_add(&sentence, "%s", writes->largest);
    }
    if (n_others > 0) {
        tide_text_add(&sentence, " and %zu more %s", n_others,
                      tide_plural(n_others, "file", "files"));
    }
    if (writes->n_files > 0) {
        tide_text_add(&sentence, " (%s) %s ", tide_bytes_format((int64_t)writes->n_bytes, bytes),
                      tide_plural(writes->n_files, "was", "were"));
    }
    if (writes->n_files > 0 && kept != NULL) {
        tide_text_add(&sentence, "written to %s instead", kept);
    } else if (writes->n_files > 0) {
        tide_text_add(&sentence, "not written to your disk (`--keep-writes DIR` keeps %s)",
                      tide_plural(writes->n_files, "it", "them"));
    }
    if (writes->n_deleted > 0) {
        tide_text_add_item(&sentence, "; ", "%zu %s kept away", writes->n_deleted,
                           tide_plural(writes->n_deleted, "deletion was", "deletions were"));
    }
    if (writes->n_passing > 0) {
        tide_text_add_item(&sentence, "; ", "%zu temporary %s dropped", writes->n_passing,
                           tide_plural(writes->n_passing, "file was", "files were"));
    }
    return text;
}

char *tide_writes_unseen(const tide_writes *writes, char text[TIDE_WRITES_TEXT_BYTES]) {
    tide_text sentence = tide_text_in(text, TIDE_WRITES_TEXT_BYTES);
    if (writes->n_unseen == 0) {
        return text;
    }
    tide_text_add(&sentence, "%s", writes->unseen);
    if (writes->n_unseen > TIDE_WRITES_MAX_NAMED) {
        size_t n = writes->n_unseen - TIDE_WRITES_MAX_NAMED;
        tide_text_add(&sentence, " and %zu more %s cannot see the view", n,
                      tide_plural(n, "program", "programs"));
    }
    tide_text_add(&sentence, ": what %s wrote is real", writes->n_unseen > 1 ? "they" : "it");
    return text;
}
