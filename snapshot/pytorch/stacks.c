/* Turns lists of frames, innermost first, into nodes of a tree. The same lists and frames are in
 * many places of a pickle, so each is replaced by the number of the node or frame made of it. */
#include "snapshot/pytorch/internal.h"

enum { KEY_NAME = 0, KEY_FILENAME, KEY_LINE, N_KEYS };

static const tide_pytorch_key KEYS[N_KEYS] = {
    TIDE_PYTORCH_KEY("name"), TIDE_PYTORCH_KEY("filename"), TIDE_PYTORCH_KEY("line")};

/* TIDE_NONE for a missing, empty or odd text. */
static tide_status optional_text(tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *dict, const char *key,
                                 uint32_t *ret_string) {
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    tide_pytorch_place at = {.up = dict, .key = key};
    uint32_t string = TIDE_NONE;
    if (kind == TIDE_PICKLE_NOTHING || kind == TIDE_PICKLE_NONE) {
        return TIDE_OK;
    }
    if (kind != TIDE_PICKLE_TEXT) {
        tide_pytorch_odd(in, &at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_string(in, value, &at, &string));
    if (tide_strings_text(&in->strings, string)[0] != '\0') {
        *ret_string = string;
    }
    return TIDE_OK;
}

/* PyTorch writes 2^64 - 1 for an unknown line, so any number out of range is read as unknown. */
static int32_t line_of(tide_pytorch_import *in, tide_pickle_value value,
                       const tide_pytorch_place *dict) {
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    tide_pytorch_place at = {.up = dict, .key = "line"};
    if (kind == TIDE_PICKLE_INTEGER) {
        int64_t line = tide_pickle_integer(in->pickle, value);
        return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
    }
    if (kind != TIDE_PICKLE_HUGE && kind != TIDE_PICKLE_NOTHING && kind != TIDE_PICKLE_NONE) {
        tide_pytorch_odd(in, &at);
    }
    return 0;
}

static tide_status read_frame(tide_pytorch_import *in, tide_pickle_value value,
                              tide_pytorch_place *at, uint32_t *ret_frame) {
    tide_frame_row row = {.function = TIDE_NONE, .file = TIDE_NONE};
    size_t n_known = in->stacks.n_frames;
    bool is_dict = tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_DICT;
    if (tide_pickle_made(in->pickle, value, TIDE_PYTORCH_MADE_FRAME, ret_frame)) {
        return TIDE_OK;
    }
    if (is_dict) {
        tide_pickle_value values[N_KEYS];
        TIDE_TRY(tide_pytorch_dict(in, value, at, KEYS, N_KEYS, values));
        TIDE_TRY(optional_text(in, values[KEY_NAME], at, "name", &row.function));
        TIDE_TRY(optional_text(in, values[KEY_FILENAME], at, "filename", &row.file));
        row.line = line_of(in, values[KEY_LINE], at);
    } else {
        tide_pytorch_odd(in, at);
        if (tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_TEXT) {
            TIDE_TRY(tide_pytorch_string(in, value, at, &row.function));
        }
    }
    TIDE_TRY(tide_stack_tree_frame(&in->stacks, &row, ret_frame));
    if (in->stacks.n_frames > n_known) {
        tide_pickle_allow(in->pickle, TIDE_PYTORCH_ROW_VALUES);
    }
    if (is_dict) {
        tide_pickle_make(in->pickle, value, TIDE_PYTORCH_MADE_FRAME, *ret_frame);
    }
    return TIDE_OK;
}

tide_status tide_pytorch_stack(tide_pytorch_import *in, tide_pickle_value frames,
                               const tide_pytorch_place *dict, uint32_t *ret_stack) {
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, frames);
    tide_pytorch_place at = {.up = dict, .key = "frames"};
    const tide_pickle_container *list = NULL;
    uint32_t made = 0;
    *ret_stack = TIDE_NONE;
    if (kind == TIDE_PICKLE_NOTHING || kind == TIDE_PICKLE_NONE) {
        return TIDE_OK;
    }
    if (tide_pickle_made(in->pickle, frames, TIDE_PYTORCH_MADE_STACK, &made) ||
        tide_pickle_made(in->pickle, frames, TIDE_PYTORCH_MADE_ODD_STACK, &made)) {
        *ret_stack = made - 1;
        return TIDE_OK;
    }
    if (kind != TIDE_PICKLE_LIST && kind != TIDE_PICKLE_TUPLE) {
        tide_pytorch_odd(in, &at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_list(in, frames, &at, &list));
    uint32_t node = TIDE_NONE;
    uint64_t n_odd = in->n_odd;
    for (size_t i = list->n_items; i > 0; i--) {
        tide_pytorch_place item = {.up = &at, .index = i - 1};
        uint32_t frame = 0;
        TIDE_TRY(read_frame(in, list->items[i - 1], &item, &frame));
        TIDE_TRY(tide_stack_tree_node(&in->stacks, node, frame, &node));
    }
    size_t n_rows = in->n_rows_read + in->n_blocks_seen;
    size_t max_nodes = TIDE_PYTORCH_FREE_NODES + n_rows * TIDE_PYTORCH_ROW_NODES;
    if (in->stacks.n_nodes > max_nodes) {
        return tide_pytorch_fail(in, &at, TIDE_LIMIT,
                                 "the call stacks up to here have more than the limit of %zu "
                                 "different paths: no program has",
                                 max_nodes);
    }
    *ret_stack = node;
    tide_pickle_make(in->pickle, frames,
                     in->n_odd == n_odd ? TIDE_PYTORCH_MADE_STACK : TIDE_PYTORCH_MADE_ODD_STACK,
                     node + 1);
    return TIDE_OK;
}
