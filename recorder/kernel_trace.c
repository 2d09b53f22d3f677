/* kernel_trace.c - collects CUPTI's records of kernels and matches them with scopes.
 *
 * CUPTI reports a kernel with the number of the call that launched it, and, for each call, the
 * "external" number that was pushed last on the calling thread. We push the scope's number when a
 * scope begins, so the two records together identify the scope that launched the kernel.
 */
#define _POSIX_C_SOURCE 200809L
#include "recorder/kernel_trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "recorder/cupti_internal.h"
#include "recorder/kernel_trace_internal.h"
#include "recorder/state_internal.h"

#define BUFFER_BYTES ((size_t)1 << 20) /* of records, as CUPTI requests them */

/* A kernel that ran. */
typedef struct launch {
    uint32_t correlation; /* number of the call that launched it */
    uint32_t name;        /* string of the recorder; TIDE_NONE: no memory for it */
    int64_t duration_ns;
} launch;

/* The scope in which a call was made. */
typedef struct call_scope {
    uint32_t correlation;
    tide_scope scope;
} call_scope;

struct tide_kernel_trace {
    const tide_hostmem *mem; /* borrowed; the recorder's */
    tide_recorder *recorder; /* borrowed */
    tide_cupti cupti;        /* its functions */
    bool is_on;              /* kernels are traced; only the owner's thread uses this */
    tide_scope *open;        /* owned; n_open scopes that were pushed and not yet popped */
    size_t n_open;
    size_t open_capacity;

    /* CUPTI returns buffers on a thread of its own. */
    pthread_mutex_t lock; /* guards everything below */
    launch *launches;     /* owned; launches not added up yet */
    size_t n_launches;
    size_t launches_capacity;
    call_scope *calls; /* owned; in the order of CUPTI's records */
    size_t n_calls;
    size_t n_older_calls; /* of these, calls known before the last collection */
    size_t calls_capacity;
    tide_map names;     /* address of a kernel's name -> string of the recorder */
    tide_status status; /* the first failure; the next collection returns it */
};

/* CUPTI exists once in a process, and its callbacks get no pointer from us. So there can be only
 * one trace, which they find here. A callback holds the lock while it uses the trace, so the trace
 * cannot be destroyed meanwhile. */
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static tide_kernel_trace *current;

/* What the user can do about an error of CUPTI. */
static const char *remedy_of(int result) {
    switch (result) {
    case TIDE_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return "the driver lets administrators trace alone: run as root, or have the module option "
               "NVreg_RestrictProfilingToAdminUsers=0 set";
    case TIDE_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "the hypervisor of this virtual GPU does not allow it";
    case TIDE_CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return "a GPU in confidential computing mode does not allow it";
    case TIDE_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "another tool is using it: not under nsys, ncu, cuda-gdb or compute-sanitizer";
    default:
        return "another tool, such as nsys, may be using it, or the driver may be older than this "
               "CUPTI (TIDEMARK_CUPTI names another one)";
    }
}

static tide_status fail_call(const tide_kernel_trace *trace, const char *call, int result,
                             tide_error *error) {
    const char *text = NULL;
    (void)trace->cupti.get_result_string(result, &text);
    return tide_fail(error, TIDE_DEVICE_FAILED,
                     "CUPTI's %s answers %s (%d), so kernels cannot be traced: %s", call,
                     text == NULL ? "an unknown error" : text, result, remedy_of(result));
}

static tide_status no_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "no host memory to trace kernels");
}

/* ---- callbacks of CUPTI ---- */

static void give_buffer(uint8_t **ret_buffer, size_t *ret_n_bytes, size_t *ret_max_records) {
    *ret_buffer = NULL;
    *ret_n_bytes = 0;
    *ret_max_records = 0; /* as many as fit */
    pthread_mutex_lock(&current_lock);
    if (current != NULL) {
        *ret_buffer = current->mem->alloc(current->mem->ctx, BUFFER_BYTES);
        if (*ret_buffer != NULL) {
            *ret_n_bytes = BUFFER_BYTES;
        } else {
            pthread_mutex_lock(&current->lock);
            current->status = TIDE_NO_MEMORY;
            pthread_mutex_unlock(&current->lock);
        }
    }
    pthread_mutex_unlock(&current_lock);
}

