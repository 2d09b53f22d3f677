/* test_bombs.c - small files that would be huge in memory. The reader refuses or skips each in
 * 64 MiB, yet it reads a valid file that compresses better than any of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/document/snapshot.h"
#include "support/event_rows.h"
#include "support/snapshot_files.h"

#define LIMIT_BYTES ((size_t)64 << 20)
#define TEXT_BYTES ((size_t)96 << 20) /* of each bomb */

/* A heap that counts the bytes in use. */
typedef struct meter {
    tide_hostmem mem;
    size_t n_now;  /* bytes */
    size_t n_peak; /* bytes */
} meter;

enum { HEADER_BYTES = 16 };

static void count(meter *on, size_t before, size_t after) {
    on->n_now += after - before;
    on->n_peak = on->n_now > on->n_peak ? on->n_now : on->n_peak;
}

static void *meter_resize(void *ctx, void *memory, size_t n_bytes) {
    size_t *old = memory != NULL ? (size_t *)(void *)((char *)memory - HEADER_BYTES) : NULL;
    size_t before = old != NULL ? *old : 0;
    size_t *block = realloc(old, n_bytes + HEADER_BYTES);
    if (block == NULL) {
        return NULL;
    }
    *block = n_bytes;
    count(ctx, before, n_bytes);
    return (char *)block + HEADER_BYTES;
}

static void *meter_alloc(void *ctx, size_t n_bytes) {
    return meter_resize(ctx, NULL, n_bytes);
}

static void meter_release(void *ctx, void *memory) {
    if (memory != NULL) {
        size_t *block = (size_t *)(void *)((char *)memory - HEADER_BYTES);
        count(ctx, *block, 0);
        free(block);
    }
}

static void meter_init(meter *on) {
    *on = (meter){.mem = {meter_alloc, meter_resize, meter_release, on}};
}

/* Bytes, which may include NULs, and their number. */
typedef struct piece {
    const char *bytes;
    size_t n_bytes;
} piece;

#define PIECE(text)                                                                                \
    { (text), sizeof(text) - 1 }

typedef struct bomb {
    const char *name;
    piece head, body, tail; /* the body is repeated */
    size_t n_bodies;        /* repeats of it before each `between`; 0: no `between` */
    piece between;          /* after every n_bodies */
    const char *message;    /* part of the refusal */
} bomb;

#define ROOT "\x80\x04}("
#define SEGMENTS "\x8c\x08segments]"
#define TRACES                                                                                     \
    "\x8c\x0d"                                                                                     \
    "device_traces](]("
#define FRAME                                                                                      \
    "}(\x8c\x04name\x8c\x01"                                                                       \
    "fu"

