/* test_device.c - the device table: opening by spec, addresses, capacity, memory, events, cards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "device/address_space.h"
#include "device/cards.h"
#include "device/chips.h"
#include "device/device_friend.h"
#include "support/hostmem_fault.h"

#define MIB ((size_t)1 << 20)

static tide_device *open_device(const char *spec, uint64_t capacity_bytes) {
    tide_device *device = NULL;
    tide_error error = {""};
    tide_device_options options = {.capacity_bytes = capacity_bytes};
    if (tide_device_open(spec, &options, &device, &error) != TIDE_OK) {
        fail_msg("%s: %s", spec, error.message);
    }
    return device;
}

static void unknown_specs_are_refused_with_the_valid_ones(void **state) {
    (void)state;
    static const char *const BAD[] = {
        "",        "gpu",       "cpu:0",    "cuda:",        "cuda:-1", "cuda:x",
        "cuda:1x", "virtually", "virtual:", "virtual:h100", "CPU",     "cuda:1234"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        tide_device *device = NULL;
        tide_error error = {""};
        assert_int_equal(tide_device_open(BAD[i], NULL, &device, &error), TIDE_INVALID);
        assert_null(device);
        bool names_card = strncmp(BAD[i], "virtual:", 8) == 0;
        assert_non_null(strstr(error.message, BAD[i] + (names_card ? 8 : 0)));
        assert_null(strchr(error.message, '\n'));
        assert_non_null(
            strstr(error.message, names_card ? "h100-80" : "cuda, cuda:N, cpu, virtual"));
    }
}

static void cuda_is_absent_with_a_reason_and_a_remedy(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_open("cuda:0", NULL, &device, &error), TIDE_DEVICE_ABSENT);
    assert_null(device);
    assert_non_null(strstr(error.message, "use cpu, or virtual:CARD"));
}

static void every_card_opens_by_its_name(void **state) {
    (void)state;
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    assert_true(n_cards > 0);
    for (size_t i = 0; i < n_cards; i++) {
        char spec[64];
        snprintf(spec, sizeof(spec), "virtual:%s", cards[i].name);
        tide_device *device = open_device(spec, 0);
        const tide_device_info *info = tide_device_get_info(device);
        uint64_t free_bytes = 0;
        uint64_t total_bytes = 0;
        assert_string_equal(info->spec, spec);
        assert_string_equal(info->name, cards[i].title);
        assert_true(info->total_bytes == cards[i].total_bytes);
        assert_int_equal(info->compute_capability, cards[i].compute_capability);
        /* facts of cuBLAS: 32 MiB for compute capability 9.0 exactly, 8,519,680 otherwise */
        assert_int_equal(info->workspace_bytes,
                         info->compute_capability == 90 ? 33554432 : 8519680);
        assert_false(info->computes);
        if (strlen(cards[i].total_source) <= 20) {
            fail_msg("%s: \"%s\" is no sentence that says where its bytes come from", cards[i].name,
                     cards[i].total_source);
        }
        assert_int_equal(cards[i].context_bytes < 0,
                         strcmp(cards[i].context_source, "not measured") == 0);
        assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
        assert_true(total_bytes == (uint64_t)cards[i].total_bytes);
        assert_true(free_bytes <= total_bytes);
        assert_true(cards[i].context_bytes <= 0 ||
                    total_bytes - free_bytes >= (uint64_t)cards[i].context_bytes);
        assert_ptr_equal(tide_card_find(cards[i].name), &cards[i]);
        tide_device_close(device);
    }
    static const char *const NAMES[] = {"rtx4060", "rtx4090", "a100-40", "a100-80",
                                        "h100-80", "h200",    "b200"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        assert_non_null(tide_card_find(NAMES[i]));
    }
    assert_ptr_equal(tide_card_find("h200-141"), tide_card_find("h200"));
    assert_ptr_equal(tide_card_find("rtx4090-24"), tide_card_find("rtx4090"));
    assert_null(tide_card_find("h100"));
    assert_ptr_equal(tide_card_find("t4"), tide_card_find("t4-16"));
    assert_null(tide_card_find(""));
    assert_null(tide_card_find("gb"));
}

static void an_unknown_card_gets_a_suggestion(void **state) {
    (void)state;
    static const char *const WORDS[][2] = {
        {"virtual:h100-81", "there is no card 'h100-81': did you mean h100-80? (valid: "},
        {"virtual:h20", "there is no card 'h20': did you mean h200? (valid: "}};
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        tide_device *device = NULL;
        tide_error error = {""};
        assert_int_equal(tide_device_open(WORDS[i][0], NULL, &device, &error), TIDE_INVALID);
        assert_non_null(strstr(error.message, WORDS[i][1]));
        assert_non_null(strstr(error.message, "t4-16); a virtual device without a card is "
                                              "called virtual"));
    }
}

