/* nvtx_ranges.c - pushes and pops NVTX ranges for scopes. */
#define _POSIX_C_SOURCE 200809L
#include "recorder/nvtx_ranges_internal.h"

#ifndef TIDEMARK_HAVE_NVTX
#define TIDEMARK_HAVE_NVTX 0
#endif

#if TIDEMARK_HAVE_NVTX

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

#include "common/assert.h"

enum { MAX_OPEN = 64, NAME_BYTES = 128, INDEX_BYTES = 12 };

/* The ranges that a thread has open. NVTX can only end the innermost one; to end another, all
 * ranges inside it are ended first, and this list gives their number. */
typedef struct open_ranges {
    size_t n_open; /* ranges deeper than MAX_OPEN are counted, but not remembered */
    struct {
        const tide_recorder *recorder; /* never dereferenced */
        tide_scope scope;
    } ranges[MAX_OPEN];
} open_ranges;

static _Thread_local open_ranges mine;

/* NVTX keeps the tool of the process in a global variable. So the process also has a single domain,
 * which is set once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nvtxDomainHandle_t domain; /* NULL: no tool listens */
static atomic_int is_deaf;        /* 1: no tool listens; then a scope costs one branch */

static void make_domain(void) {
    domain = nvtxDomainCreateA("tidemark");
    atomic_store_explicit(&is_deaf, domain == NULL, memory_order_relaxed);
}

bool tide_nvtx_is_heard(void) {
    if (atomic_load_explicit(&is_deaf, memory_order_relaxed) != 0) {
        return false;
    }
    (void)pthread_once(&once, make_domain);
    return domain != NULL;
}

/* "layer 12"; a long name is cut. */
static void write_text(char text[NAME_BYTES], const char *name, int32_t index) {
    char digits[INDEX_BYTES];
    size_t n_digits = 0;
    size_t n = strlen(name);
    n = n < NAME_BYTES - INDEX_BYTES - 2 ? n : NAME_BYTES - INDEX_BYTES - 2;
    memcpy(text, name, n);
    if (index >= 0) {
        text[n++] = ' ';
        for (int32_t rest = index; n_digits == 0 || rest > 0; rest /= 10) {
            digits[n_digits++] = (char)('0' + rest % 10);
        }
        while (n_digits > 0) {
            text[n++] = digits[--n_digits];
        }
    }
    TIDE_ASSERT(n < NAME_BYTES);
    text[n] = '\0';
}

void tide_nvtx_begin(const tide_recorder *recorder, tide_scope scope, const char *name,
                     int32_t index) {
    char text[NAME_BYTES];
    write_text(text, name, index);
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII};
    attributes.message.ascii = text;
    (void)nvtxDomainRangePushEx(domain, &attributes);
    if (mine.n_open < MAX_OPEN) {
        mine.ranges[mine.n_open].recorder = recorder;
        mine.ranges[mine.n_open].scope = scope;
    }
    mine.n_open++;
}

/* The number of ranges that are open outside the one to be ended; SIZE_MAX if it is not open. */
static size_t find_range(const tide_recorder *recorder, tide_scope scope) {
    for (size_t i = mine.n_open < MAX_OPEN ? mine.n_open : MAX_OPEN; i > 0; i--) {
        if (mine.ranges[i - 1].recorder == recorder && mine.ranges[i - 1].scope == scope) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

void tide_nvtx_end(const tide_recorder *recorder, tide_scope scope) {
    size_t n_left = mine.n_open > MAX_OPEN ? mine.n_open - 1 : find_range(recorder, scope);
    while (n_left != SIZE_MAX && mine.n_open > n_left) {
        (void)nvtxDomainRangePop(domain);
        mine.n_open--;
    }
}

#else

bool tide_nvtx_is_heard(void) {
    return false;
}

void tide_nvtx_begin(const tide_recorder *recorder, tide_scope scope, const char *name,
                     int32_t index) {
    (void)recorder;
    (void)scope;
    (void)name;
    (void)index;
}

void tide_nvtx_end(const tide_recorder *recorder, tide_scope scope) {
    (void)recorder;
    (void)scope;
}

#endif
