#include "programs/virtual_cuda/launches/launched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/virtual_cuda/launches/stores.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/process/stack_bounds.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/values/reached.h"
#include "programs/virtual_cuda/values/unknown.h"

/* Kernels have up to 4 KiB of arguments; from compute capability 7.0 on up to 32,764 bytes, which
 * only PyTorch's kernels for lists of tensors approach. */
enum { MAX_ARGUMENTS = 256, USUAL_BYTES = 4096, LARGEST_BYTES = 32764 };

/* ---- PyTorch's kernels whose arguments are known ---- */

/* The bytes of a value of this type, spelled as in compilers' names; 0: another type. */
static size_t value_bytes(const char *type) {
    static const struct {
        const char *type;
        size_t n_bytes;
    } TYPES[] = {{"b", 1}, {"a", 1},           {"h", 1}, {"s", 2}, {"t", 2},
                 {"i", 4}, {"j", 4},           {"f", 4}, {"l", 8}, {"m", 8},
                 {"d", 8}, {"N3c104HalfE", 2}, {"x", 8}, {"y", 8}, {"N3c108BFloat16E", 2}};
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        size_t n = strlen(TYPES[i].type);
        if (strncmp(type, TYPES[i].type, n) == 0 && type[n] == 'E') {
            return TYPES[i].n_bytes;
        }
    }
    return 0;
}

/* PyTorch's kernels for (int n, a functor, the addresses of the result and of the operands, ...). A
 * functor that is a lambda may hold addresses itself; a named one holds none. */
static bool is_elementwise(const char *name) {
    bool is_one = strstr(name, "29vectorized_elementwise_kernelI") != NULL ||
                  strstr(name, "27unrolled_elementwise_kernelI") != NULL;
    return is_one && strstr(name, "Ul") == NULL;
}

/* The output of such a kernel becomes unknown, or known for a fill, unless the fill is captured and
 * so happens later. */
static void note_elementwise(const char *name, void **arguments, bool is_captured) {
    static const char FUNCTOR[] = "FillFunctorI";
    const char *functor = strstr(name, FUNCTOR);
    size_t n_value = functor != NULL ? value_bytes(functor + sizeof(FUNCTOR) - 1) : 0;
    int n = 0;
    void *to = NULL;
    memcpy(&n, arguments[0], sizeof(n));
    memcpy(&to, arguments[2], sizeof(to));
    if (n_value > 0 && n > 0 && !is_captured && tide_vc_is_device(to)) {
        tide_vc_known_fill(to, arguments[1], n_value, (size_t)n * n_value);
    } else {
        tide_vc_touch(to);
    }
}

/* ---- arguments ---- */

/* The words are other functions' variables and the gaps between them. */
__attribute__((no_sanitize("address"))) static uintptr_t word_at(uintptr_t address) {
    return *(const volatile uintptr_t *)address;
}

static void touch_words(uintptr_t from, uintptr_t to, bool is_recorded) {
    uint64_t low = 0;
    uint64_t high = 0;
    tide_vc_known_bounds(&low, &high);
    for (uintptr_t at = from; at + sizeof(uintptr_t) <= to; at += sizeof(uintptr_t)) {
        uintptr_t word = word_at(at);
        if (is_recorded) {
            tide_vc_reached(word);
        }
        if (word >= low && word < high) {
            tide_vc_touch((const void *)word);
        }
    }
}

/* The compiler's launch function keeps the arguments and the list of their addresses on the stack.
 * So the list ends at the first entry that is not an address of the stack, and an argument ends at
 * the latest where the next begins. Reading too far forgets too much, never too little. */
static void touch_arguments(void **arguments, uintptr_t low, size_t largest_bytes,
                            bool is_recorded) {
    uintptr_t end = tide_vc_stack_end();
    uintptr_t list = (uintptr_t)arguments;
    uintptr_t found[MAX_ARGUMENTS];
    size_t n = 0;
    if (list < low || list >= end) { /* on the heap: its length is unknown */
        tide_vc_known_forget_all();
        if (is_recorded) {
            tide_vc_reached_anywhere();
        }
        return;
    }
    for (; n < MAX_ARGUMENTS && list + n * sizeof(uintptr_t) < end; n++) {
        found[n] = word_at(list + n * sizeof(uintptr_t));
        if (found[n] < low || found[n] >= end) {
            break;
        }
    }
    for (size_t i = 0; i < n; i++) {
        uintptr_t to = end - found[i] > largest_bytes ? found[i] + largest_bytes : end;
        for (size_t j = 0; j < n; j++) {
            to = found[j] > found[i] && found[j] < to ? found[j] : to;
        }
        if (found[i] % sizeof(uintptr_t) == 0) { /* otherwise it holds no address */
            touch_words(found[i], to, is_recorded);
        }
    }
}

void tide_vc_launched(const char *name, void **arguments, void *stream) {
    bool is_captured = tide_vc_stream_of(stream)->capture != NULL;
    tide_vc_unknown_after(name);
    if (arguments == NULL) {
        return;
    }
    if (is_elementwise(name)) {
        note_elementwise(name, arguments, is_captured);
    } else if (is_captured || !tide_vc_known_is_empty()) {
        bool is_list = strstr(name, "multi_tensor_apply") != NULL;
        touch_arguments(arguments, (uintptr_t)__builtin_frame_address(0),
                        is_list ? LARGEST_BYTES : USUAL_BYTES, is_captured);
    }
}

static void touch(uint64_t address) {
    tide_vc_touch((const void *)(uintptr_t)address); /* NOLINT(performance-no-int-to-ptr) */
    tide_vc_reached(address);
}

void tide_vc_launched_generated(const void *kernel, void **arguments) {
    tide_vc_stores stores = 0;
    tide_vc_unknown_after("");
    if (arguments == NULL) {
        return;
    }
    if (!tide_vc_stores_find(kernel, &stores)) {
        touch_arguments(arguments, (uintptr_t)__builtin_frame_address(0), USUAL_BYTES, true);
        return;
    }
    for (size_t i = 0; stores != 0; i++, stores >>= 1) {
        if ((stores & 1) != 0) {
            uint64_t address = 0;
            memcpy(&address, arguments[i], sizeof(address));
            touch(address);
        }
    }
}

void tide_vc_launched_packed(void **packed) {
    const void *buffer = NULL;
    size_t n_bytes = 0;
    for (; *packed != NULL; packed += 2) {
        if ((uintptr_t)packed[0] == 1) {
            buffer = packed[1];
        } else if ((uintptr_t)packed[0] == 2) {
            n_bytes = *(const size_t *)packed[1];
        }
    }
    for (size_t i = 0; buffer != NULL && i + sizeof(uint64_t) <= n_bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, (const char *)buffer + i, sizeof(word));
        touch(word);
    }
}
