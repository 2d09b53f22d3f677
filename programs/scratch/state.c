#define _GNU_SOURCE /* O_CLOEXEC, robust mutexes */
#include "programs/scratch/state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/lasting.h"

/* The state that the processes of a run share, in FOLDER/state. */
typedef struct shared {
    pthread_mutex_t lock; /* robust */
    _Atomic uint32_t written;
    _Atomic uint32_t moved;
    _Atomic uint32_t generation;
    _Atomic uint64_t n_names; /* returned by tide_scratch_temporary_name */
} shared;

/* The state of this process. It is a file's variable because the C library's functions that we
 * replace have no argument to pass it. */
static struct {
    pthread_once_t once;
    tide_scratch_state state;
    shared *page;
} own = {.once = PTHREAD_ONCE_INIT};

/* How often this thread holds the lock. */
static _Thread_local unsigned depth;

static bool text_put(char text[TIDE_SCRATCH_PATH_BYTES], size_t *n, const char *part) {
    size_t n_part = strlen(part);
    if (*n + n_part >= TIDE_SCRATCH_PATH_BYTES) {
        return false;
    }
    memcpy(text + *n, part, n_part + 1);
    *n += n_part;
    return true;
}

void tide_scratch_say(const char *what, const char *name, const char *rest) {
    char line[TIDE_SCRATCH_PATH_BYTES] = "";
    size_t n = 0;
    (void)(text_put(line, &n, "tidemark: ") && text_put(line, &n, what) &&
           text_put(line, &n, name) && text_put(line, &n, rest) && text_put(line, &n, "\n"));
    (void)tide_scratch_call(SYS_write, STDERR_FILENO, tide_scratch_word(line), (long)n, 0, 0);
}

/* The folder of that name with links followed; permanent. NULL if it does not exist. The C
 * library's realpath is one of the functions that we replace. */
static const char *followed_name(const char *name) {
    enum { DESCRIPTOR_BYTES = 32 };
    char link[DESCRIPTOR_BYTES] = "/proc/self/fd/";
    char text[TIDE_SCRATCH_PATH_BYTES];
    int fd = tide_sys_open(AT_FDCWD, name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return NULL;
    }
    size_t n = strlen(link);
    char digits[DESCRIPTOR_BYTES];
    size_t n_digits = 0;
    for (int rest = fd; n_digits == 0 || rest != 0; rest /= 10) {
        digits[n_digits++] = (char)('0' + rest % 10);
    }
    while (n_digits > 0) {
        link[n++] = digits[--n_digits];
    }
    link[n] = '\0';
    long n_text = tide_sys_readlink(AT_FDCWD, link, text, sizeof(text));
    (void)tide_sys_close(fd);
    return n_text > 0 && n_text < TIDE_SCRATCH_PATH_BYTES
               ? tide_scratch_lasting_text(text, (size_t)n_text)
               : NULL;
}

/* Adds a folder whose content stays real. `text` must be permanent. */
static void add_real(tide_scratch_state *state, const char *text) {
    if (text != NULL && text[0] == '/' && text[1] != '\0' &&
        state->n_real < TIDE_SCRATCH_MAX_REAL) {
        state->real[state->n_real++] = text;
    }
}

/* Adds a folder by its given name and with its links followed, because a program's path may use
 * either. */
static void add_named(tide_scratch_state *state, const char *text, size_t n) {
    while (n > 1 && text[n - 1] == '/') {
        n--;
    }
    const char *name = tide_scratch_lasting_text(text, n);
    const char *followed = name != NULL ? followed_name(name) : NULL;
    add_real(state, name);
    if (followed != NULL && strcmp(followed, name) != 0) {
        add_real(state, followed);
    }
}

static void add_list(tide_scratch_state *state, const char *list, char separator) {
    const char separators[] = {separator, '\0'};
    for (const char *rest = list; rest != NULL;) {
        size_t n = strcspn(rest, separators);
        add_named(state, rest, n);
        rest = rest[n] != '\0' ? rest + n + 1 : NULL;
    }
}

static const char *const SYSTEM[] = {"/dev", "/proc", "/sys", "/run"};

static bool is_of_system(const char *path, size_t n_bytes) {
    bool is = false;
    for (size_t i = 0; i < sizeof(SYSTEM) / sizeof(SYSTEM[0]); i++) {
        is = is || (strlen(SYSTEM[i]) == n_bytes && memcmp(path, SYSTEM[i], n_bytes) == 0);
    }
    return is;
}

