#include "snapshot/explain/words/serving_words.h"

#include <string.h>

#include "common/text/bytes.h"
#include "common/text/count.h"
#include "common/text/plural.h"

/* ---- caches of keys and values ---- */

/* Other rows say nothing: a program may write any. */
static bool is_complete(const tide_snapshot_kv_pool *row) {
    return row->library[0] != '\0' && row->bytes >= 0;
}

static bool is_too_small(const tide_snapshot_kv_pool *row) {
    return row->asked_bytes >= 0;
}

bool tide_serving_words_are_equal(const tide_snapshot_kv_pool *row,
                                  const tide_snapshot_kv_pool *other) {
    return strcmp(other->library, row->library) == 0 && other->bytes == row->bytes &&
           other->n_tokens == row->n_tokens && other->n_request_tokens == row->n_request_tokens;
}

void tide_serving_words_add_pool(const tide_snapshot_kv_pool *row, size_t n_cards, tide_text *to) {
    char text[TIDE_BYTES_TEXT];
    char count[TIDE_COUNT_TEXT];
    if (is_too_small(row) || !is_complete(row)) {
        return;
    }
    tide_text_add(to, "The KV cache of %s has %s", row->library,
                  tide_bytes_format(row->bytes, text));
    if (n_cards > 1) {
        tide_text_add(to, " on each of %zu cards", n_cards);
    }
    if (row->n_tokens >= 0) {
        tide_text_add(to, ": %s tokens by its own count", tide_count_format(row->n_tokens, count));
    }
    if (row->n_request_tokens >= 0) {
        tide_text_add(to, "; a single request may have up to %s tokens (max_model_len%s)",
                      tide_count_format(row->n_request_tokens, count),
                      row->is_fitted ? ", which it chose by the cache" : "");
    }
    if (row->n_request_tokens >= 0 && row->n_requests_percent >= 0) {
        tide_text_add(to, ", and %s.%02d such requests fit together",
                      tide_count_format(row->n_requests_percent / 100, count),
                      (int)(row->n_requests_percent % 100));
    }
    tide_text_add(to, ".");
}

static void add_small_pool(const tide_snapshot_kv_pool *row, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char n_asked[TIDE_COUNT_TEXT];
    char n_request[TIDE_COUNT_TEXT];
    tide_text_add(to, "the KV cache of %s is too small: a request ", row->library);
    if (row->n_asked_tokens >= 0) {
        tide_text_add(to, "of %s tokens ", tide_count_format(row->n_asked_tokens, n_asked));
    }
    tide_text_add(to, "needs %s, and %s are left for it",
                  tide_bytes_format(row->asked_bytes, asked), tide_bytes_format(row->bytes, bytes));
    if (row->n_request_tokens > 0) {
        tide_text_add(to, "; %s estimates that a request of %s tokens fits", row->library,
                      tide_count_format(row->n_request_tokens, n_request));
    }
}

/* NULL also if a pool was large enough: the program asked for less. */
static const tide_snapshot_kv_pool *small_pool(const tide_snapshot_kv_pool *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!is_too_small(&rows[i])) {
            return NULL;
        }
    }
    return n > 0 && is_complete(&rows[0]) ? &rows[0] : NULL;
}

/* ---- XLA ---- */

static bool is_card(const tide_snapshot_xla *row) {
    return row->array_bytes < 0;
}

static bool has_count(const tide_snapshot_xla *row) {
    return row->peak_bytes >= 0;
}

static void add_xla_refusal(const tide_snapshot_xla *row, tide_text *to) {
    char asked[TIDE_BYTES_TEXT];
    char peak[TIDE_BYTES_TEXT];
    tide_text_add(to, "XLA found no room for %s", tide_bytes_format(row->asked_bytes, asked));
    if (row->place[0] != '\0') {
        tide_text_add(to, " at %s", row->place);
    }
    if (has_count(row)) {
        tide_text_add(to, "; it had used up to %s at once",
                      tide_bytes_format(row->peak_bytes, peak));
    }
}

