#include "snapshot/pytorch/pickle_writer.h"

#include <string.h>

static void hand_on(tide_pickle_writer *pickle) {
    if (pickle->status == TIDE_OK) {
        pickle->status = pickle->sink(pickle->ctx, pickle->buffer, pickle->n_used);
    }
    pickle->n_used = 0;
}

static void put(tide_pickle_writer *pickle, const void *data, size_t n_bytes) {
    const char *from = data;
    while (n_bytes > 0) {
        if (pickle->n_used == TIDE_PICKLE_BUFFER_BYTES) {
            hand_on(pickle);
        }
        size_t n_room = TIDE_PICKLE_BUFFER_BYTES - pickle->n_used;
        size_t n_now = n_bytes < n_room ? n_bytes : n_room;
        memcpy(pickle->buffer + pickle->n_used, from, n_now);
        pickle->n_used += n_now;
        from += n_now;
        n_bytes -= n_now;
    }
}

static void put_code(tide_pickle_writer *pickle, unsigned char code) {
    put(pickle, &code, 1);
}

/* An opcode with a little-endian argument of n_bytes. */
static void put_number(tide_pickle_writer *pickle, unsigned char code, uint64_t number,
                       size_t n_bytes) {
    unsigned char bytes[9] = {code};
    for (size_t i = 0; i < n_bytes; i++) {
        bytes[i + 1] = (unsigned char)(number >> (8 * i) & 0xFF);
    }
    put(pickle, bytes, n_bytes + 1);
}

void tide_pickle_writer_init(tide_pickle_writer *pickle, const tide_hostmem *mem,
                             tide_status (*sink)(void *ctx, const char *data, size_t n_bytes),
                             void *ctx) {
    memset(pickle, 0, offsetof(tide_pickle_writer, buffer));
    pickle->sink = sink;
    pickle->ctx = ctx;
    tide_strings_init(&pickle->texts, mem);
    put(pickle, "\x80\x04", 2);
}

tide_status tide_pickle_writer_finish(tide_pickle_writer *pickle) {
    const tide_hostmem *mem = pickle->texts.mem;
    put_code(pickle, '.');
    hand_on(pickle);
    tide_strings_fini(&pickle->texts);
    mem->release(mem->ctx, pickle->memo_of_text);
    return pickle->status;
}

static void end_batch(tide_pickle_writer *pickle, tide_pickle_level *level) {
    if (level->n_batch > 0) {
        put_code(pickle, level->is_dict ? 'u' : 'e');
        level->n_batch = 0;
    }
}

/* Call before each value that goes into a container. */
static void begin_value(tide_pickle_writer *pickle) {
    if (pickle->n_levels == 0) {
        return;
    }
    tide_pickle_level *level = &pickle->levels[pickle->n_levels - 1];
    if (level->n_batch == (level->is_dict ? 2 * TIDE_PICKLE_BATCH : TIDE_PICKLE_BATCH)) {
        end_batch(pickle, level);
    }
    if (level->n_batch++ == 0) {
        put_code(pickle, '(');
    }
}

static void begin_container(tide_pickle_writer *pickle, bool is_dict) {
    begin_value(pickle);
    put_code(pickle, is_dict ? '}' : ']');
    if (pickle->n_levels == TIDE_PICKLE_WRITER_LEVELS) {
        pickle->status = TIDE_LIMIT;
        return;
    }
    pickle->levels[pickle->n_levels++] = (tide_pickle_level){.is_dict = is_dict};
}

static void end_container(tide_pickle_writer *pickle) {
    if (pickle->n_levels > 0) {
        end_batch(pickle, &pickle->levels[--pickle->n_levels]);
    }
}

void tide_pickle_begin_dict(tide_pickle_writer *pickle) {
    begin_container(pickle, true);
}

void tide_pickle_end_dict(tide_pickle_writer *pickle) {
    end_container(pickle);
}

