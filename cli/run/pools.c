/* The sentences about servers of language models and about XLA: how many tokens fit, and what a
 * program uses of the pool that the card sees. */
#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/hostmem.h"
#include "snapshot/explain/words/serving_words.h"

enum { LINE_BYTES = 1024 };

static void print(const tide_text *line) {
    if (line->n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "%s", line->bytes);
    }
}

/* ---- caches of keys and values ---- */

static bool has_equal_before(const tide_left_list *list, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (tide_serving_words_are_equal(&list->pools[i].row, &list->pools[k].row)) {
            return true;
        }
    }
    return false;
}

/* Whether an equal row before k is of the same card: the program made the server again. */
static bool is_again(const tide_left_list *list, size_t k) {
    for (size_t i = 0; i < k; i++) {
        if (list->pools[i].pid == list->pools[k].pid &&
            list->pools[i].row.card == list->pools[k].row.card &&
            tide_serving_words_are_equal(&list->pools[i].row, &list->pools[k].row)) {
            return true;
        }
    }
    return false;
}

/* The cards with a pool that equals row i. Each process numbers its cards itself. */
static size_t count_cards(const tide_left_list *list, size_t i) {
    size_t n = 0;
    for (size_t k = i; k < list->n_pools; k++) {
        n += tide_serving_words_are_equal(&list->pools[i].row, &list->pools[k].row) &&
             !is_again(list, k);
    }
    return n;
}

void tide_run_tell_pools(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_pools; i++) {
        char line[LINE_BYTES];
        tide_text text = tide_text_in(line, sizeof(line));
        if (!has_equal_before(of->list, i)) {
            tide_serving_words_add_pool(&of->list->pools[i].row, count_cards(of->list, i), &text);
        }
        print(&text);
    }
}

/* ---- XLA ---- */

/* The rows of all processes, to be released; NULL: no memory. */
static tide_snapshot_xla *xla_rows(const tide_left_list *list) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_snapshot_xla *rows = tide_hostmem_zeroed(mem, list->n_xla + 1, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < list->n_xla; i++) {
        rows[i] = list->xla[i].row;
    }
    return rows;
}

void tide_run_tell_xla(const tide_run_answer *of) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = of->list->n_xla;
    tide_snapshot_xla *rows = xla_rows(of->list);
    char line[LINE_BYTES];
    for (size_t i = 0; rows != NULL && i < n; i++) {
        tide_text text = tide_text_in(line, sizeof(line));
        tide_serving_words_add_card(rows, n, i, &text);
        print(&text);
    }
    if (rows != NULL) {
        tide_text text = tide_text_in(line, sizeof(line));
        tide_serving_words_add_arrays(rows, n, &text);
        print(&text);
        text = tide_text_in(line, sizeof(line));
        if (of->config->cards != NULL) {
            tide_serving_words_add_flags(rows, n, &text);
        }
        print(&text);
    }
    mem->release(mem->ctx, rows);
}

/* ---- what ended the program ---- */

bool tide_run_add_refusal(const tide_run_answer *of, tide_text *to) {
    const tide_hostmem *mem = tide_hostmem_default();
    const tide_left_list *list = of->list;
    tide_snapshot_xla *rows = xla_rows(list);
    tide_snapshot_kv_pool *pools = tide_hostmem_zeroed(mem, list->n_pools + 1, sizeof(*pools));
    for (size_t i = 0; pools != NULL && i < list->n_pools; i++) {
        pools[i] = list->pools[i].row;
    }
    bool is_refused = tide_serving_words_add_refusal(pools, pools != NULL ? list->n_pools : 0, rows,
                                                     rows != NULL ? list->n_xla : 0, to);
    mem->release(mem->ctx, pools);
    mem->release(mem->ctx, rows);
    return is_refused;
}
