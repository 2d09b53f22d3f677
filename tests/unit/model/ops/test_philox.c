/* test_philox.c - the random numbers: published answers, and how elements are keyed. */
#include "ops_support.h"

#include <string.h>

#include "model/philox.h"

/* The known answers that the authors of Philox publish with Random123 (kat_vectors, philox4x32 with
 * 10 rounds). */
static void published_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } CASES[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_philox_block block = tide_philox4x32(CASES[i].counter, CASES[i].key);
        assert_memory_equal(block.words, CASES[i].answer, sizeof(block.words));
    }
}

static void elements_are_keyed(void **state) {
    (void)state;
    const uint32_t counter[4] = {0x9abcdef0, 0x12345678, 0x55667788, 0x11223344};
    const uint32_t key[2] = {0xddeeff00, 0x99aabbcc};
    tide_philox_block want = tide_philox4x32(counter, key);
    tide_philox_block got = tide_philox_elements(
        UINT64_C(0x99aabbccddeeff00), UINT64_C(0x1122334455667788), UINT64_C(0x123456789abcdef0));
    assert_memory_equal(&got, &want, sizeof(got));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers),
        cmocka_unit_test(elements_are_keyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
