/* test_pickle_runs.c - lists of frames that were written before (pickle_runs.c): the result is the
 * same as if each were read item by item. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/pytorch/import.h"

enum { PICKLE_BYTES = 16384 };

/* A pickle of protocol 4 as Python writes it, up to the trace of the first device. */
typedef struct file {
    char bytes[PICKLE_BYTES];
    size_t n;
    unsigned n_memo;
} file;

static void put(file *to, const char *bytes, size_t n_bytes) {
    assert_true(to->n + n_bytes <= sizeof(to->bytes));
    memcpy(to->bytes + to->n, bytes, n_bytes);
    to->n += n_bytes;
}

#define PUT(to, opcodes) put((to), (opcodes), sizeof(opcodes) - 1)

static unsigned memoize(file *to) {
    PUT(to, "\x94");
    return to->n_memo++;
}

static unsigned text(file *to, const char *text) {
    const char opcode[2] = {(char)0x8c, (char)strlen(text)};
    put(to, opcode, 2);
    put(to, text, strlen(text));
    return memoize(to);
}

static void number(file *to, char value) {
    const char opcode[2] = {'K', value};
    put(to, opcode, 2);
}

static void get(file *to, unsigned memo) {
    const char opcode[2] = {'h', (char)memo};
    put(to, opcode, 2);
}

/* A frame of that line; 0: a frame whose name is odd. */
static unsigned frame(file *to, char line) {
    PUT(to, "}");
    unsigned memo = memoize(to);
    PUT(to, "(");
    text(to, "name");
    if (line > 0) {
        text(to, "f");
    } else {
        number(to, 7);
    }
    text(to, "line");
    number(to, line);
    PUT(to, "u");
    return memo;
}

/* The frames of all cases: those of lines 1 and 2, an odd frame, and a text in place of a frame. */
typedef struct frames {
    unsigned one, two, odd, text;
} frames;

static frames begin(file *to) {
    frames memo;
    *to = (file){.n = 0};
    PUT(to, "\x80\x04}");
    memoize(to);
    PUT(to, "(");
    text(to, "frames that are known from now on");
    PUT(to, "]");
    memoize(to);
    PUT(to, "(");
    memo.one = frame(to, 1);
    memo.two = frame(to, 2);
    memo.odd = frame(to, 0);
    memo.text = text(to, "no frame");
    PUT(to, "e");
    text(to, "segments");
    PUT(to, "]");
    memoize(to);
    text(to, "device_traces");
    PUT(to, "]");
    memoize(to);
    PUT(to, "]");
    memoize(to);
    return memo;
}

static void begin_event(file *to) {
    PUT(to, "}");
    memoize(to);
    PUT(to, "(");
    text(to, "action");
    text(to, "alloc");
    text(to, "addr");
    number(to, 8);
    text(to, "size");
    number(to, 1);
    text(to, "frames");
    PUT(to, "]");
}

/* A batch of one event, so that it is read before the next one, with these memo numbers as its
 * frames. */
static void event(file *to, size_t n_frames, const unsigned *memo) {
    PUT(to, "(");
    begin_event(to);
    memoize(to);
    PUT(to, "(");
    for (size_t i = 0; i < n_frames; i++) {
        get(to, memo[i]);
    }
    PUT(to, "eue");
}

#define EVENT(to, ...)                                                                             \
    event((to), sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (unsigned[]){__VA_ARGS__})

/* Returns the whole file at once: a list that is not wholly in the window is read item by item. */
static tide_status read_all(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                            tide_error *error) {
    file *from = ctx;
    (void)error;
    assert_true(from->n <= n_room);
    memcpy(to, from->bytes, from->n);
    *ret_bytes = from->n;
    from->n = 0;
    return TIDE_OK;
}

