/* stacks.c - the calling thread's stack as a number of the recorder's depot.
 *
 * Python frames become numbers in place of return addresses. A thread remembers its last stack,
 * outermost frame first: frames that have not moved since keep their numbers, and hashing the stack
 * resumes at the first frame that has moved.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_DEFAULT */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/lock_friend.h"
#include "common/map.h"
#include "programs/live/memory.h"
#include "programs/live/modules.h"
#include "programs/live/python/python_frames.h"
#include "programs/live/state_friend.h"
#include "stack/depot.h"

enum { MAX_FRAMES = 1024, TEXT_BYTES = 1024 }; /* Python's own limit is 1000 calls */

/* A frame of the last stack. */
typedef struct remembered {
    const void *at; /* the instruction */
    tide_python_identity identity;
    uint64_t pc;   /* its number, with TIDE_LOG_PYTHON_BIT */
    uint64_t hash; /* of the stack from the outermost frame to this one */
} remembered;

/* Buffers to build a stack. Not on the thread's own stack, which may be small. */
typedef struct workplace {
    tide_python_frame now[MAX_FRAMES]; /* innermost first */
    uint64_t pcs[2 * MAX_FRAMES];
} workplace;

/* A thread's cache. Its memory is reused when the thread ends. */
typedef struct memory {
    workplace *at; /* owned */
    unsigned generation;
    size_t n; /* frames, outermost first */
    remembered frames[MAX_FRAMES];
    uint32_t number; /* of the stack; TIDE_NONE */
    uint32_t native; /* the native stack in `both` */
    uint32_t both;   /* number of the combined stack of native and Python frames */
} memory;

static _Thread_local memory *mine;

/* A frame with a number. */
typedef struct known_frame {
    tide_python_identity identity;
    uint32_t file; /* text of the recorder */
    int line;      /* 0: unknown */
} known_frame;

static struct {
    tide_lock lock;
    tide_map at; /* instruction -> number */
    known_frame *known;
    size_t n;
    size_t capacity;
} frames;

void tide_live_stacks_reset(tide_live *live) {
    (void)live;
    frames.lock = (tide_lock){0};
    tide_map_init(&frames.at, tide_live_memory()); /* the old memory is never released */
    frames.known = NULL;
    frames.n = 0;
    frames.capacity = 0;
    tide_live_modules_reset();
}

static void release_memory(void *of) {
    const memory *ended = of;
    mine = NULL; /* code that frees memory later in the thread's end makes a new one */
    tide_live_memory()->release(NULL, ended->at);
    tide_live_memory()->release(NULL, of);
}

/* NULL: no memory. */
static memory *make_memory(void) {
    const tide_hostmem *mem = tide_live_memory();
    memory *made = tide_hostmem_zeroed(mem, 1, sizeof(*made));
    workplace *at = made != NULL ? mem->alloc(mem->ctx, sizeof(*at)) : NULL;
    if (at == NULL) {
        mem->release(mem->ctx, made);
        return NULL;
    }
    made->at = at;
    return made;
}

static pthread_key_t key;
static void make_key(void) {
    (void)pthread_key_create(&key, release_memory); /* without a key: leaks at the thread's end */
}

static memory *my_memory(const tide_live *live) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (mine == NULL) {
        mine = make_memory();
        (void)pthread_once(&once, make_key);
        (void)pthread_setspecific(key, mine);
    }
    if (mine != NULL && mine->generation != live->generation) {
        mine->generation = live->generation;
        mine->n = 0;
        mine->native = TIDE_NONE;
    }
    return mine;
}

/* ---- Python ---- */

static bool same_identity(const tide_python_identity *a, const tide_python_identity *b) {
    return a->file == b->file && a->name == b->name && a->first_line == b->first_line;
}

