/* test_eh_frame.c - unwind tables as hand-made bytes: the program of a frame description entry,
 * the entries around it, and the sorted table that finds them. Each is also cut and damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/cfa_program_internal.h"

/* What gcc writes first on x86-64: CFA = rsp + 8, return address at CFA - 8. */
#define COMMON 0x0c, 7, 8, 0x90, 1
/* push %rbp; mov %rsp,%rbp; ...; leave: CFA = rsp + 16, rbp at CFA - 16, then CFA = rbp + 16. */
#define PUSH_RBP 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6

/* The rule at `n_code_bytes` by these instructions, data alignment -8. */
static tide_unwind_rule run(const uint8_t *own, size_t n_own, uint64_t n_code_bytes) {
    static const uint8_t common[] = {COMMON};
    return tide_cfa_run(&(tide_cfa_program){.common = {common, common + sizeof(common)},
                                            .own = {own, own + n_own},
                                            .code_alignment = 1,
                                            .data_alignment = -8,
                                            .n_code_bytes = n_code_bytes});
}

#define RUN(n_code_bytes, ...)                                                                     \
    run((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), n_code_bytes)

static void expect(tide_unwind_rule rule, tide_unwind_kind kind, int32_t cfa_offset) {
    assert_int_equal(rule.kind, kind);
    assert_int_equal(rule.cfa_offset, cfa_offset);
    assert_false(rule.saves_rbp);
}

static void expect_saved(tide_unwind_rule rule, tide_unwind_kind kind, int32_t cfa_offset,
                         int32_t rbp_offset) {
    assert_int_equal(rule.kind, kind);
    assert_int_equal(rule.cfa_offset, cfa_offset);
    assert_true(rule.saves_rbp);
    assert_int_equal(rule.rbp_offset, rbp_offset);
}

static void expect_other(tide_unwind_rule rule) {
    assert_int_equal(rule.kind, TIDE_UNWIND_OTHER);
}

static void rows_take_effect_at_their_instruction(void **state) {
    (void)state;
    expect(RUN(0, PUSH_RBP), TIDE_UNWIND_RSP, 8);
    expect_saved(RUN(1, PUSH_RBP), TIDE_UNWIND_RSP, 16, -16);
    expect_saved(RUN(3, PUSH_RBP), TIDE_UNWIND_RSP, 16, -16);
    expect_saved(RUN(4, PUSH_RBP), TIDE_UNWIND_RBP, 16, -16);
    expect_saved(RUN(4000, PUSH_RBP), TIDE_UNWIND_RBP, 16, -16);
    /* Advances of one, two and four bytes. */
    expect(RUN(0x7f, 0x02, 0x80, 0x0e, 24), TIDE_UNWIND_RSP, 8);
    expect(RUN(0x80, 0x02, 0x80, 0x0e, 24), TIDE_UNWIND_RSP, 24);
    expect(RUN(0x101, 0x03, 0x02, 0x01, 0x0e, 24), TIDE_UNWIND_RSP, 8);
    expect(RUN(0x102, 0x03, 0x02, 0x01, 0x0e, 24), TIDE_UNWIND_RSP, 24);
    expect(RUN(0x10001, 0x04, 0x02, 0, 0x01, 0, 0x0e, 24), TIDE_UNWIND_RSP, 8);
    expect(RUN(0x10002, 0x04, 0x02, 0, 0x01, 0, 0x0e, 24), TIDE_UNWIND_RSP, 24);
}

static void the_cfa_is_defined_in_every_way(void **state) {
    (void)state;
    expect(RUN(0, 0x0e, 0x80, 0x02), TIDE_UNWIND_RSP, 256); /* two bytes of LEB128 */
    expect(RUN(0, 0x0c, 6, 32), TIDE_UNWIND_RBP, 32);
    expect(RUN(0, 0x12, 6, 0x7c), TIDE_UNWIND_RBP, 32); /* -4 * -8 */
    expect(RUN(0, 0x13, 0x7a), TIDE_UNWIND_RSP, 48);    /* -6 * -8 */
    expect_other(RUN(0, 0x0d, 10));                     /* r10 */
    expect_other(RUN(0, 0x0f, 3, 0x76, 0x78, 0x06));    /* *(rbp - 8) */
    /* An expression that is replaced by a register. */
    expect(RUN(4, 0x0f, 3, 0x76, 0x78, 0x06, 0x44, 0x0c, 7, 8), TIDE_UNWIND_RSP, 8);
    /* Offsets that do not fit into a rule. */
    expect_other(RUN(0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f));
}

