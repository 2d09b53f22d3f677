/* Reads events and segments while the pickle is being read, a thousand at a time, and drops their
 * values: the whole tree of a file would be many times as large as its rows. Values whose place is
 * not known yet, because the file was written in an unusual order, stay in the tree and are read at
 * the end.
 */
#include "snapshot/pytorch/internal.h"

static bool is_key(const tide_pytorch_import *in, const tide_pickle_step *step, const char *key) {
    return step->key != 0 && tide_pytorch_is(in, step->key, key);
}

static void drop(tide_pytorch_import *in, const tide_pickle_value *items, size_t n_items) {
    for (size_t i = 0; i < n_items; i++) {
        tide_pickle_drop(in->pickle, items[i]);
    }
}

static tide_status take_events(tide_pytorch_import *in, tide_pickle_value list, size_t device,
                               const tide_pickle_value *items, size_t n_items, bool *ret_taken) {
    tide_pytorch_place traces = {.key = "device_traces"};
    tide_pytorch_place at = {.up = &traces, .index = device};
    if (device >= TIDE_PYTORCH_MAX_DEVICES ||
        (in->traces[device] != 0 && in->traces[device] != list) ||
        tide_pickle_items(in->pickle, list)->n_items > 0 ||
        !tide_pytorch_go_to_device(in, device)) {
        return TIDE_OK;
    }
    at.offset = tide_pickle_items(in->pickle, list)->offset;
    in->n_traces += in->traces[device] == 0;
    in->traces[device] = list;
    TIDE_TRY(tide_pytorch_add_events(in, items, n_items, in->n_taken_events[device], &at));
    in->n_taken_events[device] += n_items;
    drop(in, items, n_items);
    *ret_taken = true;
    return TIDE_OK;
}

static tide_status take_segments(tide_pytorch_import *in, tide_pickle_value list,
                                 const tide_pickle_value *items, size_t n_items, bool *ret_taken) {
    tide_pytorch_place at = {.key = "segments"};
    if ((in->segments != 0 && in->segments != list) ||
        tide_pickle_items(in->pickle, list)->n_items > 0) {
        return TIDE_OK;
    }
    at.offset = tide_pickle_items(in->pickle, list)->offset;
    in->segments = list;
    TIDE_TRY(tide_pytorch_add_segments(in, items, n_items, in->n_taken_segments, &at));
    in->n_taken_segments += n_items;
    drop(in, items, n_items);
    *ret_taken = true;
    return TIDE_OK;
}

/* Blocks stay until their segment is complete, but their frames, the largest part of them, are read
 * immediately. */
static tide_status see_blocks(tide_pytorch_import *in, const tide_pytorch_place *blocks,
                              size_t first, const tide_pickle_value *items, size_t n_items) {
    static const tide_pytorch_key KEYS[] = {TIDE_PYTORCH_KEY("size"), TIDE_PYTORCH_KEY("state"),
                                            TIDE_PYTORCH_KEY("frames")};
    enum { KEY_SIZE = 0, KEY_STATE, KEY_FRAMES, N_KEYS };
    for (size_t i = 0; i < n_items; i++) {
        tide_pytorch_place at = {.up = blocks, .index = first + i};
        tide_pickle_value values[N_KEYS];
        uint32_t stack = 0;
        if (tide_pickle_kind_of(in->pickle, items[i]) != TIDE_PICKLE_DICT) {
            continue;
        }
        TIDE_TRY(tide_pytorch_dict(in, items[i], &at, KEYS, N_KEYS, values));
        if (values[KEY_SIZE] == 0 || values[KEY_STATE] == 0) {
            continue;
        }
        in->n_blocks_seen++;
        tide_pickle_allow(in->pickle, TIDE_PYTORCH_ROW_VALUES);
        tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, values[KEY_FRAMES]);
        if (kind == TIDE_PICKLE_LIST || kind == TIDE_PICKLE_TUPLE) {
            TIDE_TRY(tide_pytorch_stack(in, values[KEY_FRAMES], &at, &stack));
        }
    }
    return TIDE_OK;
}

/* Annotations stay in the tree, because they must be sorted by time as a whole. */
static void see_annotations(tide_pytorch_import *in, const tide_pickle_value *items,
                            size_t n_items) {
    for (size_t i = 0; i < n_items; i++) {
        if (tide_pickle_kind_of(in->pickle, items[i]) == TIDE_PICKLE_DICT &&
            tide_pickle_items(in->pickle, items[i])->n_items > 0) {
            tide_pickle_allow(in->pickle, TIDE_PYTORCH_ROW_VALUES);
        }
    }
}

tide_status tide_pytorch_take(void *ctx, tide_pickle_value list, const tide_pickle_step *steps,
                              size_t n_steps, const tide_pickle_value *items, size_t n_items,
                              bool *ret_taken) {
    tide_pytorch_import *in = ctx;
    *ret_taken = false;
    if (n_steps == 0 || (n_steps == 1 && is_key(in, &steps[0], "segments"))) {
        return take_segments(in, list, items, n_items, ret_taken);
    }
    if (n_steps == 2 && is_key(in, &steps[0], "device_traces") && steps[1].key == 0) {
        return take_events(in, list, steps[1].index, items, n_items, ret_taken);
    }
    bool is_named = is_key(in, &steps[0], "segments"); /* the first releases had the list alone */
    if (n_steps == (is_named ? 3 : 2) && steps[n_steps - 2].key == 0 &&
        is_key(in, &steps[n_steps - 1], "blocks")) {
        const tide_pytorch_place segments = {.key = "segments"};
        const tide_pytorch_place segment = {.up = is_named ? &segments : NULL,
                                            .index =
                                                in->n_taken_segments + steps[n_steps - 2].index};
        const tide_pytorch_place blocks = {.up = &segment, .key = "blocks"};
        return see_blocks(in, &blocks, tide_pickle_items(in->pickle, list)->n_items, items,
                          n_items);
    }
    if (n_steps == 1 && is_key(in, &steps[0], "external_annotations")) {
        see_annotations(in, items, n_items);
    }
    return TIDE_OK;
}
