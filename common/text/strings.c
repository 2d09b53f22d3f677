/* strings.c - interns texts. */
#include "common/text/strings.h"

#include <string.h>

#include "common/assert.h"

void tide_strings_init(tide_strings *strings, const tide_hostmem *mem) {
    *strings = (tide_strings){.mem = mem};
    tide_map_init(&strings->by_hash, mem);
}

void tide_strings_fini(tide_strings *strings) {
    for (size_t i = 0; i < strings->n_texts; i++) {
        strings->mem->release(strings->mem->ctx, strings->texts[i]);
    }
    if (strings->mem != NULL) {
        strings->mem->release(strings->mem->ctx, strings->texts);
    }
    tide_map_fini(&strings->by_hash);
    *strings = (tide_strings){.mem = strings->mem};
}

static tide_status append(tide_strings *strings, const char *text, size_t n_bytes, uint64_t key) {
    const tide_hostmem *mem = strings->mem;
    char **texts = tide_hostmem_grow(mem, strings->texts, &strings->capacity, strings->n_texts + 1,
                                     sizeof(*strings->texts));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    strings->texts = texts;
    char *copy = mem->alloc(mem->ctx, n_bytes + 1);
    if (copy == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    tide_status status = tide_map_put(&strings->by_hash, key, strings->n_texts);
    if (status != TIDE_OK) {
        mem->release(mem->ctx, copy);
        return status;
    }
    strings->texts[strings->n_texts++] = copy;
    return TIDE_OK;
}

typedef struct wanted {
    const tide_strings *among;
    const char *text;
    size_t n_bytes;
} wanted;

static bool is_wanted(const void *ctx, uint64_t number) {
    const wanted *one = ctx;
    TIDE_ASSERT(number < one->among->n_texts);
    const char *known = one->among->texts[number];
    return strncmp(known, one->text, one->n_bytes) == 0 && known[one->n_bytes] == '\0';
}

tide_status tide_strings_intern_n(tide_strings *strings, const char *text, size_t n_bytes,
                                  uint32_t *ret_number) {
    const wanted one = {strings, text, n_bytes};
    uint64_t key = 0;
    uint64_t number = 0;
    if (tide_map_find_equal(&strings->by_hash, tide_hash_bytes(text, n_bytes), is_wanted, &one,
                            &key, &number)) {
        *ret_number = (uint32_t)number;
        return TIDE_OK;
    }
    if (strings->n_texts >= UINT32_MAX) {
        return TIDE_LIMIT;
    }
    TIDE_TRY(append(strings, text, n_bytes, key));
    *ret_number = (uint32_t)(strings->n_texts - 1);
    return TIDE_OK;
}

tide_status tide_strings_intern(tide_strings *strings, const char *text, uint32_t *ret_number) {
    if (text == NULL) {
        *ret_number = UINT32_MAX;
        return TIDE_OK;
    }
    return tide_strings_intern_n(strings, text, strlen(text), ret_number);
}

const char *tide_strings_text(const tide_strings *strings, uint32_t number) {
    return number < strings->n_texts ? strings->texts[number] : NULL;
}
