/* state.c - opens the log of this process when it is needed, and leaves a parent's log alone. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/setting.h"
#include "programs/live/box/black_box.h"
#include "programs/live/driver.h"
#include "programs/live/memory.h"
#include "programs/live/python/python_frames.h"
#include "programs/live/state_friend.h"

enum { NATIVE_FRAMES = 128, MOST_FRAMES = 1000, PATH_BYTES = 4096 };

enum { UNUSED = 0, OPENING, OPEN, CLOSED };

/* Global, because no caller could pass a preloaded library its state. */
static _Atomic int state;
static tide_live live;

void tide_live_tell(const char *format, ...) {
    char text[1024] = "tidemark: ";
    size_t n = strlen(text);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text + n, sizeof(text) - n - 1, format, values);
    va_end(values);
    n = strlen(text);
    text[n++] = '\n';
    (void)!write(STDERR_FILENO, text, n); /* a failure cannot be reported */
}

/* ---- settings ---- */

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = tide_setting(name);
    char *end = NULL;
    uint64_t number = text != NULL ? strtoull(text, &end, 10) : 0;
    return text != NULL && end != text && *end == '\0' ? number : otherwise;
}

static unsigned stacks_of(const char *text) {
    if (text == NULL || strcmp(text, "python") == 0) {
        return TIDE_LIVE_PYTHON;
    }
    if (strcmp(text, "native") == 0) {
        return TIDE_LIVE_NATIVE;
    }
    return strcmp(text, "both") == 0 ? TIDE_LIVE_PYTHON | TIDE_LIVE_NATIVE : 0;
}

/* ---- the recording ---- */

static void drop_native(tide_live *to, const char *why) {
    tide_recorder_describe(to->recorder, "live.native_stacks", why);
    to->unwinder = NULL;
}

/* Uses native frames instead of Python's if the program has no Python, or one whose frames cannot
 * be read. */
static void choose_stacks(tide_live *to) {
    const char *why = NULL;
    if ((to->stacks & TIDE_LIVE_PYTHON) != 0 && !tide_python_frames_begin(&why)) {
        to->stacks |= TIDE_LIVE_NATIVE;
    }
}

/* Native stacks are the recorder's own, or the inner part of stacks that end in Python frames. */
static void open_native(tide_live *to, const tide_hostmem *mem) {
    tide_error error = {"no host memory"};
    tide_stack_depot *depot = tide_recorder_depot(to->recorder);
    if ((to->stacks & TIDE_LIVE_NATIVE) == 0) {
        return;
    }
    if ((to->stacks & TIDE_LIVE_PYTHON) != 0 &&
        tide_stack_depot_create(mem, &to->native) == TIDE_OK) {
        depot = to->native;
    }
    int max_frames = (int)(to->max_frames < NATIVE_FRAMES ? to->max_frames : NATIVE_FRAMES);
    if (tide_unwinder_create(mem, depot, max_frames, &to->unwinder, &error) != TIDE_OK) {
        drop_native(to, error.message);
    }
}

static tide_status open_log(const char *path) {
    tide_error error = {""};
    const tide_hostmem *mem = tide_live_memory();
    const char *full = tide_setting("TIDEMARK_LIVE_FULL");
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.mem = mem;
    config.log_path = path;
    config.log_bytes = (size_t)number_of("TIDEMARK_LIVE_BYTES", config.log_bytes);
    config.full_policy =
        full != NULL && strcmp(full, "stop") == 0 ? TIDE_FULL_STOP : TIDE_FULL_KEEP_NEWEST;
    config.capture_stacks = false;
    config.row_bytes = sizeof(tide_live_row);
    tide_live next = {.generation = live.generation + 1,
                      .stacks = stacks_of(tide_setting("TIDEMARK_LIVE_STACKS")),
                      .max_frames = (size_t)number_of("TIDEMARK_LIVE_FRAMES", MOST_FRAMES),
                      .has_driver_rows = number_of("TIDEMARK_LIVE_DRIVER", 1) != 0,
                      .tells_failures = number_of("TIDEMARK_LIVE_ON_OOM", 0) != 0,
                      .every = number_of("TIDEMARK_LIVE_EVERY", 1)};
    tide_status status = tide_recorder_create(&config, &next.recorder, &error);
    if (status != TIDE_OK) {
        tide_live_tell("process %ld is not recorded: %s", (long)getpid(), error.message);
        return status;
    }
    next.every = next.every > 0 ? next.every : 1;
    next.max_frames = next.max_frames > 0 ? next.max_frames : 1;
    choose_stacks(&next);
    open_native(&next, mem);
    live = next;
    tide_live_stacks_reset(&live);
    tide_live_rows_reset();
    return TIDE_OK;
}

