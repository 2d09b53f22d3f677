#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "programs/live/attach.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/autograd_mode.h"
#include "common/event.h"
#include "programs/live/node.h"
#include "programs/live/record.h"
#include "programs/live/symbol_table.h"
#include "programs/live/torch/torch_entry.h"
#include "programs/live/torch/torch_versions.h"

#define ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
#define ATTACH "22NativeCachingAllocator27attachAllocatorTraceTrackerE"
#define NATIVE "22NativeCachingAllocatorE"
#define LIBRARY "libc10_cuda.so"

enum { MAX_SLOTS = 128, TYPE_INFO_SLOT = -1, TYPE_NAME_WORD = 1 };

static _Atomic int state;
static _Atomic int is_busy; /* a thread is attaching */
static const tide_torch_version *version;

/* ---- the tracker ---- */

/* Whether entries have the expected layout. Those of a known version do. */
enum { UNCHECKED = 0, SOUND, REFUSED };
static _Atomic int trust;

/* The first entry of an unknown version decides. If it is not plausible, nothing is recorded. */
static bool is_trusted(const void *entry) {
    int now = atomic_load_explicit(&trust, memory_order_relaxed);
    int found = UNCHECKED;
    if (now != UNCHECKED) {
        return now == SOUND;
    }
    now = tide_torch_entry_is_sound(entry) ? SOUND : REFUSED;
    if (atomic_compare_exchange_strong(&trust, &found, now) && now == REFUSED) {
        tide_live_describe("live.limited",
                           "this version of PyTorch reports its events differently: calls of "
                           "the CUDA runtime are recorded instead");
    }
    return atomic_load(&trust) == SOUND;
}

static void hear(const void *entry) {
    tide_live_entry found;
    if (!is_trusted(entry)) {
        return;
    }
    tide_torch_entry_read(entry, version->pool_at, &found);
    if (tide_live_has_place(found.action)) {
        tide_node node = tide_node_now();
        found.sequence = node.sequence;
        found.node = node.class_name;
    }
    found.mode = found.action == TIDE_ACTION_ALLOC ? tide_node_mode() : TIDE_AUTOGRAD_UNKNOWN;
    tide_live_record(&found);
}

/* std::function<void(const TraceEntry &)> of libstdc++. */
typedef struct function {
    void *functor[2];
    bool (*manage)(void *to, const void *from, int operation);
    void (*invoke)(const void *functor, const void *entry);
} function;

enum { GET_ADDRESS = 1, COPY = 2 };

static bool manage(void *to, const void *from, int operation) {
    if (operation == GET_ADDRESS) {
        memcpy(to, &from, sizeof(from));
    } else if (operation == COPY) {
        memcpy(to, from, sizeof(((function *)NULL)->functor));
    }
    return false; /* it has no type_info, and nothing to destroy */
}

static void invoke(const void *functor, const void *entry) {
    (void)functor;
    hear(entry);
}

/* ---- finding the allocator ---- */

/* The allocator and its table of virtual functions. */
typedef struct allocator {
    void *object;
    void *const *table;
} allocator;

static int has_slot(void *ctx, uintptr_t address) {
    const allocator *of = ctx;
    for (int i = 0; i < MAX_SLOTS; i++) {
        if ((uintptr_t)of->table[i] == address) {
            return i + 1;
        }
    }
    return 0;
}

static bool is_native(const allocator *of) {
    const char *const *type = of->table[TYPE_INFO_SLOT];
    return strstr(type[TYPE_NAME_WORD], NATIVE) != NULL;
}

static bool is_initialized(const allocator *of) {
    bool (*initialized)(void *object) = NULL;
    if (version->initialized_slot < 0) {
        return true; /* the allocator exists: it made the current call */
    }
    memcpy(&initialized, &of->table[version->initialized_slot], sizeof(initialized));
    return initialized(of->object);
}

