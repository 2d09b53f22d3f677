#define _GNU_SOURCE /* dladdr */
#include "snapshot/symbols.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/event.h"
#include "common/map.h"

#if TIDEMARK_HAVE_BACKTRACE
#include <backtrace.h>
#endif

struct tide_symbols {
    const tide_hostmem *mem; /* borrowed */
    tide_strings *strings;   /* borrowed */
    tide_map by_address;     /* return address -> (first frame << 16 | number of frames) */
    tide_frame_row *frames;  /* owned */
    size_t n_frames;
    size_t capacity;    /* of frames */
    size_t first;       /* first frame of the address being looked up */
    tide_status status; /* what a call-back of that look-up met */
};

enum { MAX_FRAMES_PER_ADDRESS = 0xffff, MODULE_TEXT = 512 };

tide_status tide_symbols_create(const tide_hostmem *mem, tide_strings *strings,
                                tide_symbols **ret_symbols) {
    tide_symbols *symbols = tide_hostmem_zeroed(mem, 1, sizeof(*symbols));
    if (symbols == NULL) {
        return TIDE_NO_MEMORY;
    }
    symbols->mem = mem;
    symbols->strings = strings;
    tide_map_init(&symbols->by_address, mem);
    *ret_symbols = symbols;
    return TIDE_OK;
}

void tide_symbols_destroy(tide_symbols *symbols) {
    if (symbols == NULL) {
        return;
    }
    tide_map_fini(&symbols->by_address);
    symbols->mem->release(symbols->mem->ctx, symbols->frames);
    symbols->mem->release(symbols->mem->ctx, symbols);
}

static tide_status add_frame(tide_symbols *symbols, const char *function, const char *file,
                             int line) {
    if (symbols->n_frames - symbols->first == MAX_FRAMES_PER_ADDRESS) {
        return TIDE_OK; /* no compiler inlines that deep */
    }
    tide_frame_row *frames = tide_hostmem_grow(symbols->mem, symbols->frames, &symbols->capacity,
                                               symbols->n_frames + 1, sizeof(*frames));
    if (frames == NULL) {
        return TIDE_NO_MEMORY;
    }
    symbols->frames = frames;
    /* "./" is the folder of compilation, which is nobody's business. */
    if (file != NULL && strncmp(file, "./", 2) == 0) {
        file += 2;
    }
    tide_frame_row frame = {.function = TIDE_NONE, .file = TIDE_NONE, .line = line};
    TIDE_TRY(tide_strings_intern(symbols->strings, function, &frame.function));
    TIDE_TRY(tide_strings_intern(symbols->strings, file, &frame.file));
    /* Whatever came before it at this address was inlined into it. */
    if (symbols->n_frames > symbols->first) {
        frames[symbols->n_frames - 1].inlined = true;
    }
    frames[symbols->n_frames++] = frame;
    return TIDE_OK;
}

#if TIDEMARK_HAVE_BACKTRACE
static void ignore_error(void *data, const char *message, int error_number) {
    (void)data;
    (void)message;
    (void)error_number;
}

/* libbacktrace's view of the process, or NULL. It can be shared by threads and can never be freed,
 * so there is one for the process and not one per symboliser. */
static struct backtrace_state *process_state(void) {
    static _Atomic(struct backtrace_state *) shared;
    struct backtrace_state *state = atomic_load(&shared);
    if (state == NULL) {
        state = backtrace_create_state(NULL, 1, ignore_error, NULL);
        struct backtrace_state *first = NULL;
        if (!atomic_compare_exchange_strong(&shared, &first, state)) {
            state = first;
        }
    }
    return state;
}

static int take_frame(void *data, uintptr_t pc, const char *file, int line, const char *function) {
    tide_symbols *symbols = data;
    (void)pc;
    if (function != NULL && symbols->status == TIDE_OK) {
        symbols->status = add_frame(symbols, function, file, line);
    }
    return symbols->status != TIDE_OK;
}

static void take_symbol(void *data, uintptr_t pc, const char *name, uintptr_t value,
                        uintptr_t n_bytes) {
    (void)pc;
    (void)value;
    (void)n_bytes;
    tide_symbols *symbols = data;
    if (name != NULL && symbols->status == TIDE_OK) {
        symbols->status = add_frame(symbols, name, NULL, 0);
    }
}

/* From the debug information, or by name alone from the symbol table. */
static void look_up_debug(tide_symbols *symbols, uintptr_t pc) {
    struct backtrace_state *state = process_state();
    if (state == NULL) {
        return;
    }
    (void)backtrace_pcinfo(state, pc, take_frame, ignore_error, symbols);
    if (symbols->n_frames == symbols->first && symbols->status == TIDE_OK) {
        (void)backtrace_syminfo(state, pc, take_symbol, ignore_error, symbols);
    }
}
#else
static void look_up_debug(tide_symbols *symbols, uintptr_t pc) {
    (void)symbols;
    (void)pc;
}
#endif

/* From the dynamic linker: an exported function's name, or else the place in the module. */
static tide_status look_up_module(tide_symbols *symbols, uintptr_t pc) {
    char text[MODULE_TEXT];
    Dl_info info;
    memset(&info, 0, sizeof(info));
    void *address = NULL;
    memcpy(&address, &pc, sizeof(address));
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        (void)snprintf(text, sizeof(text), "0x%" PRIxPTR, pc);
        return add_frame(symbols, text, NULL, 0);
    }
    if (info.dli_sname != NULL) {
        return add_frame(symbols, info.dli_sname, NULL, 0);
    }
    const char *slash = strrchr(info.dli_fname, '/');
    (void)snprintf(text, sizeof(text), "0x%" PRIxPTR " in %s", pc - (uintptr_t)info.dli_fbase,
                   slash == NULL ? info.dli_fname : slash + 1);
    return add_frame(symbols, text, NULL, 0);
}

tide_status tide_symbols_resolve(tide_symbols *symbols, uint64_t return_address,
                                 const tide_frame_row **ret_frames, size_t *ret_n_frames) {
    uint64_t known = 0;
    if (!tide_map_find(&symbols->by_address, return_address, &known)) {
        symbols->first = symbols->n_frames;
        symbols->status = TIDE_OK;
        /* The call lies before the address it returns to, which may belong to the next line or
         * even to the next function. */
        uintptr_t pc = (uintptr_t)return_address - (return_address > 0 ? 1 : 0);
        look_up_debug(symbols, pc);
        if (symbols->status == TIDE_OK && symbols->n_frames == symbols->first) {
            symbols->status = look_up_module(symbols, pc);
        }
        known = (uint64_t)symbols->first << 16 | (symbols->n_frames - symbols->first);
        if (symbols->status == TIDE_OK) {
            symbols->status = tide_map_put(&symbols->by_address, return_address, known);
        }
        if (symbols->status != TIDE_OK) {
            symbols->n_frames = symbols->first;
            return symbols->status;
        }
    }
    *ret_frames = symbols->frames + (size_t)(known >> 16);
    *ret_n_frames = (size_t)(known & MAX_FRAMES_PER_ADDRESS);
    return TIDE_OK;
}