static const bomb BOMBS[] = {
    {"dicts on the stack", PIECE("\x80\x04"), PIECE("}"), PIECE("."), 0, PIECE(""),
     "no snapshot is that dense"},
    {"values on the stack", PIECE("\x80\x04"), PIECE("N"), PIECE("."), 0, PIECE(""),
     "more than the limit of 1048576 values on the stack"},
    {"lists where no snapshot has any", PIECE(ROOT "\x8c\x05other]("), PIECE("]"), PIECE("eu."),
     1000, PIECE("e("), "no snapshot is that dense"},
    {"numbers where no snapshot has any", PIECE(ROOT "\x8c\x05other]("), PIECE("K\x01"),
     PIECE("eu."), 1000, PIECE("e("), "no snapshot is that dense"},
    {"reals", PIECE("\x80\x04"),
     PIECE("G\x01\x02\x03\x04\x05\x06\x07\x08"
           "0"),
     PIECE("N."), 0, PIECE(""), "no snapshot is that dense"},
    {"a memo of one value", PIECE("\x80\x04N"), PIECE("\x94"), PIECE("."), 0, PIECE(""),
     "no snapshot is that dense"},
    {"a memo number", PIECE("\x80\x04N"), PIECE("r\xff\xff\xff\x7f"), PIECE("."), 0, PIECE(""),
     "need none so high"},
    {"marks", PIECE("\x80\x04"), PIECE("("), PIECE("."), 0, PIECE(""), "marks at once"},
    {"an integer", PIECE("\x80\x04\x8b\xff\xff\xff\x7f"), PIECE("x"), PIECE("."), 0, PIECE(""),
     "an integer of 2147483647 bytes"},
    {"a text", PIECE("\x80\x04\x8d\xff\xff\xff\x7f\x00\x00\x00\x00"), PIECE("x"), PIECE("."), 0,
     PIECE(""), "2147483647 bytes, the limit is 1048576"},
    {"a frame that is not there", PIECE("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f"),
     PIECE("N0"), PIECE("N."), 0, PIECE(""), "a frame promises"},
    {"one frame of a call stack again and again",
     PIECE(ROOT SEGMENTS TRACES "}(\x8c\x06"
                                "action\x8c\x08snapshot\x8c\x06"
                                "frames](" FRAME "\x94"),
     PIECE("h\x00"), PIECE("euee."), 1000, PIECE("e("), "no snapshot is that dense"},
    {"one event again and again",
     PIECE(ROOT SEGMENTS TRACES "}(\x8c\x06"
                                "action\x8c\x08snapshotu\x94"),
     PIECE("h\x00"), PIECE("eeu."), 1000, PIECE("e("), "parts of the file stand in many places"},
    {"empty events", PIECE(ROOT SEGMENTS TRACES), PIECE("}"), PIECE("eeu."), 1000, PIECE("e("),
     "device_traces[0][0].action: it is missing"},
    {"empty blocks",
     PIECE(ROOT "\x8c\x08segments](}(\x8c\x06"
                "blocks]("),
     PIECE("}"), PIECE("eueu."), 1000, PIECE("e("), "no snapshot is that dense"},
    {"JSON objects where no snapshot has any", PIECE("{\"segments\":[],\"other\":["), PIECE("{},"),
     PIECE("{}]}"), 0, PIECE(""), "no snapshot is that dense"},
    {"empty strings", PIECE("{\"format\":\"tidemark-snapshot\",\"strings\":["), PIECE("\"\","),
     PIECE("\"\"]}"), 0, PIECE(""), "texts that are in the table already"},
    {"the same two strings", PIECE("{\"format\":\"tidemark-snapshot\",\"strings\":["),
     PIECE("\"a\",\"b\","), PIECE("\"\"]}"), 0, PIECE(""), "texts that are in the table already"},
    {"a long string", PIECE("{\"format\":\""), PIECE("a"), PIECE("\"}"), 0, PIECE(""),
     "a text longer than the limit of 1048576 bytes"},
    {"a long number", PIECE("{\"version\":"), PIECE("1"), PIECE("}"), 0, PIECE(""),
     "a number longer than the limit"},
    {"deep arrays", PIECE("{\"other\":"), PIECE("["), PIECE("}"), 0, PIECE(""), "nested deeper"},
    {"arrays that are skipped", PIECE("{\"other\":["), PIECE("[],"), PIECE("[]]}"), 0, PIECE(""),
     "the key 'format' is missing"},
    {"long texts that are skipped", PIECE("{\"other\":["),
     PIECE("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","), PIECE("1]}"), 0, PIECE(""),
     "the key 'format' is missing"},
    {"white space", PIECE("{"), PIECE(" "), PIECE("}"), 0, PIECE(""),
     "the key 'format' is missing"},
    {"long names of pools", PIECE("{\"end\":{\"segments\":["),
     PIECE("{\"device\":0,\"address\":0,\"total_bytes\":0,\"stream\":0,\"pool\":"
           "\"aaaaaaaaaaaaaaaaaaaaaaaaaa"
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
           "\",\"blocks\":[]},"),
     PIECE("0]}}"), 0, PIECE(""), "an object was expected"},
};

static void put(tide_gzip_writer *file, const char *bytes, size_t n_bytes) {
    assert_int_equal(tide_gzip_writer_write(file, bytes, n_bytes), TIDE_OK);
}

/* All bytes between head and tail, in one buffer that holds whole bodies. */
static char *repeat(const bomb *of, size_t *ret_bytes) {
    size_t n_group = (of->n_bodies > 0 ? of->n_bodies : 1000) * of->body.n_bytes;
    size_t n_bytes = n_group + (of->n_bodies > 0 ? of->between.n_bytes : 0);
    char *group = malloc(n_bytes);
    assert_non_null(group);
    for (size_t at = 0; at < n_group; at += of->body.n_bytes) {
        memcpy(group + at, of->body.bytes, of->body.n_bytes);
    }
    memcpy(group + n_group, of->between.bytes, n_bytes - n_group);
    *ret_bytes = n_bytes;
    return group;
}