/* Interns "void rmsnorm<float>(float*, ...)" without its arguments. The C++ runtime demangles if
 * the program has one loaded; we do not link it for this. */
static uint32_t intern_kernel(tide_recorder *recorder, const char *mangled) {
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    void *program = dlopen(NULL, RTLD_NOW);
    void *symbol = program != NULL ? dlsym(program, "__cxa_demangle") : NULL;
    char *text = NULL;
    int status = 0;
    if (symbol != NULL) {
        memcpy(&demangle, &symbol, sizeof(symbol));
        text = demangle(mangled, NULL, NULL, &status);
    }
    if (text != NULL) {
        /* From the end backwards: the argument list begins at the parenthesis that matches the last
         * closing one. Arguments that are function pointers have parentheses of their own. */
        size_t depth = 0;
        for (size_t i = strlen(text); i > 0; i--) {
            depth += text[i - 1] == ')';
            depth -= text[i - 1] == '(' && depth > 0;
            if (text[i - 1] == '(' && depth == 0) {
                text[i - 1] = '\0';
                break;
            }
        }
    }
    uint32_t name = tide_recorder_intern(recorder, text != NULL ? text : mangled);
    free(text);
    if (program != NULL) {
        (void)dlclose(program);
    }
    return name;
}

/* This and the next functions are called under the trace's lock. */
static uint32_t name_of(tide_kernel_trace *trace, const char *mangled) {
    uint64_t found = 0;
    uint64_t key = (uint64_t)(uintptr_t)mangled;
    if (mangled == NULL) {
        return tide_recorder_intern(trace->recorder, "?");
    }
    if (tide_map_find(&trace->names, key, &found)) {
        return (uint32_t)found;
    }
    uint32_t name = intern_kernel(trace->recorder, mangled);
    if (name != TIDE_NONE && tide_map_put(&trace->names, key, name) != TIDE_OK) {
        return TIDE_NONE;
    }
    return name;
}

static tide_status keep_launch(tide_kernel_trace *trace, const tide_cupti_kernel *kernel) {
    launch *launches = tide_hostmem_grow(trace->mem, trace->launches, &trace->launches_capacity,
                                         trace->n_launches + 1, sizeof(*launches));
    if (launches == NULL) {
        return TIDE_NO_MEMORY;
    }
    trace->launches = launches;
    /* CUPTI sets both times to 0 if it could not measure them. */
    int64_t duration_ns =
        kernel->end_ns > kernel->start_ns ? (int64_t)(kernel->end_ns - kernel->start_ns) : 0;
    launches[trace->n_launches++] =
        (launch){kernel->correlation, name_of(trace, kernel->name), duration_ns};
    return TIDE_OK;
}

static tide_status keep_call(tide_kernel_trace *trace, const tide_cupti_external *external) {
    call_scope *calls = tide_hostmem_grow(trace->mem, trace->calls, &trace->calls_capacity,
                                          trace->n_calls + 1, sizeof(*calls));
    if (calls == NULL) {
        return TIDE_NO_MEMORY;
    }
    trace->calls = calls;
    calls[trace->n_calls++] = (call_scope){external->correlation, (tide_scope)external->external};
    return TIDE_OK;
}

static tide_status read_buffer(tide_kernel_trace *trace, uint8_t *buffer, size_t n_valid_bytes) {
    void *record = NULL;
    while (trace->cupti.get_next_record(buffer, n_valid_bytes, &record) == 0) {
        uint32_t kind = 0;
        memcpy(&kind, record, sizeof(kind));
        if (kind == TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            TIDE_TRY(keep_launch(trace, record));
        } else if (kind == TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
            const tide_cupti_external *external = record;
            if (external->external_kind == TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
                TIDE_TRY(keep_call(trace, external));
            }
        }
    }
    return TIDE_OK;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t n_bytes,
                        size_t n_valid_bytes) {
    (void)context;
    (void)stream;
    (void)n_bytes;
    pthread_mutex_lock(&current_lock);
    tide_kernel_trace *trace = current;
    if (trace != NULL && buffer != NULL) {
        pthread_mutex_lock(&trace->lock);
        tide_status status = read_buffer(trace, buffer, n_valid_bytes);
        trace->status = trace->status == TIDE_OK ? status : trace->status;
        pthread_mutex_unlock(&trace->lock);
        trace->mem->release(trace->mem->ctx, buffer);
    }
    pthread_mutex_unlock(&current_lock);
}

