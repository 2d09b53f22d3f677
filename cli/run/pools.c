/* The sentence about the cache of keys and values of a server such as vLLM: how many tokens fit. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/count.h"

enum { LINE_BYTES = 512 };

static bool are_equal(const tide_left_pool *row, const tide_left_pool *other) {
    return strcmp(other->library, row->library) == 0 && other->bytes == row->bytes &&
           other->n_tokens == row->n_tokens && other->n_request_tokens == row->n_request_tokens;
}

/* The rows from `from` on, and below `to`, that equal row i: ranks of one server have equal pools.
 */
static size_t n_equal(const tide_left_list *list, size_t i, size_t from, size_t to) {
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        n += are_equal(&list->pools[i], &list->pools[k]);
    }
    return n;
}

/* NULL also if a later pool was large enough: the program asked for less. */
static const tide_left_pool *small_pool(const tide_run_answer *of) {
    const tide_left_pool *small = NULL;
    for (size_t i = 0; tide_run_has_failed(of) && i < of->list->n_pools; i++) {
        if (of->list->pools[i].asked_bytes < 0) {
            return NULL;
        }
        small = small == NULL ? &of->list->pools[i] : small;
    }
    return small;
}

static void add_small_pool(const tide_left_pool *pool, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char n_asked[TIDE_COUNT_TEXT];
    char n_request[TIDE_COUNT_TEXT];
    tide_text_add(to,
                  "the KV cache of %s is too small: a request of %s tokens needs %s, and %s are "
                  "left for it",
                  pool->library, tide_count_format(pool->n_asked_tokens, n_asked),
                  tide_bytes_format(pool->asked_bytes, asked),
                  tide_bytes_format(pool->bytes, bytes));
    if (pool->n_request_tokens > 0) {
        tide_text_add(to, "; %s estimates that a request of %s tokens fits", pool->library,
                      tide_count_format(pool->n_request_tokens, n_request));
    }
}

bool tide_run_add_refusal(const tide_run_answer *of, tide_text *to) {
    const tide_left_pool *pool = small_pool(of);
    const tide_left_xla *xla = tide_run_xla_refusal(of);
    if (pool != NULL && to != NULL) {
        add_small_pool(pool, to);
    } else if (xla != NULL && to != NULL) {
        tide_run_add_xla_refusal(xla, to);
    }
    return pool != NULL || xla != NULL;
}

static void say_pool(const tide_left_pool *row, size_t n_cards, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    char n_tokens[TIDE_COUNT_TEXT];
    char n_request[TIDE_COUNT_TEXT];
    tide_text_add(to, "the KV cache of %s has %s", row->library,
                  tide_bytes_format(row->bytes, bytes));
    if (n_cards > 1) {
        tide_text_add(to, " on each of %zu cards", n_cards);
    }
    tide_text_add(to,
                  ": %s tokens by its own count; a single request may have up to %s tokens "
                  "(max_model_len)",
                  tide_count_format(row->n_tokens, n_tokens),
                  tide_count_format(row->n_request_tokens, n_request));
}

void tide_run_tell_pools(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_pools; i++) {
        const tide_left_pool *row = &of->list->pools[i];
        char line[LINE_BYTES];
        tide_text text = tide_text_in(line, sizeof(line));
        if (row->asked_bytes >= 0 || n_equal(of->list, i, 0, i) > 0) {
            continue;
        }
        say_pool(row, n_equal(of->list, i, i, of->list->n_pools), &text);
        tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
    }
}