static void write_bomb(const bomb *of, const char *path, bool is_compressed) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_gzip_writer *file = NULL;
    size_t n_group = 0;
    char *group = repeat(of, &n_group);
    assert_int_equal(is_compressed ? tide_gzip_writer_open(path, mem, &file, NULL)
                                   : tide_gzip_writer_open_plain(path, mem, &file, NULL),
                     TIDE_OK);
    put(file, of->head.bytes, of->head.n_bytes);
    for (size_t n = 0; n < TEXT_BYTES; n += n_group) {
        put(file, group, n_group);
    }
    put(file, of->tail.bytes, of->tail.n_bytes);
    assert_int_equal(tide_gzip_writer_commit(file, NULL), TIDE_OK);
    free(group);
}

static void assert_harmless(const bomb *of, bool is_compressed) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    meter on;
    meter_init(&on);
    snapshot_path(path, "bomb");
    write_bomb(of, path, is_compressed);
    tide_status status = tide_snapshot_load(path, &on.mem, &snapshot, &error);
    if (status == TIDE_OK || status == TIDE_NO_MEMORY ||
        strstr(error.message, of->message) == NULL) {
        fail_msg("%s: status %d, %s", of->name, (int)status, error.message);
    }
    if (strstr(error.message, "byte ") == NULL) {
        fail_msg("%s: no place: %s", of->name, error.message);
    }
    if (on.n_peak > LIMIT_BYTES) {
        fail_msg("%s: %zu bytes of memory", of->name, on.n_peak);
    }
    assert_int_equal(on.n_now, 0);
    snapshot_remove(path);
}

static void bombs_take_64_mib_at_most(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(BOMBS) / sizeof(BOMBS[0]); i++) {
        assert_harmless(&BOMBS[i], true);
    }
}

/* Files that are small without compression, because they only announce a large size. */
static void plain_bombs_take_64_mib_at_most(void **state) {
    (void)state;
    assert_harmless(&BOMBS[0], false);
    assert_harmless(&BOMBS[2], false);
}

/* A training loop: the same events again and again. */
static void honest_periods_are_read(void **state) {
    (void)state;
    enum { N_EVENTS = 600000 };
    static const tide_snapshot_device DEVICE = {"cuda", "", -1, -1, -1, -1, -1, -1};
    static const tide_stream_row STREAM = {0};
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = NULL;
    tide_snapshot *read = NULL;
    tide_error error = {""};
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    tide_event *events = tide_arena_alloc(&made->arena, N_EVENTS, sizeof(*events));
    assert_non_null(events);
    for (size_t i = 0; i < N_EVENTS; i++) {
        events[i] = (tide_event){.time_ns = (int64_t)i * 1000,
                                 .address = UINT64_C(0x7f0000000000),
                                 .requested_bytes = 1000,
                                 .block_bytes = 1024,
                                 .action = i % 2 == 0 ? TIDE_ACTION_ALLOC : TIDE_ACTION_FREE,
                                 .stack = TIDE_NONE,
                                 .scope = TIDE_NONE,
                                 .name = TIDE_NONE};
    }
    made->devices = &DEVICE;
    made->n_devices = 1;
    made->streams = &STREAM;
    made->n_streams = 1;
    event_rows_set(made, events, N_EVENTS);
    snapshot_path(path, "honest.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, &error), TIDE_OK);
    size_t n_file = 0;
    size_t n_text = 0;
    char *text = NULL;
    free(snapshot_file_text(path, &n_file));
    assert_int_equal(snapshot_unzip(path, SIZE_MAX / 2, &text, &n_text, &error), TIDE_OK);
    free(text);
    assert_true(n_text / n_file > 150);
    if (tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_event *found = event_rows_of(read);
    assert_memory_equal(found, events, N_EVENTS * sizeof(*events));
    free(found);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(made);
    snapshot_remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bombs_take_64_mib_at_most),
        cmocka_unit_test(plain_bombs_take_64_mib_at_most),
        cmocka_unit_test(honest_periods_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
