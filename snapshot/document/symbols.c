#define _GNU_SOURCE /* dladdr */
#include "snapshot/document/symbols.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/demangle.h"
#include "common/event.h"
#include "common/map.h"
#include "snapshot/document/symbols_internal.h"

#if TIDEMARK_HAVE_BACKTRACE
#include <backtrace.h>
#endif

/* The file of a module loaded by another process. */
typedef struct module_file {
    bool is_used;                  /* an address in it was looked up */
    bool is_here;                  /* the file exists and is the same */
    uintptr_t base;                /* libbacktrace's address of its offset 0 */
    struct backtrace_state *state; /* libbacktrace's view of it; owned by the process; NULL: none */
} module_file;

struct tide_symbols {
    const tide_hostmem *mem; /* borrowed */
    tide_strings *strings;   /* borrowed */
    tide_map by_address;     /* return address -> (first frame << 16 | number of frames) */
    tide_frame_row *frames;  /* owned */
    size_t n_frames;
    size_t capacity;                   /* of frames */
    size_t first;                      /* first frame of the address being looked up */
    tide_status status;                /* of the callbacks of that look-up */
    const tide_symbol_module *modules; /* borrowed, n_modules; of another process */
    module_file *files;                /* owned, n_modules; NULL: addresses are of this process */
    size_t n_modules;
    const char *own_file; /* of the module being looked up, if it is tidemark's; else NULL */
};

enum { MAX_FRAMES_PER_ADDRESS = 0xffff, MODULE_TEXT = 512, OFFSET_BITS = 48 };

#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)

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

tide_status tide_symbols_create_for(const tide_hostmem *mem, tide_strings *strings,
                                    const tide_symbol_module *modules, size_t n_modules,
                                    tide_symbols **ret_symbols) {
    tide_symbols *symbols = NULL;
    TIDE_TRY(tide_symbols_create(mem, strings, &symbols));
    symbols->files = tide_hostmem_zeroed(mem, n_modules + 1, sizeof(*symbols->files));
    if (symbols->files == NULL) {
        tide_symbols_destroy(symbols);
        return TIDE_NO_MEMORY;
    }
    symbols->modules = modules;
    symbols->n_modules = n_modules;
    *ret_symbols = symbols;
    return TIDE_OK;
}

uint64_t tide_symbol_address(uint64_t module, uint64_t offset) {
    return module << OFFSET_BITS | (offset & OFFSET_MASK);
}

uint64_t tide_symbol_module_of(uint64_t address) {
    return address >> OFFSET_BITS;
}

void tide_symbols_count_modules(const tide_symbols *symbols, size_t *ret_n_used,
                                size_t *ret_n_absent) {
    *ret_n_used = 0;
    *ret_n_absent = 0;
    for (size_t i = 0; i < symbols->n_modules; i++) {
        *ret_n_used += symbols->files[i].is_used ? 1 : 0;
        *ret_n_absent += symbols->files[i].is_used && !symbols->files[i].is_here ? 1 : 0;
    }
}

void tide_symbols_destroy(tide_symbols *symbols) {
    if (symbols == NULL) {
        return;
    }
    tide_map_fini(&symbols->by_address);
    symbols->mem->release(symbols->mem->ctx, symbols->frames);
    symbols->mem->release(symbols->mem->ctx, symbols->files);
    symbols->mem->release(symbols->mem->ctx, symbols);
}

