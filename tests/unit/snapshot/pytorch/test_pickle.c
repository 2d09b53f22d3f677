/* test_pickle.c - the pickle machine: the values that it builds, and the pickles that it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/pytorch/pickle.h"
#include "support/hostmem_fault.h"
#include "support/pickle_text.h"

enum { MAX_OPCODES = 256 };

/* A hand-made pickle; its bytes may include NULs. */
#define BYTES(text) (text), sizeof(text) - 1

static tide_status read(const char *data, size_t n_bytes, tide_error *error) {
    tide_pickle pickle;
    error->message[0] = '\0';
    tide_status status = pickle_read_bytes(&pickle, data, n_bytes, tide_hostmem_default(), error);
    if (status == TIDE_OK) {
        tide_pickle_fini(&pickle);
    }
    return status;
}

static void assert_refused(const char *data, size_t n_bytes, tide_status expected,
                           const char *part) {
    tide_error error;
    tide_status status = read(data, n_bytes, &error);
    if (status != expected || strstr(error.message, part) == NULL) {
        fail_msg("status %d (%s), expected %d with '%s'", (int)status, error.message, (int)expected,
                 part);
    }
}

/* The integer that is the pickle's only value. */
static void assert_integer(const char *data, size_t n_bytes, int64_t expected) {
    tide_pickle pickle;
    assert_int_equal(pickle_read_bytes(&pickle, data, n_bytes, tide_hostmem_default(), NULL),
                     TIDE_OK);
    assert_int_equal(tide_pickle_kind_of(&pickle, pickle.root), TIDE_PICKLE_INTEGER);
    assert_int_equal(tide_pickle_integer(&pickle, pickle.root), expected);
    tide_pickle_fini(&pickle);
}

static tide_pickle_kind root_kind(const char *data, size_t n_bytes) {
    tide_pickle pickle;
    assert_int_equal(pickle_read_bytes(&pickle, data, n_bytes, tide_hostmem_default(), NULL),
                     TIDE_OK);
    tide_pickle_kind kind = tide_pickle_kind_of(&pickle, pickle.root);
    tide_pickle_fini(&pickle);
    return kind;
}