/* Under the lock: a number for a new frame. TIDE_NONE: no memory. */
static uint32_t add_frame(const tide_live *live, const tide_python_frame *frame,
                          const tide_python_identity *identity) {
    char file[TEXT_BYTES];
    char function[TEXT_BYTES];
    known_frame *known = tide_hostmem_grow(tide_live_memory(), frames.known, &frames.capacity,
                                           frames.n + 1, sizeof(*known));
    if (known == NULL) {
        return TIDE_NONE;
    }
    frames.known = known;
    uint32_t number = (uint32_t)frames.n;
    if (tide_map_put(&frames.at, (uint64_t)(uintptr_t)frame->at, number) != TIDE_OK) {
        return TIDE_NONE;
    }
    int line = tide_python_frames_describe(frame, file, sizeof(file), function, sizeof(function));
    known[frames.n++] =
        (known_frame){*identity, tide_recorder_intern(live->recorder, file), line > 0 ? line : 0};
    const tide_log_python_frame record = {.number = number,
                                          .line = (uint32_t)known[number].line,
                                          .file = known[number].file,
                                          .function =
                                              tide_recorder_intern(live->recorder, function)};
    tide_recorder_write_record(live->recorder, TIDE_LOG_PYTHON_FRAME, &record, sizeof(record));
    return number;
}

static uint32_t number_frame(const tide_live *live, const tide_python_frame *frame,
                             const tide_python_identity *identity) {
    uint64_t number = 0;
    tide_lock_acquire(&frames.lock);
    if (!tide_map_find(&frames.at, (uint64_t)(uintptr_t)frame->at, &number) ||
        !same_identity(&frames.known[number].identity, identity)) {
        number = add_frame(live, frame, identity);
    }
    tide_lock_release(&frames.lock);
    return (uint32_t)number;
}

bool tide_live_line(const tide_live *live, size_t number, const char **ret_file, int *ret_line) {
    tide_lock_acquire(&frames.lock);
    bool is_known = number < frames.n;
    known_frame found = is_known ? frames.known[number] : (known_frame){.file = TIDE_NONE};
    tide_lock_release(&frames.lock);
    const char *file = tide_recorder_text(live->recorder, found.file);
    *ret_file = file != NULL ? file : "";
    *ret_line = found.line;
    return is_known;
}

/* The number of frames, counted from the outermost, that equal those the thread remembers. `n`
 * frames, innermost first. */
static size_t count_same(const memory *of, const tide_python_frame *now, size_t n) {
    size_t same = 0;
    for (; same < n && same < of->n; same++) {
        const tide_python_frame *frame = &now[n - 1 - same];
        tide_python_identity identity;
        if (of->frames[same].at != frame->at) {
            break;
        }
        tide_python_frames_identify(frame->code, &identity);
        if (!same_identity(&identity, &of->frames[same].identity)) {
            break;
        }
    }
    return same;
}

/* Updates the cache to these frames. Returns the number of the stack; TIDE_NONE: no memory. */
static uint32_t number_stack(const tide_live *live, memory *of, size_t n) {
    const tide_python_frame *now = of->at->now;
    uint64_t *pcs = of->at->pcs;
    size_t same = count_same(of, now, n);
    if (same == n && n == of->n) {
        return of->number;
    }
    of->n = 0;
    for (size_t i = same; i < n; i++) {
        const tide_python_frame *frame = &now[n - 1 - i];
        remembered *to = &of->frames[i];
        to->at = frame->at;
        tide_python_frames_identify(frame->code, &to->identity);
        uint32_t number = number_frame(live, frame, &to->identity);
        if (number == TIDE_NONE) {
            return TIDE_NONE;
        }
        to->pc = TIDE_LOG_PYTHON_BIT | number;
        to->hash = tide_stack_hash(i > 0 ? of->frames[i - 1].hash : TIDE_STACK_HASH_SEED, to->pc);
    }
    for (size_t i = 0; i < n && i < live->max_frames; i++) {
        pcs[i] = of->frames[n - 1 - i].pc;
    }
    of->n = n;
    of->native = TIDE_NONE;
    tide_stack_depot *depot = tide_recorder_depot(live->recorder);
    of->number = n <= live->max_frames
                     ? tide_stack_depot_intern_hashed(depot, of->frames[n - 1].hash, pcs, n)
                     : tide_stack_depot_intern(depot, pcs, live->max_frames);
    return of->number;
}

