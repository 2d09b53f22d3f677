/* Lists of frames, innermost first, as nodes of a tree. Lists and frames stand in many places of a
 * pickle: what was made of one is kept under its value. */
#include "snapshot/pytorch_internal.h"

enum { KEY_NAME = 0, KEY_FILENAME, KEY_LINE, N_KEYS };

static const tide_pytorch_key KEYS[N_KEYS] = {
    TIDE_PYTORCH_KEY("name"), TIDE_PYTORCH_KEY("filename"), TIDE_PYTORCH_KEY("line")};

/* TIDE_NONE for no text and for "". */
static tide_status optional_text(tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *dict, const char *key,
                                 uint32_t *ret_string) {
    if (value == 0) {
        return TIDE_OK;
    }
    tide_pytorch_place at = {.up = dict, .key = key};
    uint32_t string = TIDE_NONE;
    TIDE_TRY(tide_pytorch_string(in, value, &at, &string));
    if (tide_strings_text(&in->strings, string)[0] != '\0') {
        *ret_string = string;
    }
    return TIDE_OK;
}

static tide_status read_frame(tide_pytorch_import *in, tide_pickle_value value,
                              tide_pytorch_place *at, uint32_t *ret_frame) {
    uint64_t known = 0;
    if (tide_map_find(&in->frame_of, value, &known)) {
        *ret_frame = (uint32_t)known;
        return TIDE_OK;
    }
    tide_pickle_value values[N_KEYS];
    TIDE_TRY(tide_pytorch_dict(in, value, at, KEYS, N_KEYS, values));
    tide_frame_row row = {.function = TIDE_NONE, .file = TIDE_NONE};
    TIDE_TRY(optional_text(in, values[KEY_NAME], at, "name", &row.function));
    TIDE_TRY(optional_text(in, values[KEY_FILENAME], at, "filename", &row.file));
    if (values[KEY_LINE] != 0) {
        tide_pytorch_place line = {.up = at, .key = "line"};
        int64_t number = 0;
        TIDE_TRY(tide_pytorch_integer(in, values[KEY_LINE], &line, INT32_MIN, INT32_MAX, &number));
        row.line = number > 0 ? (int32_t)number : 0;
    }
    TIDE_TRY(tide_stack_tree_frame(&in->stacks, &row, ret_frame));
    return tide_map_put(&in->frame_of, value, *ret_frame);
}

tide_status tide_pytorch_stack(tide_pytorch_import *in, tide_pickle_value frames,
                               const tide_pytorch_place *dict, uint32_t *ret_stack) {
    uint64_t known = 0;
    if (frames == 0 || tide_pickle_kind_of(in->pickle, frames) == TIDE_PICKLE_NONE) {
        *ret_stack = TIDE_NONE;
        return TIDE_OK;
    }
    if (tide_map_find(&in->stack_of, frames, &known)) {
        *ret_stack = (uint32_t)known - 1;
        return TIDE_OK;
    }
    const tide_pickle_container *list = NULL;
    tide_pytorch_place at = {.up = dict, .key = "frames"};
    TIDE_TRY(tide_pytorch_list(in, frames, &at, &list));
    uint32_t node = TIDE_NONE;
    for (size_t i = list->n_items; i > 0; i--) {
        tide_pytorch_place item = {.up = &at, .index = i - 1};
        uint32_t frame = 0;
        TIDE_TRY(read_frame(in, list->items[i - 1], &item, &frame));
        TIDE_TRY(tide_stack_tree_node(&in->stacks, node, frame, &node));
    }
    *ret_stack = node;
    return tide_map_put(&in->stack_of, frames, (uint64_t)(uint32_t)(node + 1));
}