/* ---- adding up ---- */

static int compare_calls(const void *a, const void *b) {
    uint32_t left = ((const call_scope *)a)->correlation;
    uint32_t right = ((const call_scope *)b)->correlation;
    return (left > right) - (left < right);
}

/* Called under the trace's lock, with the calls sorted. NULL if no call with that number is
 * known. */
static const call_scope *find_call(const tide_kernel_trace *trace, uint32_t correlation) {
    const call_scope key = {.correlation = correlation};
    return trace->n_calls == 0
               ? NULL
               : bsearch(&key, trace->calls, trace->n_calls, sizeof(key), compare_calls);
}

/* CUPTI delivers calls and kernels in separate buffers, in no particular order. So a kernel whose
 * call is not known yet waits for the next collection, and calls are kept for one more collection.
 * In the last collection, a kernel without a call was launched outside every scope. */
static tide_status add_up(tide_kernel_trace *trace, bool is_last) {
    size_t n_waiting = 0;
    if (trace->n_calls > 0) {
        qsort(trace->calls, trace->n_calls, sizeof(*trace->calls), compare_calls);
    }
    for (size_t i = 0; i < trace->n_launches; i++) {
        const launch row = trace->launches[i];
        const call_scope *call = find_call(trace, row.correlation);
        if (call == NULL && !is_last) {
            trace->launches[n_waiting++] = row;
            continue;
        }
        TIDE_TRY(tide_recorder_add_launch(trace->recorder, row.name,
                                          call == NULL ? TIDE_NONE : call->scope, row.duration_ns));
    }
    trace->n_launches = n_waiting;
    /* Calls are numbered in the order in which they are made, so after sorting the older ones come
     * first. Those have now been kept for two collections. */
    TIDE_ASSERT(trace->n_older_calls <= trace->n_calls);
    trace->n_calls -= trace->n_older_calls;
    if (trace->n_older_calls > 0) {
        memmove(trace->calls, trace->calls + trace->n_older_calls,
                trace->n_calls * sizeof(*trace->calls));
    }
    trace->n_calls = is_last ? 0 : trace->n_calls;
    trace->n_older_calls = trace->n_calls;
    return TIDE_OK;
}

static tide_status collect(tide_kernel_trace *trace, bool is_last, tide_error *error) {
    const uint32_t flags = is_last ? TIDE_CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0;
    int result = trace->cupti.flush_all(flags);
    if (result != 0) {
        return fail_call(trace, "cuptiActivityFlushAll", result, error);
    }
    pthread_mutex_lock(&trace->lock);
    if (trace->status == TIDE_OK) {
        trace->status = add_up(trace, is_last);
    }
    tide_status status = trace->status;
    pthread_mutex_unlock(&trace->lock);
    return status == TIDE_OK ? TIDE_OK : no_memory(error);
}

tide_status tide_kernel_trace_collect(tide_kernel_trace *trace, tide_error *error) {
    return trace->is_on ? collect(trace, false, error) : TIDE_OK;
}

/* ---- scopes ---- */

void tide_kernel_trace_push(tide_kernel_trace *trace, tide_scope scope) {
    if (!trace->is_on) {
        return;
    }
    tide_scope *open = tide_hostmem_grow(trace->mem, trace->open, &trace->open_capacity,
                                         trace->n_open + 1, sizeof(*open));
    if (open == NULL) {
        pthread_mutex_lock(&trace->lock);
        trace->status = TIDE_NO_MEMORY;
        pthread_mutex_unlock(&trace->lock);
        return;
    }
    trace->open = open;
    TIDE_ASSERT(trace->n_open == 0 || open[trace->n_open - 1] < scope);
    open[trace->n_open++] = scope;
    (void)trace->cupti.push_external(TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, scope);
}