static void integers_are_exact(void **state) {
    (void)state;
    assert_integer(BYTES("\x80\x04K\xff."), 255);
    assert_integer(BYTES("\x80\x04M\xff\xff."), 65535);
    assert_integer(BYTES("\x80\x04J\xff\xff\xff\xff."), -1);
    assert_integer(BYTES("\x80\x04J\x00\x00\x00\x80."), INT32_MIN);
    assert_integer(BYTES("\x80\x04\x8a\x00."), 0);
    assert_integer(BYTES("\x80\x04\x8a\x01\x80."), -128);
    assert_integer(BYTES("\x80\x04\x8a\x02\xff\x00."), 255);
    assert_integer(BYTES("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), INT64_MAX);
    assert_integer(BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."), INT64_MIN);
    assert_integer(BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x10."), INT64_C(1) << 60);
    assert_integer(BYTES("\x80\x04\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xf0."), -(INT64_C(1) << 60));
    assert_integer(BYTES("\x80\x04\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00."), 1);
    assert_integer(BYTES("\x80\x04\x8b\x02\x00\x00\x00\xfe\xff."), -2);
}

static void integers_beyond_64_bits_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(root_kind(BYTES("\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.")),
                     TIDE_PICKLE_HUGE);
    assert_int_equal(root_kind(BYTES("\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.")),
                     TIDE_PICKLE_HUGE);
    char *data = malloc(100007);
    memset(data, 0x55, 100007);
    memcpy(data, "\x80\x04\x8b\xa0\x86\x01\x00", 7); /* 100,000 bytes */
    char *whole = realloc(data, 100008);
    whole[100007] = '.';
    assert_int_equal(root_kind(whole, 100008), TIDE_PICKLE_HUGE);
    free(whole);
}

static void containers_hold_their_items(void **state) {
    (void)state;
    size_t n_bytes = 0;
    tide_pickle pickle;
    char *data = pickle_from_text("{'a': [1, 2.5, True, None], 'b': (3, 'x')}", &n_bytes);
    assert_int_equal(pickle_read_bytes(&pickle, data, n_bytes, tide_hostmem_default(), NULL),
                     TIDE_OK);
    const tide_pickle_container *dict = tide_pickle_items(&pickle, pickle.root);
    assert_int_equal(dict->kind, TIDE_PICKLE_DICT);
    assert_int_equal(dict->n_items, 4);
    size_t n_text = 0;
    const char *text = tide_pickle_text(&pickle, dict->items[2], &n_text);
    assert_int_equal(n_text, 1);
    assert_int_equal(text[0], 'b');
    const tide_pickle_container *list = tide_pickle_items(&pickle, dict->items[1]);
    assert_int_equal(list->n_items, 4);
    assert_int_equal(tide_pickle_integer(&pickle, list->items[0]), 1);
    assert_true(tide_pickle_real(&pickle, list->items[1]) == 2.5);
    assert_true(tide_pickle_boolean(list->items[2]));
    assert_int_equal(tide_pickle_kind_of(&pickle, list->items[3]), TIDE_PICKLE_NONE);
    assert_int_equal(tide_pickle_items(&pickle, dict->items[3])->kind, TIDE_PICKLE_TUPLE);
    tide_pickle_fini(&pickle);
    free(data);
}

/* All opcodes that build data, in one pickle. */
static const char EVERYTHING[] =
    "\x80\x05\x95\x00\x00\x00\x00\x00\x00\x00\x00"
    "](]q\x00h\x00r\x01\x00\x00\x00j\x01\x00\x00\x00\x94"
    "NK\x01M\x01\x00J\x01\x00\x00\x00\x8a\x01\x01\x8b\x01\x00\x00\x00\x01\x88\x89"
    "G\x3f\xf0\x00\x00\x00\x00\x00\x00\x8c\x01xX\x01\x00\x00\x00y"
    "\x8d\x01\x00\x00\x00\x00\x00\x00\x00zU\x01uT\x01\x00\x00\x00t"
    "C\x01\x01\x42\x01\x00\x00\x00\x01\x8e\x01\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x96\x01\x00\x00\x00\x00\x00\x00\x00\x01"
    ")K\x01\x85K\x01K\x02\x86K\x01K\x02K\x03\x87(K\x01t(K\x01l(K\x01K\x02"
    "d"
    "}K\x01K\x02s}(K\x01K\x02u]K\x01"
    "aN0(NN1N2"
    "e.";

static void every_opcode_of_data_is_read(void **state) {
    (void)state;
    tide_error error;
    tide_status status = read(BYTES(EVERYTHING), &error);
    if (status != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

/* A pickle cut at any byte gives an error and never a crash. */
static void every_truncation_is_refused(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof(EVERYTHING) - 1; n++) {
        char *copy = malloc(n + 1); /* a heap block of its own: sanitizers see its end */
        memcpy(copy, EVERYTHING, n);
        tide_error error;
        assert_int_not_equal(read(copy, n, &error), TIDE_OK);
        assert_non_null(strstr(error.message, "byte "));
        free(copy);
    }
}

static void every_changed_byte_is_survived(void **state) {
    (void)state;
    char copy[sizeof(EVERYTHING) - 1];
    for (size_t i = 0; i < sizeof(copy); i++) {
        for (unsigned value = 0; value < 256; value++) {
            tide_error error;
            memcpy(copy, EVERYTHING, sizeof(copy));
            copy[i] = (char)value;
            assert_true(read(copy, sizeof(copy), &error) == TIDE_OK || error.message[0] != '\0');
        }
    }
}

/* Opcodes that are refused by name, and bytes that are not opcodes. */
static void all_other_opcodes_are_refused(void **state) {
    (void)state;
    static const struct {
        unsigned char code;
        const char *name;
    } REFUSED[] = {{'c', "GLOBAL"},     {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
                   {'b', "BUILD"},      {'i', "INST"},          {'o', "OBJ"},
                   {0x81, "NEWOBJ"},    {0x92, "NEWOBJ_EX"},    {'P', "PERSID"},
                   {'Q', "BINPERSID"},  {0x82, "EXT1"},         {0x83, "EXT2"},
                   {0x84, "EXT4"},      {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
                   {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},     {0x91, "FROZENSET"},
                   {'F', "FLOAT"},      {'I', "INT"},           {'L', "LONG"},
                   {'S', "STRING"},     {'V', "UNICODE"},       {'g', "GET"},
                   {'p', "PUT"}};
    static const char DATA[] = "(.012JKMNTUXGadehjlqrstu]})\x80\x85\x86\x87\x88\x89\x8a\x8b"
                               "BC\x8c\x8d\x8e\x94\x95\x96";
    size_t n_refused = sizeof(REFUSED) / sizeof(REFUSED[0]);
    for (unsigned code = 0; code < MAX_OPCODES; code++) {
        char data[] = "\x80\x04]?";
        char expected[64];
        data[3] = (char)code;
        if (code != 0 && strchr(DATA, (char)code) != NULL) {
            continue;
        }
        snprintf(expected, sizeof(expected), "byte 3: 0x%02x is no opcode", code);
        tide_status status = TIDE_FORMAT;
        for (size_t i = 0; i < n_refused; i++) {
            if (REFUSED[i].code == code) {
                snprintf(expected, sizeof(expected), "byte 3, opcode %s: refused", REFUSED[i].name);
                status = TIDE_UNSUPPORTED;
            }
        }
        assert_refused(data, sizeof(data) - 1, status, expected);
    }
}

static void other_protocols_are_refused(void **state) {
    (void)state;
    assert_refused(BYTES("\x80\x01N."), TIDE_UNSUPPORTED, "protocol 1");
    assert_refused(BYTES("\x80\x06N."), TIDE_UNSUPPORTED, "protocol 6");
    assert_refused(BYTES("N."), TIDE_FORMAT, "must begin with PROTO");
    assert_refused(BYTES("\x80\x04N\x80\x04."), TIDE_FORMAT, "beginning only");
    for (char protocol = 2; protocol <= 5; protocol++) {
        char data[] = "\x80\x02N.";
        tide_error error;
        data[1] = protocol;
        assert_int_equal(read(data, 4, &error), TIDE_OK);
    }
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    assert_refused(BYTES("\x80\x04."), TIDE_FORMAT, "no value");
    assert_refused(BYTES("\x80\x04NN."), TIDE_FORMAT, "left over");
    assert_refused(BYTES("\x80\x04(N."), TIDE_FORMAT, "left over");
    assert_refused(BYTES("\x80\x04]K\x01"
                         "e."),
                   TIDE_FORMAT, "no mark");
    assert_refused(BYTES("\x80\x04NK\x01"
                         "a."),
                   TIDE_FORMAT, "needs a list, not None");
    assert_refused(BYTES("\x80\x04]K\x01K\x02s."), TIDE_FORMAT, "needs a dict, not a list");
    assert_refused(BYTES("\x80\x04}(K\x01u."), TIDE_FORMAT, "key without a value");
    assert_refused(BYTES("\x80\x04(K\x01"
                         "d."),
                   TIDE_FORMAT, "key without a value");
    assert_refused(BYTES("\x80\x04](a."), TIDE_FORMAT, "too few values");
    assert_refused(BYTES("\x80\x04(e."), TIDE_FORMAT, "needs a list, not nothing");
    assert_refused(BYTES("\x80\x04](K\x01s."), TIDE_FORMAT, "too few values");
    assert_refused(BYTES("\x80\x04K\x01\x86."), TIDE_FORMAT, "too few values");
    assert_refused(BYTES("\x80\x04h\x00."), TIDE_FORMAT, "memo number 0 was never set");
    assert_refused(BYTES("\x80\x04Nq\x05h\x03."), TIDE_FORMAT, "memo number 3 was never set");
    assert_refused(BYTES("\x80\x04\x94."), TIDE_FORMAT, "no value");
    assert_refused(BYTES("\x80\x04\x8b\xff\xff\xff\xffx."), TIDE_FORMAT, "negative");
    assert_refused(BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), TIDE_FORMAT,
                   "truncated");
}

static void limits_hold(void **state) {
    (void)state;
    /* A memo number that would take 32 GiB. */
    assert_refused(BYTES("\x80\x04Nr\xff\xff\xff\xff."), TIDE_LIMIT, "memo number 4294967295");
    assert_refused(BYTES("\x80\x04X\x01\x00\x10\x00x."), TIDE_LIMIT, "1048577 bytes");
    assert_refused(BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffx."), TIDE_LIMIT,
                   "the limit");
    char marks[100] = "\x80\x04";
    memset(marks + 2, '(', sizeof(marks) - 2);
    assert_refused(marks, sizeof(marks), TIDE_LIMIT, "marks at once");
    char tuples[102] = "\x80\x04N"; /* ((((...),),),) */
    memset(tuples + 3, 0x85, sizeof(tuples) - 4);
    tuples[101] = '.';
    assert_refused(tuples, sizeof(tuples), TIDE_LIMIT, "levels deep");
    char lists[1003] = "\x80\x04"; /* [[[[...]]]] */
    memset(lists + 2, ']', 500);
    memset(lists + 502, 'a', 500);
    lists[1001] = '.';
    assert_refused(lists, sizeof(lists) - 1, TIDE_LIMIT, "levels deep");
}

/* Thirty nested lists, each holding the next one 16 times, are harmless, because they are never
 * walked. */
static void shared_lists_take_no_memory(void **state) {
    (void)state;
    char data[4096] = "\x80\x04]\x94";
    size_t n = 4;
    for (unsigned level = 0; level < 30; level++) {
        data[n++] = ']';
        data[n++] = '\x94';
        data[n++] = '(';
        for (int i = 0; i < 16; i++) {
            data[n++] = 'h';
            data[n++] = (char)level;
        }
        data[n++] = 'e';
    }
    for (unsigned level = 0; level < 30; level++) {
        data[n++] = '\x86';
    }
    memcpy(data + n, ".", 1);
    tide_error error;
    (void)read(data, n + 1,
               &error); /* the stack holds more than one value, which is refused only at the end */
    assert_non_null(strstr(error.message, "levels deep"));
}

static void memory_is_bounded(void **state) {
    (void)state;
    enum { N_BYTES = 4000000 };
    static const char CODES[] = "])}NK";
    for (size_t i = 0; i + 1 < sizeof(CODES); i++) {
        char *data = malloc(N_BYTES);
        tide_error error;
        memset(data, CODES[i], N_BYTES);
        memcpy(data, "\x80\x04", 2);
        tide_status status = read(data, N_BYTES, &error);
        assert_true(status == TIDE_LIMIT || status == TIDE_FORMAT);
        free(data);
    }
    /* Empty lists: each byte of the file needs 32 bytes of memory. */
    char *lists = malloc(N_BYTES);
    memset(lists, ']', N_BYTES);
    memcpy(lists, "\x80\x04", 2);
    assert_refused(lists, N_BYTES, TIDE_LIMIT, "no snapshot is that dense");
    free(lists);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    for (size_t call = 1;; call++) {
        tide_hostmem_fault heap;
        tide_pickle pickle;
        tide_hostmem_fault_init(&heap, call);
        tide_status status = pickle_read_bytes(&pickle, BYTES(EVERYTHING), &heap.mem, NULL);
        if (status == TIDE_OK) {
            tide_pickle_fini(&pickle);
            assert_int_equal(heap.n_live, 0);
            assert_true(call > 3);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        assert_int_equal(heap.n_live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(integers_beyond_64_bits_are_told_apart),
        cmocka_unit_test(containers_hold_their_items),
        cmocka_unit_test(every_opcode_of_data_is_read),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(all_other_opcodes_are_refused),
        cmocka_unit_test(other_protocols_are_refused),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(shared_lists_take_no_memory),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