/* A chip's figures are consistent, whatever their source. */
static void chips_are_consistent(void **state) {
    (void)state;
    size_t n_chips = 0;
    const tide_card_chip *chips = tide_card_chips(&n_chips);
    for (size_t i = 0; i < n_chips; i++) {
        const tide_card_chip *chip = &chips[i];
        assert_true(i == 0 || chip->compute_capability > chips[i - 1].compute_capability);
        assert_ptr_equal(tide_card_chip_find(chip->compute_capability), chip);
        /* whole warps, at least one block of the largest size, and a warp for each block */
        assert_int_equal(chip->max_multiprocessor_threads % TIDE_CHIP_WARP_THREADS, 0);
        assert_true(chip->max_multiprocessor_threads >= TIDE_CHIP_MAX_BLOCK_THREADS);
        assert_true(chip->max_multiprocessor_blocks * TIDE_CHIP_WARP_THREADS <=
                    chip->max_multiprocessor_threads);
        /* What a block can opt in to, and what the system takes for it, fill the multiprocessor. */
        assert_int_equal(chip->shared_optin_bytes + chip->shared_reserved_bytes,
                         chip->shared_multiprocessor_bytes);
        assert_true(chip->shared_optin_bytes >= TIDE_CHIP_SHARED_BLOCK_BYTES);
        assert_int_equal(chip->shared_reserved_bytes, chip->compute_capability >= 80 ? 1024 : 0);
        assert_int_equal(chip->has_bf16, chip->compute_capability >= 80);
        assert_int_equal(chip->has_persisting_cache, chip->compute_capability >= 80);
        assert_int_equal(chip->has_clusters, chip->compute_capability >= 90);
        assert_true(strlen(chip->source) > 20);
    }
    assert_null(tide_card_chip_find(0));
    assert_null(tide_card_chip_find(91));
}

/* Bytes per second that follow from the memory's clock and the width of its bus. */
static int64_t bandwidth_of(const tide_card_board *board) {
    return INT64_C(2000) * board->memory_clock_khz * board->memory_bus_bits / 8;
}

static void boards_are_those_of_their_chips(void **state) {
    (void)state;
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    assert_true(n_cards >= 24);
    for (size_t i = 0; i < n_cards; i++) {
        const tide_card_board *board = &cards[i].board;
        assert_non_null(tide_card_chip_find(cards[i].compute_capability));
        /* No chip has more than 192 multiprocessors, or runs faster than 3 GHz. */
        assert_in_range(board->n_multiprocessors, 20, 192);
        assert_true(board->sm_clock_khz == -1 ||
                    (board->sm_clock_khz >= 1000000 && board->sm_clock_khz <= 3000000));
        assert_true(board->memory_bus_bits == -1 ||
                    (board->memory_bus_bits % 64 == 0 && board->memory_bus_bits <= 8192));
        assert_true(board->memory_clock_khz == -1 || board->memory_bus_bits == -1 ||
                    (bandwidth_of(board) > INT64_C(250000000000) &&
                     bandwidth_of(board) < INT64_C(8000000000000)));
        assert_true(board->cache_bytes == -1 || (board->cache_bytes >= 2 * (int64_t)MIB &&
                                                 board->cache_bytes <= 136 * (int64_t)MIB));
        assert_in_range(board->is_ecc_on + 1, 0, 2);
        assert_true(strlen(board->source) > 20);
        for (size_t k = 0; k < i; k++) { /* each name, and each title, is one card */
            assert_string_not_equal(cards[i].name, cards[k].name);
            assert_string_not_equal(cards[i].title, cards[k].title);
            assert_true(board->pci_device_id == -1 ||
                        board->pci_device_id != cards[k].board.pci_device_id);
        }
    }
    /* two cards whose bandwidth NVIDIA states: 3352 and 320 GB/s */
    assert_int_equal(bandwidth_of(&tide_card_find("h100-80")->board) / 1000000000, 3352);
    assert_int_equal(bandwidth_of(&tide_card_find("t4-16")->board) / 1000000000, 320);
}