/* ---- native and Python ---- */

/* The bounds of the interpreter's code; 0, 0: unknown. */
static _Atomic uint64_t interpreter_begin, interpreter_end;

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    uint64_t function = (uint64_t)(uintptr_t)data;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && function >= begin && function < begin + part->p_memsz) {
            atomic_store(&interpreter_begin, begin);
            atomic_store(&interpreter_end, begin + part->p_memsz);
            return 1;
        }
    }
    return 0;
}

static bool is_of_interpreter(uint64_t pc) {
    if (atomic_load_explicit(&interpreter_end, memory_order_relaxed) == 0) {
        void *function = dlsym(RTLD_DEFAULT, "Py_GetVersion");
        (void)dl_iterate_phdr(find_interpreter, function);
    }
    return pc >= atomic_load_explicit(&interpreter_begin, memory_order_relaxed) &&
           pc < atomic_load_explicit(&interpreter_end, memory_order_relaxed);
}

/* Joins the native frames that the interpreter called with Python's frames. */
static uint32_t join(const tide_live *live, memory *of, uint32_t native, size_t n_python) {
    uint64_t *pcs = of->at->pcs;
    size_t n_native = 0;
    size_t n = 0;
    const uint64_t *from = tide_stack_depot_get(live->native, native, &n_native);
    if (from == NULL) {
        return n_python > 0 ? of->number : TIDE_NONE;
    }
    if (n_python > 0 && of->native == native) {
        return of->both;
    }
    while (n < n_native && n < MAX_FRAMES && (n_python == 0 || !is_of_interpreter(from[n]))) {
        pcs[n] = from[n];
        n++;
    }
    for (size_t i = 0; i < n_python && n < live->max_frames; i++) {
        pcs[n++] = of->frames[n_python - 1 - i].pc;
    }
    uint32_t number = tide_stack_depot_intern(tide_recorder_depot(live->recorder), pcs, n);
    if (n_python > 0) {
        of->native = native;
        of->both = number;
    }
    return number;
}

/* Searches for the interpreter until it is found: a program may load it late. */
static bool reads_python(void) {
    static _Atomic int is_refused;
    const char *why = NULL;
    if (atomic_load_explicit(&is_refused, memory_order_relaxed) != 0) {
        return false;
    }
    if (tide_python_frames_begin(&why)) {
        return true;
    }
    if (why != NULL && atomic_exchange(&is_refused, 1) == 0) {
        tide_live_describe("live.python_stacks", why);
    }
    return false;
}

tide_live_place tide_live_find_place(tide_live *live) {
    tide_live_place place = {.stack = TIDE_NONE, .module = TIDE_NONE};
    memory *of = my_memory(live);
    bool is_wanted = (live->stacks & TIDE_LIVE_PYTHON) != 0;
    size_t n = is_wanted && of != NULL && reads_python()
                   ? tide_python_frames_walk(of->at->now, MAX_FRAMES)
                   : 0;
    place.module = n > 0 ? tide_live_find_module(of->at->now, n) : TIDE_NONE;
    if (!tide_live_is_walked(live)) {
        return place;
    }
    if (n > 0) {
        place.stack = number_stack(live, of, n);
    }
    if (live->unwinder != NULL && (live->stacks & TIDE_LIVE_NATIVE) != 0) {
        uint32_t native = tide_unwinder_capture(live->unwinder);
        place.stack = live->native == NULL || of == NULL
                          ? native
                          : join(live, of, native, place.stack != TIDE_NONE ? n : 0);
    }
    return place;
}
