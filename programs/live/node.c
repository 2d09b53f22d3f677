#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "programs/live/node.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "common/autograd_mode.h"

#define LIBRARY "libtorch_cpu.so"
#define PEEK "_ZN2at15sequence_number4peekEv"
#define CURRENT "_ZN5torch8autograd16get_current_nodeEv"
#define BASE_LIBRARY "libc10.so"
#define GRADIENTS "_ZN3c108GradMode10is_enabledEv"
#define INFERENCE "_ZN3c1013InferenceMode10is_enabledEv"

enum { TYPE_INFO_SLOT = -1, TYPE_NAME_WORD = 1, SHARED_COUNT_AT = 8, INTRUSIVE_COUNT_AT = 8 };

/* Set before the tracker is registered, and constant afterwards. */
static uint64_t (*peek)(void);
static void *(*get_current)(void *ret_owner[2]); /* C++ returns both through memory */
static bool (*has_gradients)(void);
static bool (*is_inference)(void);
static tide_torch_version known;

static bool find(void *library, const char *name, void *ret_function) {
    void *found = library != NULL ? dlsym(library, name) : NULL;
    memcpy(ret_function, &found, sizeof(found));
    return found != NULL;
}

void tide_node_begin(const tide_torch_version *version) {
    void *library = dlopen(LIBRARY, RTLD_NOLOAD | RTLD_LAZY);
    void *base = dlopen(BASE_LIBRARY, RTLD_NOLOAD | RTLD_LAZY);
    known = *version;
    (void)find(base, GRADIENTS, &has_gradients);
    (void)find(base, INFERENCE, &is_inference);
    (void)find(library, PEEK, &peek);
    if (known.owner == TIDE_TORCH_OWNER_UNKNOWN || !find(library, CURRENT, &get_current)) {
        get_current = NULL;
    }
}

/* Releases the reference that get_current_node returned. The engine holds another one as long as
 * the node runs, so this is never the last. */
static void give_back(void *const owner[2]) {
    if (known.owner == TIDE_TORCH_OWNER_SHARED && owner[1] != NULL) {
        _Atomic(int) *count = (_Atomic(int) *)(void *)((char *)owner[1] + SHARED_COUNT_AT);
        atomic_fetch_sub(count, 1);
    } else if (known.owner == TIDE_TORCH_OWNER_INTRUSIVE) {
        _Atomic(uint64_t) *count =
            (_Atomic(uint64_t) *)(void *)((char *)owner[0] + INTRUSIVE_COUNT_AT);
        atomic_fetch_sub(count, 1);
    }
}

static const char *class_of(const void *node) {
    void *const *table = NULL;
    memcpy(&table, node, sizeof(table));
    const char *const *type = table[TYPE_INFO_SLOT];
    const char *name = type[TYPE_NAME_WORD];
    return *name == '*' ? name + 1 : name;
}

tide_node tide_node_now(void) {
    tide_node node = {.sequence = 0, .class_name = NULL};
    void *owner[2] = {NULL, NULL};
    if (get_current != NULL) {
        get_current(owner);
    }
    if (owner[0] != NULL) {
        memcpy(&node.sequence, (const char *)owner[0] + known.sequence_at, sizeof(node.sequence));
        node.class_name = class_of(owner[0]);
        give_back(owner);
    } else if (peek != NULL) {
        node.sequence = peek();
    }
    return node;
}

unsigned tide_node_mode(void) {
    if (has_gradients == NULL) {
        return TIDE_AUTOGRAD_UNKNOWN;
    }
    if (is_inference != NULL && is_inference()) {
        return TIDE_AUTOGRAD_INFERENCE;
    }
    return has_gradients() ? TIDE_AUTOGRAD_ON : TIDE_AUTOGRAD_OFF;
}