/* Adds the folders that always stay real, and those that the environment names. */
static void add_real_folders(tide_scratch_state *state) {
    for (size_t i = 0; i < sizeof(SYSTEM) / sizeof(SYSTEM[0]); i++) {
        add_real(state, SYSTEM[i]);
    }
    const char *run = getenv("TIDEMARK_RUN_FOLDER");
    add_list(state, getenv("TIDEMARK_SCRATCH_REAL"), ':');
    add_list(state, getenv("TIDEMARK_SCRATCH_OWN"), '\n');
    if (run != NULL) {
        add_named(state, run, strlen(run));
    }
}

static bool init_page(shared *page) {
    pthread_mutexattr_t attributes;
    bool ok = pthread_mutexattr_init(&attributes) == 0 &&
              pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
              pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
              pthread_mutex_init(&page->lock, &attributes) == 0;
    (void)pthread_mutexattr_destroy(&attributes);
    return ok;
}

static shared *map_page(const char *path, int flags) {
    int fd = tide_sys_open(AT_FDCWD, path, flags | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        return NULL;
    }
    shared *page = NULL;
    if ((flags & O_CREAT) == 0 ||
        tide_scratch_call(SYS_ftruncate, fd, sizeof(shared), 0, 0, 0) == 0) {
        page = tide_sys_map(sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    }
    (void)tide_sys_close(fd);
    return page;
}

/* Maps FOLDER/state. It gets its name when complete, so no process sees an unfinished lock. */
static shared *open_page(const tide_scratch_state *state) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    char mine[TIDE_SCRATCH_PATH_BYTES];
    memcpy(path, state->files, state->n_folder);
    memcpy(path + state->n_folder, "/state", sizeof("/state"));
    shared *page = map_page(path, 0);
    if (page != NULL) {
        return page;
    }
    size_t n = state->n_folder;
    memcpy(mine, state->files, n);
    memcpy(mine + n, "/state.XXXXXXXXXX", sizeof("/state.XXXXXXXXXX"));
    uint64_t number = ((uint64_t)getpid() << 16) ^ (uint64_t)gettid();
    for (size_t i = n + sizeof("/state.") - 1; mine[i] != '\0'; i++, number /= 26) {
        mine[i] = (char)('a' + (int)(number % 26));
    }
    page = map_page(mine, O_CREAT | O_TRUNC);
    bool ready = page != NULL && init_page(page) && tide_sys_link(mine, path) == 0;
    (void)tide_sys_unlink(mine);
    if (!ready && page != NULL) {
        (void)munmap(page, sizeof(*page));
    }
    return ready ? page : map_page(path, 0);
}

static bool make_folder(tide_scratch_state *state, const char *name) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    size_t n = state->n_folder;
    memcpy(path, state->files, n);
    path[n] = '\0';
    if (!text_put(path, &n, name)) {
        return false;
    }
    int result = tide_sys_mkdir(path, 0700);
    return result == 0 || result == -EEXIST;
}

static bool init_folder(tide_scratch_state *state, const char *folder) {
    enum { LONGEST_NAME_BYTES = 32 }; /* the longest name added to FOLDER here */
    (void)tide_sys_mkdir(folder, 0700);
    const char *followed = followed_name(folder);
    if (followed == NULL) {
        return false;
    }
    state->n_folder = strlen(followed);
    bool fits = state->n_folder + LONGEST_NAME_BYTES < TIDE_SCRATCH_PATH_BYTES;
    if (fits) {
        memcpy(state->files, followed, state->n_folder);
        memcpy(state->files + state->n_folder, "/files", sizeof("/files"));
        state->n_files = state->n_folder + sizeof("/files") - 1;
    }
    add_real(state, followed);
    return fits && make_folder(state, "/files") && make_folder(state, "/tmp") &&
           tide_sys_access(AT_FDCWD, "/proc/self/fd", X_OK, 0) == 0;
}

/* The folder of the card's files, if the run has one. */
static const char *find_card(void) {
    const char *run = getenv("TIDEMARK_RUN_FOLDER");
    char path[TIDE_SCRATCH_PATH_BYTES] = "";
    size_t n = 0;
    bool is_there = run != NULL && run[0] == '/' && text_put(path, &n, run) &&
                    text_put(path, &n, "/card") && tide_sys_access(AT_FDCWD, path, X_OK, 0) == 0;
    return is_there ? tide_scratch_lasting_text(path, n) : NULL;
}

