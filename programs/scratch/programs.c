#define _GNU_SOURCE /* O_CLOEXEC, MAP_ANONYMOUS, strndup */
#include "programs/scratch/programs.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/lasting.h"
#include "programs/scratch/state.h"

enum { MAX_KEPT = 64 };

extern char **environ;

/* The environment that this process was started with. It is a file's variable for the same reason
 * as the state. */
static struct {
    pthread_once_t once;
    char *kept[MAX_KEPT]; /* NAME=VALUE of the variables that begin with TIDEMARK_ */
    size_t n_kept;
    const char *preload; /* our objects in LD_PRELOAD, separated by ':'; NULL if none */
    const char *library; /* our folders in LD_LIBRARY_PATH; NULL if none */
} start = {.once = PTHREAD_ONCE_INIT};

/* Memory for the environment of the next program. Not from the heap: the caller may be a child that
 * shares memory with its parent until exec. */
static _Thread_local struct {
    char *bytes;
    size_t n_bytes;
} room;

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Our parts of a list: those whose name, or path, begins with the given text. NULL if there are
 * none. */
static const char *our_parts(const char *list, const char *name, const char *path) {
    char *ours = list == NULL ? NULL : tide_scratch_lasting(strlen(list) + 2);
    char *end = ours;
    for (const char *part = list; ours != NULL && part != NULL;) {
        size_t n = strcspn(part, ": ");
        const char *last = part + n;
        while (last > part && last[-1] != '/') {
            last--;
        }
        if ((name != NULL && begins(last, name)) || (path != NULL && begins(part, path))) {
            end = stpcpy(end, end != ours ? ":" : "");
            memcpy(end, part, n);
            end += n;
        }
        part = part[n] != '\0' ? part + n + 1 : NULL;
    }
    if (ours != NULL) {
        *end = '\0';
    }
    return ours != NULL && ours[0] != '\0' ? ours : NULL;
}

static void note_start(void) {
    const char *run = getenv("TIDEMARK_RUN_FOLDER");
    if (run == NULL && getenv("TIDEMARK_SCRATCH") == NULL) {
        return;
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (begins(*entry, "TIDEMARK_") && start.n_kept < MAX_KEPT) {
            char *copy = tide_scratch_lasting_text(*entry, strlen(*entry));
            if (copy != NULL) {
                start.kept[start.n_kept++] = copy;
            }
        }
    }
    start.preload = our_parts(getenv("LD_PRELOAD"), "libtidemark", NULL);
    const char *library = getenv("TIDEMARK_RUN_LIBRARY");
    library = library != NULL ? library : run;
    start.library = library != NULL ? our_parts(getenv("LD_LIBRARY_PATH"), NULL, library) : NULL;
}

/* As early as possible, before the program changes its environment. The state in FOLDER proves that
 * the program had the view. */
__attribute__((constructor)) static void note_start_early(void) {
    (void)pthread_once(&start.once, note_start);
    (void)tide_scratch_state_get();
}

/* The value of NAME in an environment, or NULL. `name` ends in '='. */
static const char *value_of(char *const *environment, const char *name, size_t n_name) {
    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, name, n_name) == 0) {
            return *entry + n_name;
        }
    }
    return NULL;
}

static bool has_parts(char *const *environment, const char *name, const char *parts) {
    const char *value = value_of(environment, name, strlen(name));
    return parts == NULL || (value != NULL && strstr(value, parts) != NULL);
}

static size_t name_length(const char *entry) {
    const char *equals = strchr(entry, '=');
    return equals == NULL ? strlen(entry) : (size_t)(equals - entry) + 1;
}

static bool has_kept(char *const *environment, size_t i) {
    return value_of(environment, start.kept[i], name_length(start.kept[i])) != NULL;
}

static bool has_all(char *const *environment) {
    bool all = has_parts(environment, "LD_PRELOAD=", start.preload) &&
               has_parts(environment, "LD_LIBRARY_PATH=", start.library);
    for (size_t i = 0; i < start.n_kept && all; i++) {
        all = has_kept(environment, i);
    }
    return all;
}

static bool make_room(size_t n_bytes) {
    if (room.n_bytes < n_bytes) {
        if (room.bytes != NULL) {
            (void)munmap(room.bytes, room.n_bytes);
        }
        room.bytes = tide_sys_map(n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        room.n_bytes = room.bytes == NULL ? 0 : n_bytes;
    }
    return room.bytes != NULL;
}

/* Writes NAME=PARTS:VALUE at `text` and returns what follows it. */
static char *write_list(char *text, const char *name, const char *parts, const char *value) {
    char *end = stpcpy(stpcpy(text, name), parts);
    if (value != NULL && value[0] != '\0') {
        end = stpcpy(stpcpy(end, ":"), value);
    }
    return end + 1;
}

char **tide_scratch_environment(char *const *environment) {
    (void)pthread_once(&start.once, note_start);
    static char *const NOTHING[] = {NULL};
    environment = environment == NULL ? NOTHING : environment;
    if (has_all(environment)) {
        char **same = NULL; /* the program's own, which is not changed here */
        memcpy(&same, &environment, sizeof(same));
        return same;
    }
    const char *names[] = {"LD_PRELOAD=", "LD_LIBRARY_PATH="};
    const char *parts[] = {start.preload, start.library};
    size_t n = 0;
    size_t n_text = 0;
    for (; environment[n] != NULL; n++) {
    }
    for (size_t i = 0; i < 2; i++) {
        const char *value = value_of(environment, names[i], strlen(names[i]));
        n_text += strlen(names[i]) + (parts[i] != NULL ? strlen(parts[i]) : 0) +
                  (value != NULL ? strlen(value) : 0) + 2;
    }
    if (!make_room((n + start.n_kept + 3) * sizeof(char *) + n_text)) {
        return NULL;
    }
    char **made = (char **)(void *)room.bytes;
    char *text = room.bytes + (n + start.n_kept + 3) * sizeof(char *);
    size_t n_made = 0;
    for (size_t i = 0; i < n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < 2; k++) {
            replaced = replaced || (parts[k] != NULL && begins(environment[i], names[k]) &&
                                    !has_parts(environment, names[k], parts[k]));
        }
        if (!replaced) {
            made[n_made++] = environment[i];
        }
    }
    for (size_t k = 0; k < 2; k++) {
        if (!has_parts(environment, names[k], parts[k])) {
            made[n_made++] = text;
            text = write_list(text, names[k], parts[k],
                              value_of(environment, names[k], strlen(names[k])));
        }
    }
    for (size_t i = 0; i < start.n_kept; i++) {
        if (!has_kept(environment, i)) {
            made[n_made++] = start.kept[i];
        }
    }
    made[n_made] = NULL;
    return made;
}

void tide_scratch_restore_environment(void) {
    char **whole = tide_scratch_environment(environ);
    if (whole == NULL || whole == environ) {
        return;
    }
    for (char **entry = whole; *entry != NULL; entry++) {
        size_t n = name_length(*entry);
        const char *old = value_of(environ, *entry, n);
        if (old == NULL || strcmp(old, *entry + n) != 0) {
            char *copy = strdup(*entry); /* the environment owns it from now on */
            if (copy != NULL) {
                (void)putenv(copy);
            }
        }
    }
}