static void segments_get_the_lowest_address_that_fits(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "virtual"};
    for (int i = 0; i < 2; i++) {
        tide_device *device = open_device(SPECS[i], 100 * MIB);
        uint64_t a = 0;
        uint64_t b = 0;
        uint64_t c = 0;
        uint64_t d = 0;
        assert_int_equal(tide_device_alloc(device, 2 * MIB, &a, NULL), TIDE_OK);
        assert_int_equal(tide_device_alloc(device, 20 * MIB, &b, NULL), TIDE_OK);
        assert_int_equal(tide_device_alloc(device, 1, &c, NULL), TIDE_OK); /* takes a granule */
        assert_true(a == TIDE_DEVICE_BASE_ADDRESS);
        assert_true(b == a + 2 * MIB);
        assert_true(c == b + 20 * MIB);
        assert_int_equal(tide_device_release(device, b, NULL), TIDE_OK);
        assert_int_equal(tide_device_alloc(device, 22 * MIB, &d, NULL), TIDE_OK);
        assert_true(d == c + 2 * MIB); /* does not fit the hole of 20 MiB */
        assert_int_equal(tide_device_alloc(device, 18 * MIB, &d, NULL), TIDE_OK);
        assert_true(d == b);
        assert_int_equal(tide_device_alloc(device, 2 * MIB, &d, NULL), TIDE_OK);
        assert_true(d == b + 18 * MIB); /* fills the hole exactly */
        tide_device_close(device);
    }
}

static void capacity_counts_and_oom_is_an_answer(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "virtual", "virtual:t4-16"};
    for (int i = 0; i < 3; i++) {
        tide_device *device = open_device(SPECS[i], 10 * MIB);
        tide_error error = {""};
        uint64_t a = 1;
        uint64_t b = 1;
        uint64_t free_bytes = 0;
        uint64_t total_bytes = 0;
        assert_int_equal(tide_device_alloc(device, 8 * MIB, &a, &error), TIDE_OK);
        assert_int_equal(tide_device_alloc(device, 4 * MIB, &b, &error), TIDE_DEVICE_OOM);
        assert_true(b == 1);
        assert_non_null(strstr(error.message, "2.00 MiB of 10.00 MiB"));
        assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
        assert_int_equal(free_bytes, 2 * MIB);
        assert_int_equal(total_bytes, 10 * MIB);
        assert_int_equal(tide_device_alloc(device, SIZE_MAX, &b, &error), TIDE_DEVICE_OOM);
        assert_int_equal(tide_device_release(device, a, &error), TIDE_OK);
        assert_int_equal(tide_device_alloc(device, 10 * MIB, &b, &error), TIDE_OK);
        assert_true(b == a);
        tide_device_close(device);
    }
}

static void an_unlimited_device_gives_what_no_card_has(void **state) {
    (void)state;
    tide_device *device = open_device("virtual", 0);
    uint64_t address = 0;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    assert_true(tide_device_get_info(device)->total_bytes == -1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tide_device_alloc(device, (size_t)1 << 40, &address, NULL), TIDE_OK);
    }
    assert_true(address == TIDE_DEVICE_BASE_ADDRESS + ((uint64_t)99 << 40));
    assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
    assert_true(free_bytes == UINT64_MAX && total_bytes == UINT64_MAX);
    assert_int_equal(tide_device_alloc(device, (size_t)1 << 53, &address, NULL), TIDE_DEVICE_OOM);
    tide_device_close(device);
}

static void only_live_segments_can_be_released(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "virtual"};
    for (int i = 0; i < 2; i++) {
        tide_device *device = open_device(SPECS[i], 100 * MIB);
        tide_error error = {""};
        uint64_t a = 0;
        assert_int_equal(tide_device_alloc(device, 4 * MIB, &a, NULL), TIDE_OK);
        assert_int_equal(tide_device_release(device, a + 512, &error), TIDE_INVALID);
        assert_int_equal(tide_device_release(device, a + 2 * MIB, &error), TIDE_INVALID);
        assert_int_equal(tide_device_release(device, 0, &error), TIDE_INVALID);
        assert_int_equal(tide_device_release(device, a, &error), TIDE_OK);
        assert_int_equal(tide_device_release(device, a, &error), TIDE_INVALID);
        assert_non_null(strstr(error.message, "0x700000000000"));
        tide_device_close(device);
    }
}

