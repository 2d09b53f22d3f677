/* The sentences about servers of language models and about XLA: how many tokens fit, and what a
 * program uses of the pool that the card sees. */
#include <string.h>

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

/* Ranks of one server have equal pools, each on its card. */
static bool are_equal(const tide_snapshot_kv_pool *row, const tide_snapshot_kv_pool *other) {
    return strcmp(other->library, row->library) == 0 && other->bytes == row->bytes &&
           other->n_tokens == row->n_tokens && other->n_request_tokens == row->n_request_tokens;
}

/* The rows from `from` on, and below `to`, that equal row i. */
static size_t n_equal(const tide_left_list *list, size_t i, size_t from, size_t to) {
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        n += are_equal(&list->pools[i].row, &list->pools[k].row);
    }
    return n;
}

void tide_run_tell_pools(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_pools; i++) {
        char line[LINE_BYTES];
        tide_text text = tide_text_in(line, sizeof(line));
        if (n_equal(of->list, i, 0, i) == 0) {
            tide_serving_words_add_pool(&of->list->pools[i].row,
                                        n_equal(of->list, i, i, of->list->n_pools), &text);
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