static tide_status add_frame(tide_symbols *symbols, const char *function, const char *file,
                             int line) {
    TIDE_ASSERT(symbols->first <= symbols->n_frames);
    if (symbols->n_frames - symbols->first == MAX_FRAMES_PER_ADDRESS) {
        return TIDE_OK; /* more than any compiler inlines */
    }
    tide_frame_row *frames = tide_hostmem_grow(symbols->mem, symbols->frames, &symbols->capacity,
                                               symbols->n_frames + 1, sizeof(*frames));
    if (frames == NULL) {
        return TIDE_NO_MEMORY;
    }
    symbols->frames = frames;
    file = file != NULL ? file : symbols->own_file;
    /* "./" means the folder of compilation, which differs from machine to machine. */
    if (file != NULL && strncmp(file, "./", 2) == 0) {
        file += 2;
    }
    tide_frame_row frame = {.function = TIDE_NONE, .file = TIDE_NONE, .line = line};
    char *demangled = tide_demangle(function);
    tide_status status = tide_strings_intern(
        symbols->strings, demangled != NULL ? demangled : function, &frame.function);
    free(demangled);
    TIDE_TRY(status);
    TIDE_TRY(tide_strings_intern(symbols->strings, file, &frame.file));
    /* The previous frame of this address was inlined into this one. */
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

/* libbacktrace's view of the process, or NULL. Threads can share it and it can never be freed, so
 * the process has one, not each symboliser. */
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

/* From the debug information, or the name alone from the symbol table. */
static void look_up_debug(tide_symbols *symbols, struct backtrace_state *state, uintptr_t pc) {
    if (state == NULL) {
        return;
    }
    (void)backtrace_pcinfo(state, pc, take_frame, ignore_error, symbols);
    if (symbols->n_frames == symbols->first && symbols->status == TIDE_OK) {
        (void)backtrace_syminfo(state, pc, take_symbol, ignore_error, symbols);
    }
}

static void open_module(const tide_symbol_module *module, module_file *file) {
    char path[TIDE_MODULE_PATH];
    bool is_fixed = false;
    file->is_used = true;
    file->is_here = tide_symbol_module_find(module, path, &is_fixed);
    if (file->is_here) {
        file->state = tide_symbol_state(path, is_fixed);
        file->base = tide_symbol_base(is_fixed);
    }
}
#else
struct backtrace_state;

static struct backtrace_state *process_state(void) {
    return NULL;
}

static void look_up_debug(tide_symbols *symbols, struct backtrace_state *state, uintptr_t pc) {
    (void)symbols;
    (void)state;
    (void)pc;
}

static void open_module(const tide_symbol_module *module, module_file *file) {
    char path[TIDE_MODULE_PATH];
    bool is_fixed = false;
    file->is_used = true;
    file->is_here = tide_symbol_module_find(module, path, &is_fixed);
}
#endif

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Without debug information, the code of our preloaded objects has their name in place of a source
 * file: it is never the program's. */
static const char *own_file(const char *path) {
    static const char PREFIX[] = "libtidemark_";
    return strncmp(name_of(path), PREFIX, sizeof(PREFIX) - 1) == 0 ? name_of(path) : NULL;
}

/* Looks up code of another process: `address` is from tide_symbol_address. */
static tide_status look_up_file(tide_symbols *symbols, uint64_t address) {
    uint64_t number = tide_symbol_module_of(address);
    uint64_t offset = address & OFFSET_MASK;
    char text[MODULE_TEXT];
    if (number >= symbols->n_modules) {
        (void)snprintf(text, sizeof(text), "0x%" PRIx64, offset);
        return add_frame(symbols, text, NULL, 0);
    }
    const tide_symbol_module *module = &symbols->modules[number];
    module_file *file = &symbols->files[number];
    if (!file->is_used) {
        open_module(module, file);
    }
    symbols->own_file = own_file(module->path);
    if (file->is_here) {
        look_up_debug(symbols, file->state, file->base + (uintptr_t)offset);
    }
    if (symbols->status == TIDE_OK && symbols->n_frames == symbols->first) {
        (void)snprintf(text, sizeof(text), "0x%" PRIx64 " in %s", offset, name_of(module->path));
        symbols->status = add_frame(symbols, text, NULL, 0);
    }
    symbols->own_file = NULL;
    return symbols->status;
}

/* From the dynamic linker: an exported function's name, else the place in the module. */
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
    (void)snprintf(text, sizeof(text), "0x%" PRIxPTR " in %s", pc - (uintptr_t)info.dli_fbase,
                   name_of(info.dli_fname));
    return add_frame(symbols, text, NULL, 0);
}

tide_status tide_symbols_resolve(tide_symbols *symbols, uint64_t return_address,
                                 const tide_frame_row **ret_frames, size_t *ret_n_frames) {
    uint64_t known = 0;
    if (!tide_map_find(&symbols->by_address, return_address, &known)) {
        symbols->first = symbols->n_frames;
        symbols->status = TIDE_OK;
        /* Look up the call, not the return address, which may belong to the next line or even to
         * the next function. */
        uintptr_t pc = (uintptr_t)return_address - (return_address > 0 ? 1 : 0);
        if (symbols->files != NULL) {
            symbols->status = look_up_file(symbols, pc);
        } else {
            look_up_debug(symbols, process_state(), pc);
        }
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
    TIDE_ASSERT((known >> 16) + (known & MAX_FRAMES_PER_ADDRESS) <= symbols->n_frames);
    *ret_frames = symbols->frames + (size_t)(known >> 16);
    *ret_n_frames = (size_t)(known & MAX_FRAMES_PER_ADDRESS);
    return TIDE_OK;
}