static void registers_are_saved_in_every_way(void **state) {
    (void)state;
    expect_saved(RUN(0, 0x05, 6, 3), TIDE_UNWIND_RSP, 8, -24);
    expect_saved(RUN(0, 0x11, 6, 3), TIDE_UNWIND_RSP, 8, -24);
    expect_saved(RUN(0, 0x11, 6, 0x7e), TIDE_UNWIND_RSP, 8, 16);
    expect_saved(RUN(0, 0x2f, 6, 3), TIDE_UNWIND_RSP, 8, 24);
    expect(RUN(0, 0x86, 2, 0xc6), TIDE_UNWIND_RSP, 8);    /* restored */
    expect(RUN(0, 0x86, 2, 0x06, 6), TIDE_UNWIND_RSP, 8); /* the same, long */
    expect(RUN(0, 0x86, 2, 0x08, 6), TIDE_UNWIND_RSP, 8); /* same value */
    expect(RUN(0, 0x83, 5, 0x8c, 4), TIDE_UNWIND_RSP, 8); /* rbx and r12 do not matter */
    expect(RUN(0, 0x10, 3, 1, 0x96), TIDE_UNWIND_RSP, 8); /* nor does rbx by an expression */
    expect(RUN(0, 0x2e, 32, 0x00), TIDE_UNWIND_RSP, 8);   /* size of arguments */
    expect_other(RUN(0, 0x09, 6, 12));                    /* rbp in r12 */
    expect_other(RUN(0, 0x10, 6, 2, 0x77, 0x08));         /* rbp by an expression */
    expect_other(RUN(0, 0x14, 6, 2));                     /* rbp is CFA - 16 itself */
    expect_other(RUN(0, 0x15, 6, 2));                     /* the same, signed */
    expect_other(RUN(0, 0x16, 6, 2, 0x77, 0x08));         /* rbp is an expression */
    expect_other(RUN(0, 0x07, 6));                        /* rbp is lost */
    expect_other(RUN(0, 0x87, 3));                        /* rsp is saved */
    expect_other(RUN(0, 0x90, 2));                        /* return address elsewhere */
    expect_other(RUN(0, 0x16, 16, 2, 0x77, 0x08));        /* return address by an expression */
    assert_int_equal(RUN(0, 0x07, 16).kind, TIDE_UNWIND_END);
}

