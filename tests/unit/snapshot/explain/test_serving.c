/* test_serving.c - figures of servers of language models and of XLA: in a file, and as sentences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/explain/words/serving_words.h"
#include "support/snapshot_files.h"

#define GIB (INT64_C(1) << 30)

static const tide_snapshot_kv_pool POOL = {.library = "vLLM",
                                           .card = 0,
                                           .bytes = 58 * GIB,
                                           .n_tokens = 475616,
                                           .n_request_tokens = 131072,
                                           .n_requests_percent = 363,
                                           .n_asked_tokens = -1,
                                           .asked_bytes = -1};
static const tide_snapshot_kv_pool SMALL = {.library = "vLLM",
                                            .card = -1,
                                            .bytes = 5 * GIB,
                                            .n_tokens = -1,
                                            .n_request_tokens = 47744,
                                            .n_requests_percent = -1,
                                            .n_asked_tokens = 65536,
                                            .asked_bytes = 8 * GIB};
static const tide_snapshot_xla CARD = {.place = "main (train.py:10)",
                                       .array_bytes = -1,
                                       .n_arrays = -1,
                                       .card = 0,
                                       .peak_bytes = 3 * GIB,
                                       .limit_bytes = 59 * GIB,
                                       .program_bytes = 2 * GIB,
                                       .asked_bytes = -1};
static const tide_snapshot_xla ARRAYS = {"train.py:3", GIB, 8, -1, -1, -1, -1, -1, false, false};

static void every_member_returns_from_a_file(void **state) {
    (void)state;
    tide_snapshot_kv_pool pools[] = {POOL, SMALL};
    tide_snapshot_xla rows[] = {CARD, ARRAYS};
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = NULL;
    tide_snapshot *again = NULL;
    pools[0].is_fitted = true;
    rows[0].asked_bytes = 16 * GIB;
    rows[0].lacks_graphs = true;
    rows[1].lacks_autotuning = true;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->kv_pools = pools;
    made->n_kv_pools = 2;
    made->xla = rows;
    made->n_xla = 2;
    snapshot_path(path, "serving.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &again, NULL), TIDE_OK);
    snapshot_remove(path);
    assert_int_equal(again->n_kv_pools, 2);
    assert_int_equal(again->n_xla, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(again->kv_pools[i].library, pools[i].library);
        assert_int_equal(again->kv_pools[i].card, pools[i].card);
        assert_int_equal(again->kv_pools[i].bytes, pools[i].bytes);
        assert_int_equal(again->kv_pools[i].n_tokens, pools[i].n_tokens);
        assert_int_equal(again->kv_pools[i].n_request_tokens, pools[i].n_request_tokens);
        assert_int_equal(again->kv_pools[i].is_fitted, pools[i].is_fitted);
        assert_int_equal(again->kv_pools[i].n_requests_percent, pools[i].n_requests_percent);
        assert_int_equal(again->kv_pools[i].n_asked_tokens, pools[i].n_asked_tokens);
        assert_int_equal(again->kv_pools[i].asked_bytes, pools[i].asked_bytes);
        assert_string_equal(again->xla[i].place, rows[i].place);
        assert_int_equal(again->xla[i].array_bytes, rows[i].array_bytes);
        assert_int_equal(again->xla[i].n_arrays, rows[i].n_arrays);
        assert_int_equal(again->xla[i].card, rows[i].card);
        assert_int_equal(again->xla[i].peak_bytes, rows[i].peak_bytes);
        assert_int_equal(again->xla[i].limit_bytes, rows[i].limit_bytes);
        assert_int_equal(again->xla[i].program_bytes, rows[i].program_bytes);
        assert_int_equal(again->xla[i].asked_bytes, rows[i].asked_bytes);
        assert_int_equal(again->xla[i].lacks_graphs, rows[i].lacks_graphs);
        assert_int_equal(again->xla[i].lacks_autotuning, rows[i].lacks_autotuning);
    }
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(made);
}

/* ---- caches of keys and values ---- */

static void expect_pool(tide_snapshot_kv_pool row, size_t n_cards, const char *sentence) {
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_serving_words_add_pool(&row, n_cards, &text);
    assert_string_equal(words, sentence);
}