/* The child shares the mapping of the log with its parent, and must not write to it. */
static void forget_parent(void) {
    tide_live_memory_forked();
    tide_live_driver_forked();
    tide_black_box_forked();
    if (atomic_load(&state) == OPEN) {
        tide_recorder_abandon(live.recorder);
    }
    atomic_store(&state, UNUSED);
}

/* Links the log into the run's folder, so that the run finds it wherever it is. */
static void link_log(void) {
    char path[PATH_BYTES];
    const char *folder = tide_setting("TIDEMARK_RUN_FOLDER");
    if (folder != NULL &&
        snprintf(path, sizeof(path), "%s/%ld.log", folder, (long)getpid()) < (int)sizeof(path) &&
        strcmp(path, tide_live_path(&live)) != 0) {
        (void)unlink(path); /* of an earlier process with this number */
        (void)!symlink(tide_live_path(&live), path);
    }
}

static void describe(void) {
    static const char *const KEPT[] = {"PYTORCH_ALLOC_CONF",
                                       "PYTORCH_CUDA_ALLOC_CONF",
                                       "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                       "RANK",
                                       "LOCAL_RANK",
                                       "WORLD_SIZE"};
    char key[64];
    for (size_t i = 0; i < sizeof(KEPT) / sizeof(KEPT[0]); i++) {
        const char *value = getenv(KEPT[i]);
        if (value != NULL) {
            (void)snprintf(key, sizeof(key), "environment.%s", KEPT[i]);
            tide_recorder_describe(live.recorder, key, value);
        }
    }
}

/* The window of a black box, which readers of the log apply. */
static void describe_window(void) {
    const char *seconds = tide_setting("TIDEMARK_BLACK_BOX_KEEP");
    if (seconds != NULL) {
        tide_recorder_describe(live.recorder, "live.keep_s", seconds);
    }
}

tide_live *tide_live_now(void) {
    return atomic_load_explicit(&state, memory_order_acquire) == OPEN ? &live : NULL;
}

/* Whether the log of `tidemark run` or a black box is asked for. */
static bool is_wanted(void) {
    static const char *const NAMES[] = {"TIDEMARK_LIVE", "TIDEMARK_BLACK_BOX"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        const char *value = tide_setting(NAMES[i]);
        if (value != NULL && value[0] != '\0') {
            return true;
        }
    }
    return false;
}

tide_live *tide_live_open(void) {
    static _Atomic int watches_forks;
    int expected = UNUSED;
    if (atomic_load_explicit(&state, memory_order_acquire) != UNUSED) {
        return tide_live_now();
    }
    if (!is_wanted()) {
        return NULL; /* a program may set it later */
    }
    if (!atomic_compare_exchange_strong(&state, &expected, OPENING)) {
        return NULL; /* do not wait: this thread may hold a lock that the other one needs */
    }
    int saved = errno;
    char ring[PATH_BYTES];
    bool is_box = tide_black_box_name(ring, sizeof(ring));
    bool is_open = open_log(is_box ? ring : tide_setting("TIDEMARK_LIVE")) == TIDE_OK;
    if (is_open && atomic_exchange(&watches_forks, 1) == 0) {
        (void)pthread_atfork(NULL, NULL, forget_parent); /* fails only without memory */
    }
    if (is_open) {
        live.is_box = is_box;
        describe();
        if (is_box) {
            describe_window();
            tide_black_box_begin(tide_live_path(&live));
        } else {
            link_log();
        }
    }
    atomic_store_explicit(&state, is_open ? OPEN : CLOSED, memory_order_release);
    errno = saved;
    return tide_live_now();
}

void tide_live_stay_closed(void) {
    atomic_store(&state, CLOSED);
}

void tide_live_finish(void) {
    int expected = OPEN;
    if (atomic_compare_exchange_strong(&state, &expected, CLOSED)) {
        tide_recorder_finish(live.recorder);
        if (live.is_box) {
            tide_black_box_end();
        }
    }
}

bool tide_live_is_open(void) {
    return tide_live_now() != NULL;
}

const char *tide_live_path(const tide_live *of) {
    return tide_recorder_log_path(of->recorder);
}

uint16_t tide_live_thread(void) {
    static _Atomic uint32_t n_threads;
    static _Thread_local uint32_t number; /* + 1; 0: not set yet */
    if (number == 0) {
        number = atomic_fetch_add(&n_threads, 1) + 1;
    }
    return (uint16_t)(number - 1 < UINT16_MAX ? number - 1 : UINT16_MAX);
}

void tide_live_describe(const char *key, const char *value) {
    tide_live *now = tide_live_now();
    if (now != NULL) {
        tide_recorder_describe(now->recorder, key, value);
    }
}