static void states_are_remembered_and_restored(void **state) {
    (void)state;
    /* push rbp; remember; pop rbp; ret; restore: code that follows a return in mid-function. */
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2,    0x41,
                                      0x0a, 0x0e, 8,  0xc6, 0x41, 0x0b};
    expect_saved(run(program, sizeof(program), 1), TIDE_UNWIND_RSP, 16, -16);
    expect(run(program, sizeof(program), 2), TIDE_UNWIND_RSP, 8);
    expect_saved(run(program, sizeof(program), 3), TIDE_UNWIND_RSP, 16, -16);
    expect_other(RUN(0, 0x0b)); /* nothing was remembered */
    expect_other(RUN(0, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

static void malformed_programs_have_no_rule(void **state) {
    (void)state;
    expect_other(RUN(0, 0x3f));                   /* unknown */
    expect_other(RUN(0, 0x01, 0, 0, 0, 0, 0, 0)); /* DW_CFA_set_loc */
    expect_other(RUN(0, 0x0e));                   /* cut in the operand */
    expect_other(RUN(0, 0x0e, 0x80));
    expect_other(RUN(9, 0x04, 1, 2));
    expect_other(RUN(0, 0x0f, 9, 0x76)); /* expression beyond the end */
    /* No instruction defines the CFA. */
    static const uint8_t nothing[] = {0};
    expect_other(tide_cfa_run(&(tide_cfa_program){.common = {nothing, nothing + 1},
                                                  .own = {nothing, nothing + 1},
                                                  .code_alignment = 1,
                                                  .data_alignment = -8}));
}

enum { TEXT = 0x401000, TEXT_BYTES = 0x40 };

/* A section: a CIE, an FDE for TEXT, and the header that finds it, with addresses relative to it;
 * absolute addresses in the FDE, since TEXT is not a real place. */
typedef struct section {
    uint8_t bytes[160];
    size_t n_bytes;
    size_t cie, fde, header; /* offsets */
} section;

static void put(section *s, uint64_t value, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) {
        s->bytes[s->n_bytes++] = (uint8_t)(value >> (8 * i));
    }
}

static void put_bytes(section *s, const void *bytes, size_t n_bytes) {
    if (n_bytes > 0) {
        memcpy(s->bytes + s->n_bytes, bytes, n_bytes);
    }
    s->n_bytes += n_bytes;
}

/* The length of the entry that began at `entry`. */
static void close_entry(section *s, size_t entry) {
    uint32_t n_bytes = (uint32_t)(s->n_bytes - entry - 4);
    memcpy(s->bytes + entry, &n_bytes, 4);
}

static section build(const char *augmentation, const uint8_t *data, size_t n_data) {
    section s = {.n_bytes = 0};
    s.cie = s.n_bytes;
    put(&s, 0, 4);
    put(&s, 0, 4);
    put(&s, 1, 1);
    put_bytes(&s, augmentation, strlen(augmentation) + 1);
    put(&s, 1, 1);
    put(&s, 0x78, 1);
    put(&s, 16, 1);
    put_bytes(&s, data, n_data);
    put_bytes(&s, (const uint8_t[]){COMMON}, 5);
    close_entry(&s, s.cie);
    s.fde = s.n_bytes;
    put(&s, 0, 4);
    put(&s, s.n_bytes - s.cie, 4);
    put(&s, TEXT, 8);
    put(&s, TEXT_BYTES, 8);
    if (augmentation[0] == 'z') {
        put(&s, 0, 1);
    }
    put_bytes(&s, (const uint8_t[]){PUSH_RBP}, 8);
    close_entry(&s, s.fde);
    s.header = s.n_bytes;
    return s;
}

static tide_unwind_rule rule_at(const section *s, uint64_t pc) {
    return tide_eh_frame_rule((tide_byte_range){s->bytes, s->bytes + s->n_bytes}, s->bytes + s->fde,
                              pc);
}

static void entries_are_read(void **state) {
    (void)state;
    section s = build("", NULL, 0);
    expect(rule_at(&s, TEXT), TIDE_UNWIND_RSP, 8);
    expect_saved(rule_at(&s, TEXT + TEXT_BYTES - 1), TIDE_UNWIND_RBP, 16, -16);
    expect_other(rule_at(&s, TEXT - 1));
    expect_other(rule_at(&s, TEXT + TEXT_BYTES));
    /* A personality routine, a place for language data, and absolute pointers. */
    static const uint8_t data[] = {11, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x00};
    s = build("zPLR", data, sizeof(data));
    expect_saved(rule_at(&s, TEXT + 8), TIDE_UNWIND_RBP, 16, -16);
    /* Augmentation data with a part that the reader does not know. */
    s = build("zR", (const uint8_t[]){3, 0x00, 0xaa, 0xbb}, 4);
    expect_saved(rule_at(&s, TEXT + 8), TIDE_UNWIND_RBP, 16, -16);
}

static void strange_entries_have_no_rule(void **state) {
    (void)state;
    section s = build("zRS", (const uint8_t[]){1, 0x00}, 2); /* a signal frame */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("eh", NULL, 0); /* from before gcc 3 */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("zR", (const uint8_t[]){1, 0x80}, 2); /* an indirect pointer */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("zR", (const uint8_t[]){0, 0x00}, 2); /* less data than letters */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("", NULL, 0);
    s.bytes[s.cie + 8] = 9; /* version */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("", NULL, 0);
    s.bytes[s.fde + 4] = 0; /* a CIE where an FDE should be */
    expect_other(rule_at(&s, TEXT + 8));
    s = build("", NULL, 0);
    s.bytes[s.fde + 5] = 0xff; /* its CIE would be before the section */
    expect_other(rule_at(&s, TEXT + 8));
}

/* Each byte of the section replaced by each of a few values, and the section cut at each byte: the
 * reader returns a rule or none, but never reads outside of it; sanitizers and valgrind would
 * report that. */
static void damaged_entries_do_no_harm(void **state) {
    (void)state;
    static const uint8_t data[] = {11, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x00};
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    section s = build("zPLR", data, sizeof(data));
    for (size_t cut = 0; cut <= s.n_bytes; cut++) {
        uint8_t *exact = malloc(cut + 1);
        assert_non_null(exact);
        memcpy(exact, s.bytes, cut);
        tide_unwind_rule rule = tide_eh_frame_rule((tide_byte_range){exact, exact + cut},
                                                   exact + (s.fde < cut ? s.fde : cut), TEXT + 8);
        assert_int_equal(rule.kind == TIDE_UNWIND_OTHER, cut < s.n_bytes);
        free(exact);
    }
    for (size_t i = 0; i < s.n_bytes; i++) {
        for (size_t v = 0; v < sizeof(values); v++) {
            section damaged = s;
            damaged.bytes[i] = values[v];
            (void)rule_at(&damaged, TEXT + 8);
        }
    }
}

/* Five functions of 0x40 bytes with a gap after the third; the table names offsets 100, 101, ...
 * instead of entries, which are not read here. */
static void the_table_finds_the_last_one_that_begins_before(void **state) {
    (void)state;
    section s = {.n_bytes = 8, .header = 8};
    put(&s, 1, 1);
    put(&s, 0x1b, 1);
    put(&s, 0x03, 1);
    put(&s, 0x3b, 1);
    put(&s, 0, 4);
    put(&s, 5, 4);
    static const uint32_t begins[] = {0x1000, 0x1040, 0x1080, 0x2000, 0x2040};
    for (uint32_t i = 0; i < 5; i++) {
        put(&s, begins[i], 4);
        put(&s, 100 + i, 4);
    }
    s.n_bytes = sizeof(s.bytes);
    tide_byte_range range = {s.bytes, s.bytes + s.n_bytes};
    const uint8_t *header = s.bytes + s.header;
    uint64_t base = (uint64_t)(uintptr_t)header;
    assert_null(tide_eh_frame_find(range, header, base + 0xfff));
    static const struct {
        uint32_t pc, found;
    } cases[] = {{0x1000, 0}, {0x103f, 0}, {0x1040, 1}, {0x1080, 2},
                 {0x1fff, 2}, {0x2000, 3}, {0x2040, 4}, {0x9999, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ptr_equal(tide_eh_frame_find(range, header, base + cases[i].pc),
                         header + 100 + cases[i].found);
    }
    /* More entries than bytes; another encoding; another version; no bytes. */
    s.bytes[s.header + 10] = 1;
    assert_null(tide_eh_frame_find(range, header, base + 0x1000));
    s.bytes[s.header + 10] = 0;
    s.bytes[s.header + 3] = 0xff;
    assert_null(tide_eh_frame_find(range, header, base + 0x1000));
    s.bytes[s.header + 3] = 0x3b;
    s.bytes[s.header] = 2;
    assert_null(tide_eh_frame_find(range, header, base + 0x1000));
    s.bytes[s.header] = 1;
    range.end = header;
    assert_null(tide_eh_frame_find(range, header, base + 0x1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_take_effect_at_their_instruction),
        cmocka_unit_test(the_cfa_is_defined_in_every_way),
        cmocka_unit_test(registers_are_saved_in_every_way),
        cmocka_unit_test(states_are_remembered_and_restored),
        cmocka_unit_test(malformed_programs_have_no_rule),
        cmocka_unit_test(entries_are_read),
        cmocka_unit_test(strange_entries_have_no_rule),
        cmocka_unit_test(damaged_entries_do_no_harm),
        cmocka_unit_test(the_table_finds_the_last_one_that_begins_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