static void a_pool_is_a_sentence(void **state) {
    (void)state;
    tide_snapshot_kv_pool row = POOL;
    expect_pool(row, 1,
                "The KV cache of vLLM has 58.00 GiB: 475,616 tokens by its own count; a single "
                "request may have up to 131,072 tokens (max_model_len), and 3.63 such requests fit "
                "together.");
    row.is_fitted = true;
    row.n_requests_percent = 100;
    expect_pool(row, 2,
                "The KV cache of vLLM has 58.00 GiB on each of 2 cards: 475,616 tokens by its own "
                "count; a single request may have up to 131,072 tokens (max_model_len, which it "
                "chose by the cache), and 1.00 such requests fit together.");
    row.n_requests_percent = -1;
    row.is_fitted = false;
    expect_pool(row, 1,
                "The KV cache of vLLM has 58.00 GiB: 475,616 tokens by its own count; a single "
                "request may have up to 131,072 tokens (max_model_len).");
    row.n_request_tokens = -1;
    row.n_tokens = -1;
    row.n_requests_percent = 5;
    expect_pool(row, 1, "The KV cache of vLLM has 58.00 GiB.");
    expect_pool(SMALL, 1, "");
}

static void expect_refusal(const tide_snapshot_kv_pool *pools, size_t n_pools,
                           const tide_snapshot_xla *xla, size_t n_xla, const char *words) {
    char found[512];
    tide_text text = tide_text_in(found, sizeof(found));
    bool is_refused = tide_serving_words_add_refusal(pools, n_pools, xla, n_xla, &text);
    assert_int_equal(is_refused, words[0] != '\0');
    assert_int_equal(tide_serving_words_add_refusal(pools, n_pools, xla, n_xla, NULL), is_refused);
    assert_string_equal(found, words);
}

/* Files of other writers may lack figures. */
static void a_row_without_figures_is_no_sentence(void **state) {
    (void)state;
    tide_snapshot_kv_pool row = POOL;
    row.bytes = -1;
    expect_pool(row, 1, "");
    row = POOL;
    row.library = "";
    expect_pool(row, 1, "");
    row = SMALL;
    row.n_asked_tokens = -1;
    row.n_request_tokens = -1;
    expect_refusal(&row, 1, NULL, 0,
                   "the KV cache of vLLM is too small: a request needs 8.00 GiB, and 5.00 GiB are "
                   "left for it");
    row.bytes = -1;
    expect_refusal(&row, 1, NULL, 0, "");
    tide_snapshot_xla arrays = ARRAYS;
    arrays.n_arrays = -1;
    char words[64] = "";
    tide_text text = tide_text_in(words, sizeof(words));
    tide_serving_words_add_arrays(&arrays, 1, &text);
    assert_string_equal(words, "");
}

static void a_small_pool_is_a_refusal(void **state) {
    (void)state;
    tide_snapshot_kv_pool rows[] = {SMALL, SMALL};
    static const char WORDS[] =
        "the KV cache of vLLM is too small: a request of 65,536 tokens needs 8.00 GiB, and 5.00 "
        "GiB are left for it; vLLM estimates that a request of 47,744 tokens fits";
    expect_refusal(NULL, 0, NULL, 0, "");
    expect_refusal(rows, 2, NULL, 0, WORDS);
    rows[0].n_request_tokens = -1;
    expect_refusal(rows, 1, NULL, 0,
                   "the KV cache of vLLM is too small: a request of 65,536 tokens needs 8.00 GiB, "
                   "and 5.00 GiB are left for it");
    rows[1] = POOL; /* it asked for less */
    expect_refusal(rows, 2, NULL, 0, "");
}

/* ---- XLA ---- */

static void a_request_without_room_is_a_refusal(void **state) {
    (void)state;
    tide_snapshot_xla rows[] = {ARRAYS, CARD, CARD};
    expect_refusal(NULL, 0, rows, 3, "");
    rows[2].asked_bytes = 16 * GIB;
    expect_refusal(NULL, 0, rows, 3,
                   "XLA found no room for 16.00 GiB at main (train.py:10); it had used up to 3.00 "
                   "GiB at once");
    rows[2].peak_bytes = -1;
    rows[2].place = "";
    expect_refusal(NULL, 0, rows, 3, "XLA found no room for 16.00 GiB");
    expect_refusal(&SMALL, 1, rows, 3,
                   "the KV cache of vLLM is too small: a request of 65,536 tokens needs 8.00 GiB, "
                   "and 5.00 GiB are left for it; vLLM estimates that a request of 47,744 tokens "
                   "fits");
}