static tide_snapshot *end(file *to) {
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    const tide_source source = {.read = read_all, .ctx = to};
    PUT(to, "au.");
    assert_int_equal(tide_snapshot_create(tide_hostmem_default(), &snapshot), TIDE_OK);
    if (tide_pytorch_import_pickle(&source, snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return snapshot;
}

/* The lines of an event's frames, innermost first, as one number: 12 is line 1 called by line 2. */
static int lines(const tide_snapshot *snapshot, size_t row) {
    int all = 0;
    for (uint32_t node = tide_index_at(&snapshot->events.stack, row); node != TIDE_NONE;
         node = snapshot->stacks[node].parent) {
        all = all * 10 + snapshot->frames[snapshot->stacks[node].frame].line;
    }
    return all;
}

static void lists_repeat(void **state) {
    (void)state;
    file to;
    frames memo = begin(&to);
    for (int i = 0; i < 3; i++) {
        EVENT(&to, memo.one, memo.two);
        EVENT(&to, memo.two, memo.one);
        EVENT(&to, memo.two, memo.one, memo.one);
    }
    tide_snapshot *read = end(&to);
    assert_int_equal(read->n_events, 9);
    for (size_t i = 0; i < 9; i += 3) {
        assert_int_equal(lines(read, i), 12);
        assert_int_equal(lines(read, i + 1), 21);
        assert_int_equal(lines(read, i + 2), 211);
    }
    assert_int_equal(read->n_stacks, 6);
    tide_snapshot_destroy(read);
}

static void a_memo_number_changes(void **state) {
    (void)state;
    file to;
    frames memo = begin(&to);
    EVENT(&to, memo.one, memo.two);
    EVENT(&to, memo.one, memo.two);
    get(&to, memo.two); /* BINPUT, POP: the first number now refers to the second frame */
    const char again[] = {'q', (char)memo.one, '0'};
    put(&to, again, sizeof(again));
    EVENT(&to, memo.one, memo.two);
    tide_snapshot *read = end(&to);
    assert_int_equal(lines(read, 1), 12);
    assert_int_equal(lines(read, 2), 22);
    tide_snapshot_destroy(read);
}

/* An odd frame counts once, a text in place of a frame in every list. */
static void odd_frames_count(void **state) {
    (void)state;
    file to;
    frames memo = begin(&to);
    for (int i = 0; i < 3; i++) {
        EVENT(&to, memo.one, memo.odd);
    }
    tide_snapshot *read = end(&to);
    assert_int_equal(read->n_odd, 1);
    tide_snapshot_destroy(read);
    memo = begin(&to);
    for (int i = 0; i < 3; i++) {
        EVENT(&to, memo.one, memo.text);
    }
    read = end(&to);
    assert_int_equal(read->n_odd, 3);
    tide_snapshot_destroy(read);
}

/* More than 1000 frames come in batches, the first of which is the whole list of an earlier event.
 */
static void lists_in_batches(void **state) {
    (void)state;
    enum { BATCH = 1000 };
    file to;
    frames memo = begin(&to);
    unsigned many[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        many[i] = memo.one;
    }
    event(&to, BATCH, many);
    event(&to, BATCH, many);
    PUT(&to, "(");
    begin_event(&to);
    memoize(&to);
    PUT(&to, "(");
    for (size_t i = 0; i < BATCH; i++) {
        get(&to, many[i]);
    }
    PUT(&to, "e(");
    get(&to, memo.two);
    get(&to, memo.two);
    PUT(&to, "eue");
    tide_snapshot *read = end(&to);
    assert_int_equal(read->n_stacks, BATCH + 2 + BATCH);
    tide_snapshot_destroy(read);
}

/* A list without a memo number is a new one each time, and its memory is reused. */
static void lists_without_a_number(void **state) {
    (void)state;
    file to;
    frames memo = begin(&to);
    EVENT(&to, memo.one, memo.two);
    for (int i = 0; i < 3; i++) {
        PUT(&to, "(");
        begin_event(&to);
        PUT(&to, "(");
        get(&to, memo.one);
        get(&to, memo.two);
        PUT(&to, "eue");
        EVENT(&to, memo.two, memo.one);
    }
    tide_snapshot *read = end(&to);
    for (size_t i = 1; i < 7; i += 2) {
        assert_int_equal(lines(read, i), 12);
        assert_int_equal(lines(read, i + 1), 21);
    }
    tide_snapshot_destroy(read);
}

/* A reference to a list by its memo number gets the list that replaced it. */
static void lists_are_referred_to(void **state) {
    (void)state;
    file to;
    frames memo = begin(&to);
    EVENT(&to, memo.one, memo.two);
    EVENT(&to, memo.two, memo.one);
    EVENT(&to, memo.one, memo.two);
    unsigned last = to.n_memo - 1;
    PUT(&to, "(}");
    memoize(&to);
    PUT(&to, "(");
    text(&to, "action");
    text(&to, "free_completed");
    text(&to, "addr");
    number(&to, 8);
    text(&to, "size");
    number(&to, 1);
    text(&to, "frames");
    get(&to, last);
    PUT(&to, "ue");
    tide_snapshot *read = end(&to);
    assert_int_equal(read->n_events, 4);
    assert_int_equal(lines(read, 3), 12);
    tide_snapshot_destroy(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_repeat),           cmocka_unit_test(a_memo_number_changes),
        cmocka_unit_test(odd_frames_count),       cmocka_unit_test(lists_in_batches),
        cmocka_unit_test(lists_without_a_number), cmocka_unit_test(lists_are_referred_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