static void cpu_and_virtual_give_the_same_addresses(void **state) {
    (void)state;
    enum { N_STEPS = 3000, N_SLOTS = 40 };
    tide_device *cpu = open_device("cpu", 300 * MIB);
    tide_device *made_up = open_device("virtual", 300 * MIB);
    uint64_t live[N_SLOTS] = {0};
    uint64_t random = 7;
    size_t n_refused = 0;
    for (int step = 0; step < N_STEPS; step++) {
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t slot = (size_t)(random % N_SLOTS);
        if (live[slot] != 0) {
            assert_int_equal(tide_device_release(cpu, live[slot], NULL), TIDE_OK);
            assert_int_equal(tide_device_release(made_up, live[slot], NULL), TIDE_OK);
            live[slot] = 0;
            continue;
        }
        size_t n_bytes = (size_t)(random >> 32) % (24 * MIB) + 1;
        uint64_t a = 0;
        uint64_t b = 0;
        tide_status status = tide_device_alloc(cpu, n_bytes, &a, NULL);
        assert_int_equal(tide_device_alloc(made_up, n_bytes, &b, NULL), status);
        assert_true(a == b);
        live[slot] = a;
        n_refused += status == TIDE_DEVICE_OOM ? 1 : 0;
    }
    assert_true(n_refused > 0 && n_refused < N_STEPS / 2);
    tide_device_close(cpu);
    tide_device_close(made_up);
}