static void expect_card(const tide_snapshot_xla *rows, size_t n, size_t i, const char *sentence) {
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_serving_words_add_card(rows, n, i, &text);
    assert_string_equal(words, sentence);
}

static void a_card_is_a_sentence(void **state) {
    (void)state;
    tide_snapshot_xla rows[] = {CARD, CARD, ARRAYS};
    expect_card(rows + 1, 2, 0,
                "XLA used up to 3.00 GiB at once by its own count, of a pool of up to 59.00 GiB; "
                "its largest compiled function needs 2.00 GiB.");
    expect_card(rows, 3, 2, "");
    rows[1].card = 1;
    rows[1].limit_bytes = -1;
    rows[1].program_bytes = -1;
    expect_card(rows, 3, 1, "Card 1: XLA used up to 3.00 GiB at once by its own count.");
    rows[1].peak_bytes = 0; /* the program sees it, and does not use it */
    expect_card(rows, 3, 1, "");
    expect_card(rows + 1, 1, 0, "XLA used up to 0 B at once by its own count.");
}

/* Of an allocator of XLA's whose memory_stats() are empty. */
static void cards_without_a_count(void **state) {
    (void)state;
    tide_snapshot_xla rows[] = {CARD, CARD, CARD};
    for (size_t i = 0; i < 3; i++) {
        rows[i].card = (int64_t)i;
        rows[i].peak_bytes = -1;
        rows[i].limit_bytes = -1;
    }
    expect_card(rows, 3, 0,
                "XLA's allocator does not count the memory in use; its largest compiled function "
                "needs 2.00 GiB.");
    expect_card(rows, 3, 1, "");
    rows[2].program_bytes = GIB;
    expect_card(rows, 3, 2,
                "XLA's allocator does not count the memory in use; its largest compiled function "
                "needs 1.00 GiB.");
    rows[2].program_bytes = -1;
    expect_card(rows, 3, 2, "");
}

static void arrays_are_a_sentence(void **state) {
    (void)state;
    tide_snapshot_xla rows[] = {ARRAYS, CARD, ARRAYS, ARRAYS};
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    rows[0].place = "";
    rows[3].n_arrays = 1;
    tide_serving_words_add_arrays(rows, 4, &text);
    assert_string_equal(words, "JAX held at the end: 1.00 GiB in 8 arrays of train.py:3, 1.00 GiB "
                               "in 1 array of train.py:3.");
    text = tide_text_in(words, sizeof(words));
    tide_serving_words_add_arrays(rows, 2, &text);
    assert_string_equal(words, "");
}

static void flags_are_a_sentence(void **state) {
    (void)state;
    static const char *const SENTENCES[] = {
        "",
        "XLA ran without CUDA graphs: for a virtual card, tidemark adds "
        "--xla_gpu_enable_command_buffer= to XLA_FLAGS unless you set a value.",
        "XLA ran without autotuning: for a virtual card, tidemark adds "
        "--xla_gpu_autotune_level=0 to XLA_FLAGS unless you set a value.",
        "XLA ran without CUDA graphs and without autotuning: for a virtual card, tidemark adds "
        "--xla_gpu_enable_command_buffer= and --xla_gpu_autotune_level=0 to XLA_FLAGS unless you "
        "set a value."};
    for (int i = 0; i < 4; i++) {
        tide_snapshot_xla row = CARD;
        char words[512];
        tide_text text = tide_text_in(words, sizeof(words));
        row.lacks_graphs = (i & 1) != 0;
        row.lacks_autotuning = (i & 2) != 0;
        tide_serving_words_add_flags(&row, 1, &text);
        assert_string_equal(words, SENTENCES[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_returns_from_a_file),
        cmocka_unit_test(a_pool_is_a_sentence),
        cmocka_unit_test(a_small_pool_is_a_refusal),
        cmocka_unit_test(a_row_without_figures_is_no_sentence),
        cmocka_unit_test(a_request_without_room_is_a_refusal),
        cmocka_unit_test(a_card_is_a_sentence),
        cmocka_unit_test(cards_without_a_count),
        cmocka_unit_test(arrays_are_a_sentence),
        cmocka_unit_test(flags_are_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