static void init(void) {
    tide_scratch_state *state = &own.state;
    state->card = find_card();
    const char *folder = getenv("TIDEMARK_SCRATCH");
    if (folder == NULL || folder[0] == '\0') {
        return;
    }
    add_real_folders(state);
    state->mode = TIDE_SCRATCH_BROKEN;
    if (folder[0] == '/' && init_folder(state, folder)) {
        own.page = open_page(state);
    }
    if (own.page != NULL) {
        state->mode = TIDE_SCRATCH_ON;
    } else {
        tide_scratch_say("the folder that keeps writes away cannot be used (", folder,
                         "), so nothing may be written; '--writes allow' writes for real");
    }
}

const tide_scratch_state *tide_scratch_state_get(void) {
    (void)pthread_once(&own.once, init);
    return &own.state;
}

bool tide_scratch_serves(void) {
    const tide_scratch_state *state = tide_scratch_state_get();
    return state->mode != TIDE_SCRATCH_OFF || state->card != NULL;
}

bool tide_scratch_has_written(void) {
    (void)tide_scratch_state_get();
    return own.page != NULL && atomic_load_explicit(&own.page->written, memory_order_acquire) != 0;
}

void tide_scratch_set_written(void) {
    if (atomic_load_explicit(&own.page->written, memory_order_relaxed) == 0) {
        atomic_store_explicit(&own.page->written, 1, memory_order_release);
    }
}

bool tide_scratch_has_moved(void) {
    return own.page != NULL && atomic_load_explicit(&own.page->moved, memory_order_acquire) != 0;
}

void tide_scratch_set_moved(void) {
    atomic_store_explicit(&own.page->moved, 1, memory_order_release);
}

uint32_t tide_scratch_generation(void) {
    return own.page == NULL ? 0 : atomic_load_explicit(&own.page->generation, memory_order_acquire);
}

void tide_scratch_bump_generation(void) {
    (void)atomic_fetch_add_explicit(&own.page->generation, 1, memory_order_acq_rel);
}

void tide_scratch_lock(void) {
    if (depth++ == 0 && pthread_mutex_lock(&own.page->lock) == EOWNERDEAD) {
        (void)pthread_mutex_consistent(&own.page->lock);
    }
}

void tide_scratch_unlock(void) {
    if (--depth == 0) {
        (void)pthread_mutex_unlock(&own.page->lock);
    }
}

void tide_scratch_temporary_name(char name[TIDE_SCRATCH_PATH_BYTES]) {
    uint64_t number = atomic_fetch_add_explicit(&own.page->n_names, 1, memory_order_relaxed);
    size_t n = own.state.n_folder;
    memcpy(name, own.state.files, n);
    memcpy(name + n, "/tmp/", sizeof("/tmp/"));
    n += sizeof("/tmp/") - 1;
    do {
        name[n++] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number != 0);
    name[n] = '\0';
}

/* The places inside system folders where desktops and containers mount the user's disks. */
static bool is_disk(const char *path, size_t n_bytes) {
    static const char *const DISKS[] = {"/run/media/", "/run/host/"};
    bool is = false;
    for (size_t i = 0; i < sizeof(DISKS) / sizeof(DISKS[0]); i++) {
        size_t n = strlen(DISKS[i]);
        is = is || (n_bytes > n && memcmp(path, DISKS[i], n) == 0);
    }
    return is;
}

bool tide_scratch_is_real(const char *path, size_t n_bytes) {
    const tide_scratch_state *state = &own.state;
    for (size_t i = 0; i < state->n_real; i++) {
        size_t n = strlen(state->real[i]);
        if (n <= n_bytes && memcmp(path, state->real[i], n) == 0 &&
            (n == n_bytes || path[n] == '/') &&
            !(is_of_system(state->real[i], n) && is_disk(path, n_bytes))) {
            return true;
        }
    }
    return false;
}

bool tide_scratch_is_no_link(const char *path, size_t n_bytes) {
    enum { PROC_BYTES = 6 }; /* of "/proc/" */
    const char *rest = n_bytes > 1 ? memchr(path + 1, '/', n_bytes - 1) : NULL;
    if (rest == NULL) { /* the folders of TIDEMARK_SCRATCH_REAL may be links */
        return is_of_system(path, n_bytes);
    }
    return n_bytes > PROC_BYTES && memcmp(path, "/proc/", PROC_BYTES) == 0 &&
           path[PROC_BYTES] >= '0' && path[PROC_BYTES] <= '9' &&
           memchr(path + PROC_BYTES, '/', n_bytes - PROC_BYTES) == NULL;
}

bool tide_scratch_leads_to_disks(const char *path, size_t n_bytes) {
    static const char *const FOLDERS[] = {"/run", "/run/media", "/run/host"};
    bool is = false;
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        is = is || (strlen(FOLDERS[i]) == n_bytes && memcmp(path, FOLDERS[i], n_bytes) == 0);
    }
    return is;
}
