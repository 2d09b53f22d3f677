/* Lists that repeat. Python's pickler writes a list of objects that were written before as just
 * their memo numbers, and a snapshot is mostly lists of frames, the same few hundred again and
 * again. A run is the code after the start of such a list: MARK, any of BINGET and LONG_BINGET,
 * APPENDS. Equal runs have equal items, because a memo number is set once. So if the list of an
 * earlier run is by now replaced by a number (tide_pickle_make), it also replaces the new list,
 * whose items need not be read: reading a trace of 1 M events takes a third of the time.
 */
#include <string.h>

#include "snapshot/pytorch/pickle_internal.h"

enum {
    MAX_ITEMS = 999, /* a longer list comes in several batches, of which this is only the first */
    LIST_BYTES = 2   /* EMPTY_LIST, MEMOIZE: the opcodes before the MARK */
};

/* The bytes from `at` to the end of the run that begins there; 0: none begins, or it is not wholly
 * in the window. */
static size_t run_bytes(const tide_window *window, size_t at) {
    const char *bytes = window->bytes + (at - window->begin);
    size_t n_here = window->end - at;
    size_t i = 0;
    for (size_t n_items = 0; i < n_here && n_items <= MAX_ITEMS; n_items++) {
        if (bytes[i] != 'h' && bytes[i] != 'j') {
            return bytes[i] == 'e' && n_items > 0 ? i + 1 : 0;
        }
        i += bytes[i] == 'h' ? 2 : 5;
    }
    return 0;
}

/* The empty list on top of the stack, if it was just made and has only the last memo number; else
 * NULL. */
static tide_pickle_container *new_list(const tide_pickle_machine *m) {
    tide_pickle_value top = m->stack.n > 0 ? m->stack.values[m->stack.n - 1] : 0;
    if (TIDE_PICKLE_TAG(top) != TIDE_PICKLE_TAG_CONTAINER || m->n_memo == 0 ||
        m->memo.values[m->n_memo - 1] != top) {
        return NULL;
    }
    tide_pickle_container *list = &m->pickle->containers[top >> TIDE_PICKLE_TAG_BITS];
    bool is_new = list->kind == TIDE_PICKLE_LIST && list->n_items == 0 &&
                  list->offset + LIST_BYTES == (uint32_t)m->opcode_at;
    return is_new ? list : NULL;
}

/* Whether the next bytes are the run in that row of the texts. */
static bool is_run(const tide_pickle_machine *m, size_t row) {
    const tide_pickle_text_row *run = &m->pickle->texts[row];
    return run->n_bytes <= m->window.end - m->at &&
           memcmp(m->window.bytes + (m->at - m->window.begin), run->bytes, run->n_bytes) == 0;
}

/* The row of the next run among the texts; 0: there is no run. Programs repeat themselves, so two
 * guesses come first: the run that last followed the previous run, and the previous run itself.
 * (Row 0 is the text of the file's first key.) */
static tide_status find_run(tide_pickle_machine *m, size_t *ret_row) {
    const tide_pickle *pickle = m->pickle;
    size_t next = m->last_run > 0 ? pickle->texts[m->last_run].next_run : 0;
    *ret_row = next > 0 && is_run(m, next) ? next : m->last_run;
    if (*ret_row > 0 && (*ret_row == next || is_run(m, *ret_row))) {
        return TIDE_OK;
    }
    size_t n_bytes = run_bytes(&m->window, m->at);
    *ret_row = 0;
    if (n_bytes > 0) {
        TIDE_TRY(
            tide_pickle_intern(m, m->window.bytes + (m->at - m->window.begin), n_bytes, ret_row));
        pickle->texts[m->last_run].next_run = (uint32_t)*ret_row;
    }
    return TIDE_OK;
}

tide_status tide_pickle_repeat(tide_pickle_machine *m, bool *ret_is_done) {
    tide_pickle *pickle = m->pickle;
    tide_pickle_container *list = m->memo_is_final ? new_list(m) : NULL;
    size_t row = 0;
    uint32_t number = 0;
    *ret_is_done = false;
    if (list != NULL) {
        TIDE_TRY(find_run(m, &row));
    }
    if (row == 0) {
        return TIDE_OK;
    }
    m->last_run = row;
    tide_pickle_value *known = &pickle->texts[row].list;
    tide_pickle_value *top = &m->stack.values[m->stack.n - 1];
    if (!tide_pickle_made(pickle, *known, pickle->repeats, &number)) {
        *known = *top;
        return TIDE_OK;
    }
    tide_pickle_free_container(pickle, (uint32_t)(*top >> TIDE_PICKLE_TAG_BITS));
    *top = *known;
    m->memo.values[m->n_memo - 1] = *known;
    m->at += pickle->texts[row].n_bytes;
    *ret_is_done = true;
    return TIDE_OK;
}
