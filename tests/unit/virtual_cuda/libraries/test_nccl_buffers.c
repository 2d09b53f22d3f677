/* test_nccl_buffers.c - the model of the memory of NCCL's communicators. The figures follow from
 * NCCL's source (docs/guide/ranks.md): a connection of a channel has 2 MiB at the sender and 10 MiB
 * at the receiver, and each small allocation has 2 MiB. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "programs/virtual_cuda/nccl/buffers.h"

#define MIB(n) ((uint64_t)(n) << 20)

static const tide_vc_nccl_place H100 = {.capability = 90, .n_links = 18, .n_ranks = 2};

static tide_vc_nccl_place of_ranks(tide_vc_nccl_place place, int n_ranks) {
    place.n_ranks = n_ranks;
    return place;
}

static void test_two_hopper(void **state) {
    (void)state;
    tide_vc_nccl_buffers found = tide_vc_nccl_buffers_of(&H100);
    assert_int_equal(found.n_channels, 24); /* 6 of 60 GB/s, doubled twice */
    assert_int_equal(found.n_peer_channels, 32);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 32 + 16 + 1)));
    assert_int_equal(found.rings, MIB(24 * 12));
    assert_int_equal(found.trees, 0);     /* its peers are the ring's */
    assert_int_equal(found.multicast, 0); /* the ring is faster */
    assert_int_equal(found.send, MIB(32 * 2));
    assert_int_equal(found.receive, MIB(32 * 10));
    tide_vc_nccl_buffers least = tide_vc_nccl_least_of(&H100);
    assert_int_equal(least.start, MIB(2));
    assert_int_equal(least.rings, MIB(24 * 12));
}

static void test_other_cards(void **state) {
    (void)state;
    const tide_vc_nccl_place eight = of_ranks(H100, 8);
    const tide_vc_nccl_place a100 = {.capability = 80, .n_links = 12, .n_ranks = 8};
    const tide_vc_nccl_place v100 = {.capability = 70, .n_links = 6, .n_ranks = 2};
    const tide_vc_nccl_place few = {.capability = 90, .n_links = 5, .n_ranks = 2};
    const tide_vc_nccl_place b200 = {.capability = 100, .n_links = 18, .n_ranks = 8};
    tide_vc_nccl_buffers found = tide_vc_nccl_buffers_of(&eight);
    assert_int_equal(found.trees, MIB(24 * 12));
    assert_int_equal(found.multicast, MIB(16 * 2 * 8)); /* 8 heads of 1 MiB each way */
    found = tide_vc_nccl_buffers_of(&a100);
    assert_int_equal(found.n_channels, 24);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 32))); /* no NVLink SHARP */
    assert_int_equal(found.rings, MIB(24 * (6 + 6)));     /* it reads from the sender */
    assert_int_equal(found.send, MIB(32 * 6));
    assert_int_equal(found.receive, MIB(32 * 6));
    assert_int_equal(found.multicast, 0);
    found = tide_vc_nccl_buffers_of(&v100);
    assert_int_equal(found.n_channels, 12);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 16)));
    /* 103 GB/s: 2 channels of 50, and not 17 of 6, which are slower than half of that. */
    found = tide_vc_nccl_buffers_of(&few);
    assert_int_equal(found.n_channels, 8);
    found = tide_vc_nccl_buffers_of(&b200);
    assert_int_equal(found.n_channels, 32);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 32 + 24 + 1)));
    assert_int_equal(found.multicast, MIB(24 * 2 * 8));
}

static void test_without_links(void **state) {
    (void)state;
    const tide_vc_nccl_place rtx4090 = {.capability = 89, .n_links = 0, .n_ranks = 2};
    const tide_vc_nccl_place alone = of_ranks(H100, 1);
    tide_vc_nccl_buffers found = tide_vc_nccl_buffers_of(&rtx4090);
    assert_int_equal(found.n_channels, 2);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 2)));
    assert_int_equal(found.rings + found.send + found.receive, 0); /* the host's */
    found = tide_vc_nccl_buffers_of(&alone);
    assert_int_equal(found.n_channels, 64);
    assert_int_equal(found.start, MIB(2 * (2 + 3 * 64)));
    assert_int_equal(found.rings + found.trees + found.multicast + found.send, 0);
}

static tide_vc_nccl_buffers with(const char *name, const char *value, int n_ranks) {
    tide_vc_nccl_place place = of_ranks(H100, n_ranks);
    assert_int_equal(setenv(name, value, 1), 0);
    tide_vc_nccl_buffers found = tide_vc_nccl_buffers_of(&place);
    assert_int_equal(unsetenv(name), 0);
    return found;
}

static void test_variables(void **state) {
    (void)state;
    assert_int_equal(with("NCCL_BUFFSIZE", "1048576", 2).rings, MIB(24 * (2 + 8)));
    assert_int_equal(with("NCCL_LL128_BUFFSIZE", "0", 2).rings, MIB(24 * (2 + 6)));
    assert_int_equal(with("NCCL_BUFFSIZE", "large", 2).rings, MIB(24 * 12));
    assert_int_equal(with("NCCL_MAX_NCHANNELS", "4", 2).rings, MIB(4 * 12));
    assert_int_equal(with("NCCL_MIN_NCHANNELS", "32", 2).rings, MIB(32 * 12));
    assert_int_equal(with("NCCL_MAX_P2P_NCHANNELS", "8", 2).send, MIB(8 * 2));
    assert_int_equal(with("NCCL_NVLS_ENABLE", "0", 8).multicast, 0);
    assert_int_equal(with("NCCL_NVLS_ENABLE", "0", 8).start, MIB(2 * (2 + 3 * 32)));
    assert_int_equal(with("NCCL_CUMEM_ENABLE", "0", 2).start, MIB(2 + 24 * 12));
    assert_int_equal(with("NCCL_RUNTIME_CONNECT", "0", 2).start, MIB(230 + 24 * 12));
    assert_int_equal(with("NCCL_P2P_DISABLE", "1", 2).rings, 0);
    assert_int_equal(with("NCCL_P2P_LEVEL", "LOC", 2).rings, 0);
    assert_int_equal(with("NCCL_ALGO", "Ring", 8).trees, 0);
    assert_int_equal(with("NCCL_ALGO", "^NVLS,Tree", 8).trees, 0);
    assert_int_equal(with("NCCL_ALGO", "ring,tree", 8).trees, MIB(24 * 12));
    assert_int_equal(with("NCCL_ALGO", "Tree", 2).trees, MIB(24 * 12));
    assert_int_equal(with("NCCL_ALGO", "Tree", 2).rings, 0);
}

/* minCTAs and maxCTAs of ncclConfig_t. */
static void test_configuration(void **state) {
    (void)state;
    tide_vc_nccl_place place = H100;
    place.most_channels = 8;
    assert_int_equal(tide_vc_nccl_buffers_of(&place).n_channels, 8);
    place.least_channels = 16;
    assert_int_equal(tide_vc_nccl_buffers_of(&place).n_channels, 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_hopper),    cmocka_unit_test(test_other_cards),
        cmocka_unit_test(test_without_links), cmocka_unit_test(test_variables),
        cmocka_unit_test(test_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