/* Registers the tracker with the allocator. False: the function was not found. */
static bool give_tracker(allocator of, const struct link_map *library) {
    void (*attach)(void *object, function *tracker) = NULL;
    int slot = tide_symbol_table_visit(library->l_name, library->l_addr, ATTACH, has_slot, &of) - 1;
    slot = slot < 0 ? version->attach_slot : slot;
    if (slot < 0) {
        return false;
    }
    memcpy(&attach, &of.table[slot], sizeof(attach));
    function tracker = {.manage = manage, .invoke = invoke};
    attach(of.object, &tracker); /* passed by value, which in C++ means the address of a copy */
    return true;
}

static void tell_version(const char *text) {
    char line[160];
    tide_live_describe("software.torch", text);
    if (version->name[0] == '\0') {
        (void)snprintf(
            line, sizeof(line),
            "PyTorch %.32s is not known here: pools and nodes of autograd are not recorded", text);
        tide_live_describe("live.limited", line);
    } else if (version->pool_at == 0) {
        (void)snprintf(line, sizeof(line),
                       "PyTorch %.32s does not say which private pool an event is in: private "
                       "pools are not recorded",
                       text);
        tide_live_describe("live.limited", line);
    }
}

static int see_loads(struct dl_phdr_info *info, size_t n_bytes, void *ret_loads) {
    (void)n_bytes;
    *(unsigned long long *)ret_loads = info->dlpi_adds;
    return 1; /* the first object is enough: all have the same count */
}

/* PyTorch's library; NULL if it is not loaded. The loader would search the folders for it in every
 * call of a program without PyTorch, so it is asked only after it has loaded something. Only the
 * attaching thread calls this. */
static void *find_library(void) {
    static unsigned long long seen_loads; /* the count when PyTorch was not loaded */
    unsigned long long loads = 0;
    (void)dl_iterate_phdr(see_loads, &loads);
    if (loads == seen_loads) {
        return NULL;
    }
    void *handle = dlopen(LIBRARY, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == NULL) {
        seen_loads = loads;
    }
    return handle;
}

static tide_attach_state attach(void) {
    char text[64] = "unknown";
    void *handle = find_library();
    if (handle == NULL) {
        return TIDE_ATTACH_NOT_YET;
    }
    const struct link_map *library = handle;
    void *const *place = dlsym(handle, ALLOCATOR);
    if (place == NULL || *place == NULL) {
        return place == NULL ? TIDE_ATTACH_UNKNOWN : TIDE_ATTACH_NOT_YET;
    }
    (void)tide_torch_read_version(library->l_name, text, sizeof(text));
    version = tide_torch_version_of(text);
    allocator of = {.object = *place};
    memcpy(&of.table, of.object, sizeof(of.table));
    if (!is_native(&of)) {
        tell_version(text);
        tide_live_describe("live.limited", "the program uses another allocator than PyTorch's own: "
                                           "its calls of the CUDA runtime are recorded instead");
        return TIDE_ATTACH_OTHER_ALLOCATOR;
    }
    if (!is_initialized(&of)) {
        return TIDE_ATTACH_NOT_YET;
    }
    tide_node_begin(version);
    atomic_store(&trust, version->name[0] != '\0' ? SOUND : UNCHECKED);
    tell_version(text);
    if (!give_tracker(of, library)) {
        tide_live_describe("live.limited", "PyTorch's allocator cannot be listened to: calls of "
                                           "the CUDA runtime are recorded instead");
        return TIDE_ATTACH_UNKNOWN;
    }
    return TIDE_ATTACH_DONE;
}

tide_attach_state tide_attach_try(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now != TIDE_ATTACH_NOT_YET || atomic_exchange(&is_busy, 1) != 0) {
        return (tide_attach_state)now;
    }
    now = (int)attach();
    atomic_store_explicit(&state, now, memory_order_release);
    atomic_store(&is_busy, 0);
    return (tide_attach_state)now;
}

tide_attach_state tide_attach_now(void) {
    return (tide_attach_state)atomic_load_explicit(&state, memory_order_acquire);
}