bool tide_serving_words_add_refusal(const tide_snapshot_kv_pool *pools, size_t n_pools,
                                    const tide_snapshot_xla *xla, size_t n_xla, tide_text *to) {
    const tide_snapshot_kv_pool *pool = small_pool(pools, n_pools);
    const tide_snapshot_xla *card = NULL;
    for (size_t i = 0; card == NULL && i < n_xla; i++) {
        card = is_card(&xla[i]) && xla[i].asked_bytes >= 0 ? &xla[i] : NULL;
    }
    if (pool != NULL && to != NULL) {
        add_small_pool(pool, to);
    } else if (card != NULL && to != NULL) {
        add_xla_refusal(card, to);
    }
    return pool != NULL || card != NULL;
}

static size_t count_cards(const tide_snapshot_xla *rows, size_t n) {
    size_t n_cards = 0;
    for (size_t i = 0; i < n; i++) {
        n_cards += is_card(&rows[i]);
    }
    return n_cards;
}

/* Whether a row before i has the same figure of the largest function: all cards of a program do. */
static bool is_program_known(const tide_snapshot_xla *rows, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (is_card(&rows[k]) && rows[k].program_bytes == rows[i].program_bytes) {
            return true;
        }
    }
    return false;
}

/* A program that sees several cards may use one. */
static bool is_unused(const tide_snapshot_xla *rows, size_t n, size_t i) {
    return rows[i].peak_bytes == 0 && count_cards(rows, n) > 1;
}

static void add_count(const tide_snapshot_xla *row, bool has_several, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    if (has_several) {
        tide_text_add(to, "Card %lld: ", (long long)row->card);
    }
    tide_text_add(to, "XLA used up to %s at once by its own count",
                  tide_bytes_format(row->peak_bytes, bytes));
    if (row->limit_bytes > 0) {
        tide_text_add(to, ", of a pool of up to %s", tide_bytes_format(row->limit_bytes, bytes));
    }
}

void tide_serving_words_add_card(const tide_snapshot_xla *rows, size_t n, size_t i, tide_text *to) {
    const tide_snapshot_xla *row = &rows[i];
    char bytes[TIDE_BYTES_TEXT];
    bool has_program = row->program_bytes >= 0;
    if (!is_card(row) || is_unused(rows, n, i) ||
        (!has_count(row) && (!has_program || is_program_known(rows, i)))) {
        return;
    }
    if (has_count(row)) {
        add_count(row, count_cards(rows, n) > 1, to);
    } else {
        tide_text_add(to, "XLA's allocator does not count the memory in use");
    }
    if (has_program) {
        tide_text_add(to, "; its largest compiled function needs %s",
                      tide_bytes_format(row->program_bytes, bytes));
    }
    tide_text_add(to, ".");
}

void tide_serving_words_add_arrays(const tide_snapshot_xla *rows, size_t n, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    size_t n_places = 0;
    for (size_t i = 0; i < n; i++) {
        const tide_snapshot_xla *row = &rows[i];
        if (!is_card(row) && row->place[0] != '\0' && row->n_arrays >= 0) {
            tide_text_add(to, "%s%s in %lld %s of %s",
                          n_places++ == 0 ? "JAX held at the end: " : ", ",
                          tide_bytes_format(row->array_bytes, bytes), (long long)row->n_arrays,
                          tide_plural((uint64_t)row->n_arrays, "array", "arrays"), row->place);
        }
    }
    tide_text_add(to, "%s", n_places > 0 ? "." : "");
}

void tide_serving_words_add_flags(const tide_snapshot_xla *rows, size_t n, tide_text *to) {
    bool lacks_graphs = false;
    bool lacks_autotuning = false;
    for (size_t i = 0; i < n; i++) {
        lacks_graphs = lacks_graphs || rows[i].lacks_graphs;
        lacks_autotuning = lacks_autotuning || rows[i].lacks_autotuning;
    }
    bool lacks_both = lacks_graphs && lacks_autotuning;
    if (lacks_graphs || lacks_autotuning) {
        tide_text_add(to,
                      "XLA ran without %s%s%s: for a virtual card, tidemark adds %s%s%s to "
                      "XLA_FLAGS unless you set a value.",
                      lacks_graphs ? "CUDA graphs" : "", lacks_both ? " and without " : "",
                      lacks_autotuning ? "autotuning" : "",
                      lacks_graphs ? "--xla_gpu_enable_command_buffer=" : "",
                      lacks_both ? " and " : "",
                      lacks_autotuning ? "--xla_gpu_autotune_level=0" : "");
    }
}
