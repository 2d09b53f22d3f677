#include "support/pickle_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/import.h"

typedef struct builder {
    const char *at; /* next character */
    unsigned char *out;
    size_t n;
    size_t capacity;
} builder;

static void fail(const builder *b, const char *what) {
    fprintf(stderr, "pickle_from_text: %s at: %.40s\n", what, b->at);
    exit(EXIT_FAILURE);
}

static void put(builder *b, const void *data, size_t n_bytes) {
    if (b->n + n_bytes > b->capacity) {
        b->capacity = 2 * (b->n + n_bytes);
        b->out = realloc(b->out, b->capacity);
        if (b->out == NULL) {
            fail(b, "no memory");
        }
    }
    memcpy(b->out + b->n, data, n_bytes);
    b->n += n_bytes;
}

static void put_code(builder *b, int code) {
    unsigned char byte = (unsigned char)code;
    put(b, &byte, 1);
}

static void skip_space(builder *b) {
    b->at += strspn(b->at, " \n");
}

static int take(builder *b, char c) {
    skip_space(b);
    if (*b->at != c) {
        return 0;
    }
    b->at++;
    return 1;
}

static void put_value(builder *b);

/* Items up to `end`; of a dict: keys, colons and values. */
static void put_items(builder *b, char end, int is_dict) {
    put_code(b, '(');
    while (!take(b, end)) {
        put_value(b);
        if (is_dict) {
            if (!take(b, ':')) {
                fail(b, "a colon is missing");
            }
            put_value(b);
        }
        if (!take(b, ',') && *b->at != end) {
            fail(b, "a comma is missing");
        }
    }
}

static void put_text(builder *b) {
    size_t n = strcspn(b->at, "'");
    unsigned char length[4] = {(unsigned char)(n & 0xFF), (unsigned char)(n >> 8 & 0xFF),
                               (unsigned char)(n >> 16 & 0xFF), (unsigned char)(n >> 24 & 0xFF)};
    put_code(b, 'X');
    put(b, length, 4);
    put(b, b->at, n);
    b->at += n + 1;
}

static void put_number(builder *b) {
    char *end = NULL;
    unsigned char bytes[8];
    size_t n = strspn(b->at, "-+.0123456789e");
    if (memchr(b->at, '.', n) != NULL) {
        double real = strtod(b->at, &end);
        uint64_t bits = 0;
        memcpy(&bits, &real, sizeof(bits));
        for (size_t i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(bits >> (56 - 8 * i) & 0xFF);
        }
        put_code(b, 'G');
    } else {
        uint64_t integer = (uint64_t)strtoll(b->at, &end, 10);
        for (size_t i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(integer >> (8 * i) & 0xFF);
        }
        put_code(b, 0x8a);
        put_code(b, 8);
    }
    if (end == b->at) {
        fail(b, "no value");
    }
    put(b, bytes, 8);
    b->at = end;
}

static void put_value(builder *b) {
    static const struct {
        const char *word;
        unsigned char code;
    } WORDS[] = {{"True", 0x88}, {"False", 0x89}, {"None", 'N'}};
    skip_space(b);
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strncmp(b->at, WORDS[i].word, strlen(WORDS[i].word)) == 0) {
            put_code(b, WORDS[i].code);
            b->at += strlen(WORDS[i].word);
            return;
        }
    }
    if (take(b, '{')) {
        put_code(b, '}');
        put_items(b, '}', 1);
        put_code(b, 'u');
    } else if (take(b, '[')) {
        put_code(b, ']');
        put_items(b, ']', 0);
        put_code(b, 'e');
    } else if (take(b, '(')) {
        put_items(b, ')', 0);
        put_code(b, 't');
    } else if (take(b, '\'')) {
        put_text(b);
    } else {
        put_number(b);
    }
}

char *pickle_from_text(const char *text, size_t *ret_bytes) {
    builder b = {.at = text};
    put(&b, "\x80\x02", 2);
    put_value(&b);
    put_code(&b, '.');
    skip_space(&b);
    if (*b.at != '\0') {
        fail(&b, "text is left");
    }
    *ret_bytes = b.n;
    return (char *)b.out;
}

static tide_status read_bytes(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                              tide_error *error) {
    enum { AT_ONCE = 7 };
    pickle_bytes *from = ctx;
    size_t n_left = from->n_bytes - from->at;
    size_t n_now = n_left < AT_ONCE ? n_left : AT_ONCE;
    (void)error;
    n_now = n_now < n_room ? n_now : n_room;
    memcpy(to, from->data + from->at, n_now);
    from->at += n_now;
    *ret_bytes = n_now;
    return TIDE_OK;
}

const tide_source *pickle_bytes_init(pickle_bytes *bytes, const char *data, size_t n_bytes) {
    *bytes = (pickle_bytes){
        .source = {.read = read_bytes, .ctx = bytes}, .data = data, .n_bytes = n_bytes};
    return &bytes->source;
}

tide_status pickle_read_bytes(tide_pickle *pickle, const char *data, size_t n_bytes,
                              const tide_hostmem *mem, tide_error *error) {
    pickle_bytes bytes;
    tide_pickle_init(pickle, mem);
    tide_status status =
        tide_pickle_read(pickle, pickle_bytes_init(&bytes, data, n_bytes), NULL, error);
    if (status != TIDE_OK) {
        tide_pickle_fini(pickle);
    }
    return status;
}

tide_status pytorch_import_bytes(const char *data, size_t n_bytes, tide_snapshot *snapshot,
                                 tide_error *error) {
    pickle_bytes bytes;
    return tide_pytorch_import_pickle(pickle_bytes_init(&bytes, data, n_bytes), snapshot, error);
}

tide_status pytorch_import_text(const char *text, const tide_hostmem *mem,
                                tide_snapshot **ret_snapshot, tide_error *error) {
    size_t n_bytes = 0;
    tide_snapshot *snapshot = NULL;
    error->message[0] = '\0';
    TIDE_TRY(tide_snapshot_create(mem, &snapshot));
    char *data = pickle_from_text(text, &n_bytes);
    tide_status status = pytorch_import_bytes(data, n_bytes, snapshot, error);
    free(data);
    if (status != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