void tide_pickle_begin_list(tide_pickle_writer *pickle) {
    begin_container(pickle, false);
}

void tide_pickle_end_list(tide_pickle_writer *pickle) {
    end_container(pickle);
}

uint32_t tide_pickle_remember(tide_pickle_writer *pickle) {
    put_code(pickle, 0x94); /* MEMOIZE */
    return pickle->n_memo++;
}

static void put_reference(tide_pickle_writer *pickle, uint32_t memo) {
    if (memo <= UINT8_MAX) {
        put_number(pickle, 'h', memo, 1);
    } else {
        put_number(pickle, 'j', memo, 4);
    }
}

void tide_pickle_refer(tide_pickle_writer *pickle, uint32_t memo) {
    begin_value(pickle);
    put_reference(pickle, memo);
}

void tide_pickle_write_text(tide_pickle_writer *pickle, const char *text) {
    size_t n_known = pickle->texts.n_texts;
    uint32_t number = 0;
    begin_value(pickle);
    if (pickle->status != TIDE_OK) {
        return;
    }
    pickle->status = tide_strings_intern(&pickle->texts, text, &number);
    if (pickle->status != TIDE_OK) {
        return;
    }
    if (number < n_known) {
        put_reference(pickle, pickle->memo_of_text[number]);
        return;
    }
    uint32_t *memo = tide_hostmem_grow(pickle->texts.mem, pickle->memo_of_text,
                                       &pickle->memo_capacity, n_known + 1, sizeof(*memo));
    if (memo == NULL) {
        pickle->status = TIDE_NO_MEMORY;
        return;
    }
    pickle->memo_of_text = memo;
    size_t n_bytes = strlen(text);
    if (n_bytes <= UINT8_MAX) {
        put_number(pickle, 0x8c, n_bytes, 1);
    } else {
        put_number(pickle, 'X', n_bytes, 4);
    }
    put(pickle, text, n_bytes);
    memo[number] = tide_pickle_remember(pickle);
}

/* Uses the shortest opcode that holds the value, as Python does. */
static void put_integer(tide_pickle_writer *pickle, int64_t value) {
    if (value >= 0 && value <= UINT8_MAX) {
        put_number(pickle, 'K', (uint64_t)value, 1);
    } else if (value >= 0 && value <= UINT16_MAX) {
        put_number(pickle, 'M', (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        put_number(pickle, 'J', (uint64_t)value, 4);
    } else {
        size_t n_bytes = 8;
        while (n_bytes > 5 && value >= -(INT64_C(1) << (8 * n_bytes - 9)) &&
               value < INT64_C(1) << (8 * n_bytes - 9)) {
            n_bytes--;
        }
        put_number(pickle, 0x8a, n_bytes, 1);
        unsigned char bytes[8];
        for (size_t i = 0; i < n_bytes; i++) {
            bytes[i] = (unsigned char)((uint64_t)value >> (8 * i) & 0xFF);
        }
        put(pickle, bytes, n_bytes);
    }
}

void tide_pickle_write_integer(tide_pickle_writer *pickle, int64_t value) {
    begin_value(pickle);
    put_integer(pickle, value);
}

void tide_pickle_write_real(tide_pickle_writer *pickle, double value) {
    uint64_t bits = 0;
    unsigned char bytes[9] = {'G'};
    begin_value(pickle);
    memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < 8; i++) {
        bytes[i + 1] = (unsigned char)(bits >> (56 - 8 * i) & 0xFF);
    }
    put(pickle, bytes, sizeof(bytes));
}

void tide_pickle_write_boolean(tide_pickle_writer *pickle, bool value) {
    begin_value(pickle);
    put_code(pickle, value ? 0x88 : 0x89);
}

void tide_pickle_write_pair(tide_pickle_writer *pickle, int64_t first, int64_t second) {
    begin_value(pickle);
    put_integer(pickle, first);
    put_integer(pickle, second);
    put_code(pickle, 0x86); /* TUPLE2 */
}
