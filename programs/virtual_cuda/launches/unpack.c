#include "programs/virtual_cuda/launches/unpack.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_AT = 4,  /* 32 bits: bytes of the entry's header */
    STORED_AT = 8,  /* 64 bits: bytes of its payload */
    PACKED_AT = 16, /* 32 bits: bytes of compressed data in the payload */
    FLAGS_AT = 40,  /* 64 bits */
    WHOLE_AT = 56,  /* 64 bits: bytes of the unpacked payload */
    LEAST_BYTES = 64,
    IS_LZ4 = 0x2000,
    IS_ZSTD = 0x8000,
    MAX_BYTES = 256 << 20
};

typedef size_t zstd_function(void *to, size_t n_to, const void *from, size_t n_from);
typedef int lz4_function(const char *from, char *to, int n_from, int n_to);

/* Libraries of the system; NULL: missing. */
static struct unpackers {
    pthread_once_t once; /* for the two below, which are constant afterwards */
    zstd_function *zstd;
    lz4_function *lz4;
} unpackers = {.once = PTHREAD_ONCE_INIT};

static void *function_of(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? dlsym(handle, name) : NULL;
}

static void load(void) {
    void *found = function_of("libzstd.so.1", "ZSTD_decompress");
    memcpy(&unpackers.zstd, &found, sizeof(unpackers.zstd));
    found = function_of("liblz4.so.1", "LZ4_decompress_safe");
    memcpy(&unpackers.lz4, &found, sizeof(unpackers.lz4));
}

static uint64_t number(const unsigned char *at, size_t n_bytes) {
    uint64_t value = 0;
    memcpy(&value, at, n_bytes); /* x86-64 and the format are little-endian */
    return value;
}

/* Returns whether `to` now has all n_to bytes. */
static bool decompress(uint64_t flags, const unsigned char *from, size_t n_from, unsigned char *to,
                       size_t n_to) {
    if ((flags & IS_ZSTD) != 0) {
        return unpackers.zstd != NULL && unpackers.zstd(to, n_to, from, n_from) == n_to;
    }
    return unpackers.lz4 != NULL && n_from <= INT_MAX &&
           unpackers.lz4((const char *)from, (char *)to, (int)n_from, (int)n_to) == (int)n_to;
}

unsigned char *tide_vc_unpack(const unsigned char *entry, const unsigned char *end,
                              size_t *ret_n_bytes) {
    if (end - entry < LEAST_BYTES) {
        return NULL;
    }
    uint64_t n_header = number(entry + HEADER_AT, 4);
    uint64_t n_stored = number(entry + STORED_AT, 8);
    uint64_t flags = number(entry + FLAGS_AT, 8);
    bool is_packed = (flags & (IS_LZ4 | IS_ZSTD)) != 0;
    uint64_t n_from = is_packed ? number(entry + PACKED_AT, 4) : n_stored;
    uint64_t n_to = is_packed ? number(entry + WHOLE_AT, 8) : n_stored;
    uint64_t n_left = (uint64_t)(end - entry);
    if (n_header > n_left || n_stored > n_left - n_header || n_from > n_stored || n_to == 0 ||
        n_to > MAX_BYTES) {
        return NULL;
    }
    unsigned char *made = malloc(n_to);
    if (made == NULL) {
        return NULL;
    }
    if (!is_packed) {
        memcpy(made, entry + n_header, n_to);
    } else {
        pthread_once(&unpackers.once, load);
        if (!decompress(flags, entry + n_header, n_from, made, n_to)) {
            free(made);
            return NULL;
        }
    }
    *ret_n_bytes = n_to;
    return made;
}
