#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "programs/live/modules.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "common/lock_friend.h"
#include "common/map.h"
#include "programs/live/memory.h"
#include "programs/live/state_friend.h"

enum { MAX_FRAMES = 256 };

static struct {
    tide_lock lock;
    tide_map strings; /* object -> string of its path */
} paths;

static _Atomic unsigned n_named = 1; /* changes of the paths */

/* The last module that this thread called. Mostly the next call is of the same module. */
static _Thread_local struct {
    const void *module;
    uint32_t string;
    unsigned n_named; /* then; 0: none */
} last;

static _Atomic(const void *) module_code;
static _Atomic(void *) resolver_address;
static _Atomic(const void *) asked; /* a module with an unanswered request */

void tide_live_modules_reset(void) {
    paths.lock = (tide_lock){0};
    tide_map_init(&paths.strings, tide_live_memory());
    atomic_fetch_add(&n_named, 1);
    atomic_store(&asked, NULL);
}

void tide_live_set_module_code(const void *code) {
    atomic_store(&module_code, code);
}

void tide_live_set_resolver(int (*resolver)(void *module)) {
    void *address = NULL;
    memcpy(&address, &resolver, sizeof(address));
    atomic_store(&resolver_address, address);
}

/* Runs in the interpreter's main thread, which holds the GIL. */
static int answer(void *module) {
    int (*resolver)(void *) = NULL;
    void *address = atomic_load(&resolver_address);
    memcpy(&resolver, &address, sizeof(resolver));
    if (resolver != NULL) {
        (void)resolver(module);
    }
    atomic_store(&asked, NULL);
    return 0;
}

/* Requests the names of the modules inside the module; one request at a time. */
static void ask(const void *module) {
    const void *none = NULL;
    int (*add_call)(int (*)(void *), void *) = NULL;
    if (atomic_load(&resolver_address) == NULL ||
        !atomic_compare_exchange_strong(&asked, &none, module)) {
        return;
    }
    void *found = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    memcpy(&add_call, &found, sizeof(add_call));
    void *argument = NULL;
    memcpy(&argument, &module, sizeof(argument));
    if (add_call == NULL || add_call(answer, argument) != 0) {
        atomic_store(&asked, NULL); /* the queue is full: another event asks again */
    }
}

uint32_t tide_live_find_module(const tide_python_frame *frames, size_t n_frames) {
    const void *code = atomic_load_explicit(&module_code, memory_order_relaxed);
    const void *inner = NULL;
    const void *outer = NULL;
    uint64_t string = TIDE_NONE;
    for (size_t i = 0; i < n_frames && code != NULL; i++) {
        if (frames[i].code == code && frames[i].local0 != NULL) {
            inner = inner == NULL ? frames[i].local0 : inner;
            outer = frames[i].local0;
        }
    }
    if (inner == NULL) {
        return TIDE_NONE;
    }
    unsigned now = atomic_load_explicit(&n_named, memory_order_acquire);
    if (last.n_named == now && last.module == inner) {
        return last.string;
    }
    tide_lock_acquire(&paths.lock);
    bool is_known = tide_map_find(&paths.strings, (uint64_t)(uintptr_t)inner, &string);
    tide_lock_release(&paths.lock);
    if (!is_known) {
        ask(outer);
        return TIDE_NONE;
    }
    last.module = inner;
    last.string = (uint32_t)string;
    last.n_named = now;
    return last.string;
}

void tide_live_name_module(const void *module, const char *path) {
    tide_live *live = tide_live_now();
    if (live == NULL) {
        return;
    }
    uint32_t string = path != NULL ? tide_recorder_intern(live->recorder, path) : TIDE_NONE;
    tide_lock_acquire(&paths.lock);
    if (path == NULL) {
        (void)tide_map_remove(&paths.strings, (uint64_t)(uintptr_t)module);
    } else if (tide_map_put(&paths.strings, (uint64_t)(uintptr_t)module, string) != TIDE_OK) {
        string = TIDE_NONE; /* without memory it stays unnamed */
    }
    atomic_fetch_add_explicit(&n_named, 1, memory_order_release);
    tide_lock_release(&paths.lock);
}

bool tide_live_is_called(const void *module) {
    const tide_hostmem *mem = tide_live_memory(); /* a thread's stack may be small */
    tide_python_frame *frames = mem->alloc(mem->ctx, MAX_FRAMES * sizeof(*frames));
    const void *code = atomic_load(&module_code);
    size_t n = frames != NULL ? tide_python_frames_walk(frames, MAX_FRAMES) : 0;
    bool is_called = false;
    for (size_t i = 0; i < n && !is_called; i++) {
        is_called = frames[i].code == code && frames[i].local0 == module;
    }
    mem->release(mem->ctx, frames);
    return is_called;
}