static void cpu_memory_is_real_and_comes_back_fresh(void **state) {
    (void)state;
    tide_device *device = open_device("cpu", 64 * MIB);
    uint64_t a = 0;
    uint64_t b = 0;
    assert_int_equal(tide_device_alloc(device, 4 * MIB, &a, NULL), TIDE_OK);
    assert_int_equal(tide_device_alloc(device, 4 * MIB, &b, NULL), TIDE_OK);
    unsigned char *at_a = tide_device_pointer(device, a);
    unsigned char *at_b = tide_device_pointer(device, b);
    assert_ptr_equal(at_b, at_a + 4 * MIB);
    assert_ptr_equal(tide_device_pointer(device, a + 512), at_a + 512);
    assert_int_equal(tide_device_set(device, at_a, 7, 4 * MIB, 0, NULL), TIDE_OK);
    assert_int_equal(at_a[4 * MIB - 1], 7);
    assert_int_equal(tide_device_copy(device, at_b, at_a, 4 * MIB, TIDE_COPY_ON_DEVICE, 0, NULL),
                     TIDE_OK);
    unsigned char host[3] = {0};
    assert_int_equal(tide_device_copy(device, host, at_b + MIB, 3, TIDE_COPY_TO_HOST, 0, NULL),
                     TIDE_OK);
    assert_int_equal(host[2], 7);
    assert_int_equal(tide_device_copy(device, at_b, "abc", 3, TIDE_COPY_TO_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(at_b[2], 'c');
    assert_int_equal(tide_device_release(device, a, NULL), TIDE_OK);
    assert_int_equal(tide_device_alloc(device, 4 * MIB, &a, NULL), TIDE_OK);
    assert_int_equal(at_a[4 * MIB - 1], 0); /* the pages went back to the host in between */
    tide_device_close(device);
}

static void cpu_asks_the_host_for_capacity_and_name(void **state) {
    (void)state;
    tide_device *device = open_device("cpu", 0);
    const tide_device_info *info = tide_device_get_info(device);
    assert_true(info->total_bytes >= (int64_t)(16 * MIB));
    assert_true(strlen(info->name) > 0);
    assert_true(info->computes);
    assert_int_equal(info->workspace_bytes, 0);
    tide_device_close(device);
}

static void virtual_computes_nothing(void **state) {
    (void)state;
    tide_device *device = open_device("virtual", 0);
    uint64_t address = 0;
    assert_int_equal(tide_device_alloc(device, 2 * MIB, &address, NULL), TIDE_OK);
    void *pointer = tide_device_pointer(device, address);
    assert_true((uint64_t)(uintptr_t)pointer == address);
    unsigned char host[4] = {1, 2, 3, 4};
    assert_int_equal(tide_device_set(device, pointer, 1, 2 * MIB, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_copy(device, pointer, host, 4, TIDE_COPY_TO_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_device_copy(device, host, pointer, 3, TIDE_COPY_TO_HOST, 0, NULL),
                     TIDE_OK);
    assert_memory_equal(host, ((const unsigned char[]){0, 0, 0, 4}), 4);
    tide_device_close(device);
}

static void events_tell_time_where_there_is_any(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "virtual"};
    for (int i = 0; i < 2; i++) {
        tide_device *device = open_device(SPECS[i], 64 * MIB);
        tide_device_event *begin = NULL;
        tide_device_event *end = NULL;
        double ms = -7.0;
        assert_int_equal(tide_device_event_create(device, &begin, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_create(device, &end, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_record(device, begin, 0, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_INVALID);
        assert_int_equal(tide_device_event_record(device, end, 0, NULL), TIDE_OK);
        assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_query(device, end, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_OK);
        assert_true(i == 0 ? ms >= 0.0 : ms == -1.0);
        tide_device_event_destroy(device, begin);
        tide_device_event_destroy(device, end);
        tide_device_event_destroy(device, NULL);
        tide_device_close(device);
    }
}

static void streams_are_distinct_and_only_known_ones_are_destroyed(void **state) {
    (void)state;
    tide_device *device = open_device("cpu", 64 * MIB);
    tide_stream a = 0;
    tide_stream b = 0;
    assert_int_equal(tide_device_stream_create(device, &a, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_create(device, &b, NULL), TIDE_OK);
    assert_true(a != 0 && b != 0 && a != b);
    assert_int_equal(tide_device_stream_destroy(device, 0, NULL), TIDE_INVALID);
    assert_int_equal(tide_device_stream_destroy(device, 99, NULL), TIDE_INVALID);
    assert_int_equal(tide_device_stream_destroy(device, a, NULL), TIDE_OK);
    tide_device_close(device);
    tide_device_close(NULL);
}

static tide_status use_device(const char *spec, tide_hostmem_fault *fault) {
    tide_device *device = NULL;
    tide_device_event *event = NULL;
    uint64_t address = 0;
    tide_device_options options = {.mem = &fault->mem, .capacity_bytes = 1024 * MIB};
    tide_status status = tide_device_open(spec, &options, &device, NULL);
    if (status != TIDE_OK) {
        return status;
    }
    status = tide_device_event_create(device, &event, NULL);
    if (status == TIDE_OK) {
        tide_device_event_destroy(device, event);
        status = tide_device_alloc(device, 2 * MIB, &address, NULL);
    }
    tide_device_close(device);
    return status;
}

static void every_failing_host_allocation_is_survived(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "virtual", "virtual:h100-80"};
    for (int i = 0; i < 3; i++) {
        tide_hostmem_fault fault;
        tide_hostmem_fault_init(&fault, 0);
        assert_int_equal(use_device(SPECS[i], &fault), TIDE_OK);
        size_t n_calls = fault.n_calls;
        assert_true(n_calls >= 3);
        for (size_t n = 1; n <= n_calls; n++) {
            tide_hostmem_fault_init(&fault, n);
            assert_int_equal(use_device(SPECS[i], &fault), TIDE_NO_MEMORY);
            assert_int_equal(fault.n_live, 0);
        }
    }
}

/* A context that was not measured is estimated by a card of the same compute capability, whose
 * number of multiprocessors is nearest: 82 on an RTX 3090, 84 on an RTX A6000. */
static void contexts_that_are_not_measured_are_estimated(void **state) {
    (void)state;
    const tide_card *like = tide_card_with_like_context(tide_card_find("rtx3090-24"));
    assert_non_null(like);
    assert_string_equal(like->name, "rtxa6000");
    like = tide_card_with_like_context(tide_card_find("rtx4070"));
    assert_non_null(like);
    assert_int_equal(like->compute_capability, 89);
    assert_true(like->context_bytes > 0 && like->context_bytes < TIDE_CONTEXT_MARGIN_BYTES);
    assert_null(tide_card_with_like_context(tide_card_find("h100-80"))); /* measured */
    assert_null(tide_card_with_like_context(tide_card_find("v100-16"))); /* no card of 7.0 is */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_specs_are_refused_with_the_valid_ones),
        cmocka_unit_test(cuda_is_absent_with_a_reason_and_a_remedy),
        cmocka_unit_test(every_card_opens_by_its_name),
        cmocka_unit_test(an_unknown_card_gets_a_suggestion),
        cmocka_unit_test(chips_are_consistent),
        cmocka_unit_test(boards_are_those_of_their_chips),
        cmocka_unit_test(segments_get_the_lowest_address_that_fits),
        cmocka_unit_test(capacity_counts_and_oom_is_an_answer),
        cmocka_unit_test(an_unlimited_device_gives_what_no_card_has),
        cmocka_unit_test(only_live_segments_can_be_released),
        cmocka_unit_test(cpu_and_virtual_give_the_same_addresses),
        cmocka_unit_test(cpu_memory_is_real_and_comes_back_fresh),
        cmocka_unit_test(cpu_asks_the_host_for_capacity_and_name),
        cmocka_unit_test(virtual_computes_nothing),
        cmocka_unit_test(events_tell_time_where_there_is_any),
        cmocka_unit_test(streams_are_distinct_and_only_known_ones_are_destroyed),
        cmocka_unit_test(every_failing_host_allocation_is_survived),
        cmocka_unit_test(contexts_that_are_not_measured_are_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