void tide_kernel_trace_pop(tide_kernel_trace *trace, tide_scope scope) {
    /* Scopes opened later have higher numbers, so these are `scope` and the scopes inside it. */
    while (trace->n_open > 0 && trace->open[trace->n_open - 1] >= scope) {
        uint64_t id = 0;
        (void)trace->cupti.pop_external(TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
        trace->n_open--;
    }
}

/* ---- life ---- */

/* Enabled in this order and disabled in reverse, so calls are recorded whenever kernels are: a
 * kernel's scope is found only by the record of its call. */
static const int KINDS[] = {TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                            TIDE_CUPTI_ACTIVITY_KIND_RUNTIME, TIDE_CUPTI_ACTIVITY_KIND_DRIVER,
                            TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
enum { N_KINDS = sizeof(KINDS) / sizeof(KINDS[0]) };

tide_status tide_kernel_trace_begin(tide_kernel_trace *trace, tide_error *error) {
    for (size_t i = 0; i < N_KINDS; i++) {
        int result = trace->cupti.enable(KINDS[i]);
        if (result != 0) {
            while (i > 0) {
                (void)trace->cupti.disable(KINDS[--i]);
            }
            return fail_call(trace, "cuptiActivityEnable", result, error);
        }
    }
    trace->is_on = true;
    return TIDE_OK;
}

tide_status tide_kernel_trace_end(tide_kernel_trace *trace, tide_error *error) {
    if (!trace->is_on) {
        return TIDE_OK;
    }
    tide_kernel_trace_pop(trace, 0);
    for (size_t i = N_KINDS; i > 0; i--) {
        (void)trace->cupti.disable(KINDS[i - 1]);
    }
    trace->is_on = false;
    return collect(trace, true, error);
}

static tide_status make_current(tide_kernel_trace *trace, tide_error *error) {
    pthread_mutex_lock(&current_lock);
    bool is_free = current == NULL;
    current = is_free ? trace : current;
    pthread_mutex_unlock(&current_lock);
    return is_free ? TIDE_OK
                   : tide_fail(error, TIDE_INVALID, "kernels of this process are traced already");
}

static tide_status start(tide_kernel_trace *trace, tide_error *error) {
    TIDE_TRY(tide_cupti_load(&trace->cupti, error));
    TIDE_TRY(make_current(trace, error));
    tide_status status = TIDE_OK;
    int result = trace->cupti.register_callbacks(give_buffer, take_buffer);
    if (result != 0) {
        status = fail_call(trace, "cuptiActivityRegisterCallbacks", result, error);
        goto fail;
    }
    status = tide_recorder_attach_trace(trace->recorder, trace);
    if (status != TIDE_OK) {
        status = no_memory(error);
        goto fail;
    }
    return TIDE_OK;

fail:
    pthread_mutex_lock(&current_lock);
    current = NULL;
    pthread_mutex_unlock(&current_lock);
    return status;
}

static void release(tide_kernel_trace *trace) {
    const tide_hostmem *mem = trace->mem;
    pthread_mutex_destroy(&trace->lock);
    tide_map_fini(&trace->names);
    mem->release(mem->ctx, trace->open);
    mem->release(mem->ctx, trace->launches);
    mem->release(mem->ctx, trace->calls);
    mem->release(mem->ctx, trace);
}

tide_status tide_kernel_trace_create(tide_recorder *recorder, tide_kernel_trace **ret_trace,
                                     tide_error *error) {
    tide_kernel_trace *trace = tide_hostmem_zeroed(recorder->mem, 1, sizeof(*trace));
    if (trace == NULL) {
        return no_memory(error);
    }
    trace->mem = recorder->mem;
    trace->recorder = recorder;
    trace->status = TIDE_OK;
    tide_map_init(&trace->names, trace->mem);
    if (pthread_mutex_init(&trace->lock, NULL) != 0) {
        trace->mem->release(trace->mem->ctx, trace);
        return no_memory(error);
    }
    tide_status status = start(trace, error);
    if (status != TIDE_OK) {
        release(trace);
        return status;
    }
    *ret_trace = trace;
    return TIDE_OK;
}

void tide_kernel_trace_destroy(tide_kernel_trace *trace) {
    if (trace == NULL) {
        return;
    }
    tide_status ended = tide_kernel_trace_end(trace, NULL);
    (void)ended; /* a destructor cannot report it */
    tide_recorder_detach_trace(trace->recorder);
    /* A buffer that CUPTI returns later is ignored. */
    pthread_mutex_lock(&current_lock);
    TIDE_ASSERT(current == trace);
    current = NULL;
    pthread_mutex_unlock(&current_lock);
    release(trace);
}
