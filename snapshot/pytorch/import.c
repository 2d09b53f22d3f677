#include "snapshot/pytorch/import.h"

#include <string.h>

#include "snapshot/pytorch/internal.h"
#include "snapshot/document/validate.h"

enum { KEY_SEGMENTS = 0, KEY_TRACES, KEY_SETTINGS, KEY_ANNOTATIONS, N_KEYS };

static const tide_pytorch_key KEYS[N_KEYS] = {
    TIDE_PYTORCH_KEY("segments"), TIDE_PYTORCH_KEY("device_traces"),
    TIDE_PYTORCH_KEY("allocator_settings"), TIDE_PYTORCH_KEY("external_annotations")};

/* The first releases of PyTorch wrote only the list of segments. */
static tide_status read_root(tide_pytorch_import *in, tide_pickle_value *values) {
    tide_pickle_value root = in->pickle->root;
    tide_pytorch_place at = {.key = NULL};
    if (tide_pickle_kind_of(in->pickle, root) == TIDE_PICKLE_LIST) {
        memset(values, 0, N_KEYS * sizeof(*values));
        values[KEY_SEGMENTS] = root;
        return TIDE_OK;
    }
    if (tide_pickle_kind_of(in->pickle, root) == TIDE_PICKLE_DICT) {
        TIDE_TRY(tide_pytorch_dict(in, root, &at, KEYS, N_KEYS, values));
        if (values[KEY_SEGMENTS] != 0) {
            return TIDE_OK;
        }
    }
    return tide_fail(in->error, TIDE_FORMAT,
                     "this is a Python pickle, but no snapshot by PyTorch: it has no 'segments'; "
                     "torch.cuda.memory._dump_snapshot writes one");
}

static tide_status set_devices(const tide_pytorch_import *in) {
    tide_snapshot *snapshot = in->snapshot;
    tide_snapshot_device *devices =
        tide_arena_alloc(&snapshot->arena, in->n_devices, sizeof(*devices));
    tide_stream_row *streams = tide_arena_alloc(&snapshot->arena, in->n_streams, sizeof(*streams));
    if (devices == NULL || streams == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < in->n_devices; i++) {
        devices[i] = (tide_snapshot_device){"cuda", "", -1, -1, -1, -1, -1, -1};
    }
    memcpy(streams, in->streams, in->n_streams * sizeof(*streams));
    snapshot->devices = devices;
    snapshot->n_devices = in->n_devices;
    snapshot->streams = streams;
    snapshot->n_streams = in->n_streams;
    return TIDE_OK;
}

static tide_status set_strings(const tide_pytorch_import *in) {
    tide_snapshot *snapshot = in->snapshot;
    const char **texts = tide_arena_alloc(&snapshot->arena, in->strings.n_texts, sizeof(*texts));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < in->strings.n_texts; i++) {
        texts[i] = tide_arena_text(&snapshot->arena, in->strings.texts[i]);
        if (texts[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    snapshot->strings = texts;
    snapshot->n_strings = in->strings.n_texts;
    return TIDE_OK;
}

/* Copies the facts that only alloc rows have (name, category, scope) to the blocks of the dump. */
static void name_end_blocks(const tide_pytorch_import *in) {
    for (size_t i = 0; i < in->end.n_blocks; i++) {
        if (in->end_row[i] > 0) {
            const tide_event *row = &in->rows[in->end_row[i] - 1];
            tide_block_row *block = &in->end.blocks[i];
            block->scope = row->scope;
            block->name = row->name;
            block->category = row->category;
            block->stack = block->stack != TIDE_NONE ? block->stack : row->stack;
        }
    }
}

static tide_status copy_state(tide_arena *arena, const tide_pytorch_state *from,
                              const tide_segment_row **ret_segments,
                              const tide_block_row **ret_blocks) {
    tide_segment_row *segments =
        tide_arena_copy(arena, from->segments, from->n_segments, sizeof(*segments));
    tide_block_row *blocks = tide_arena_copy(arena, from->blocks, from->n_blocks, sizeof(*blocks));
    if (segments == NULL || blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    *ret_segments = segments;
    *ret_blocks = blocks;
    return TIDE_OK;
}

/* Counts the rows that are known to be missing: a block of the dump has a call stack, so its
 * allocation was recorded, but its device has rows and the allocation is not among them. */
static uint64_t count_cut(const tide_pytorch_import *in) {
    uint64_t n = 0;
    for (size_t s = 0; s < in->start.n_segments; s++) {
        const tide_segment_row *segment = &in->start.segments[s];
        bool has_rows = in->first_row[segment->device] < in->first_row[segment->device + 1];
        for (size_t i = 0; has_rows && i < segment->n_blocks; i++) {
            n += in->start.blocks[segment->first_block + i].stack != TIDE_NONE;
        }
    }
    return n;
}

static tide_status set_tables(const tide_pytorch_import *in) {
    tide_snapshot *snapshot = in->snapshot;
    TIDE_TRY(set_devices(in));
    TIDE_TRY(set_strings(in));
    TIDE_TRY(tide_category_list_store(&in->categories, snapshot));
    TIDE_TRY(tide_stack_tree_hand_over(&in->stacks, snapshot));
    name_end_blocks(in);
    TIDE_TRY(copy_state(&snapshot->arena, &in->start, &snapshot->start_segments,
                        &snapshot->start_blocks));
    TIDE_TRY(
        copy_state(&snapshot->arena, &in->end, &snapshot->end_segments, &snapshot->end_blocks));
    snapshot->n_start_segments = in->start.n_segments;
    snapshot->n_start_blocks = in->start.n_blocks;
    snapshot->n_end_segments = in->end.n_segments;
    snapshot->n_end_blocks = in->end.n_blocks;
    snapshot->clock_source = in->has_times ? "tsc" : "none";
    snapshot->origin = (tide_snapshot_origin){
        .format = "pytorch", .n_events = in->n_events, .n_contradictions = in->n_contradictions};
    snapshot->n_dropped = count_cut(in);
    snapshot->n_odd = in->n_odd;
    snapshot->first_odd = tide_arena_text(&snapshot->arena, in->first_odd);
    return snapshot->first_odd != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status import(tide_pytorch_import *in) {
    tide_pickle_value values[N_KEYS] = {0};
    TIDE_TRY(read_root(in, values));
    TIDE_TRY(tide_pytorch_read_settings(in, values[KEY_SETTINGS]));
    TIDE_TRY(tide_pytorch_read_segments(in, values[KEY_SEGMENTS]));
    TIDE_TRY(tide_pytorch_read_traces(in, values[KEY_TRACES]));
    in->end_row = tide_arena_alloc(&in->scratch, in->end.n_blocks, sizeof(*in->end_row));
    if (in->end_row == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < in->n_devices; i++) {
        TIDE_TRY(tide_pytorch_walk(in, i));
    }
    TIDE_TRY(tide_pytorch_merge(in, values[KEY_ANNOTATIONS]));
    if (in->pickle->has_rest) {
        tide_pytorch_odd(in, &(tide_pytorch_place){.key = "what follows the pickle"});
    }
    return set_tables(in);
}

static void import_fini(tide_pytorch_import *in) {
    const tide_hostmem *mem = in->mem;
    mem->release(mem->ctx, in->start.segments);
    mem->release(mem->ctx, in->start.blocks);
    mem->release(mem->ctx, in->end.segments);
    mem->release(mem->ctx, in->end.blocks);
    mem->release(mem->ctx, in->rows);
    mem->release(mem->ctx, in->extras);
    mem->release(mem->ctx, in->buffer);
    tide_stack_tree_fini(&in->stacks);
    tide_strings_fini(&in->strings);
    tide_arena_fini(&in->scratch);
    mem->release(mem->ctx, in);
}

/* Reads a tree from a source: a pickle or JSON. */
typedef tide_status (*read_tree)(tide_pickle *pickle, const tide_source *source,
                                 const tide_pickle_taker *taker, tide_error *error);

static tide_status import_tree(tide_pickle *pickle, read_tree read, const tide_source *source,
                               tide_snapshot *snapshot, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_pytorch_import *in = tide_hostmem_zeroed(mem, 1, sizeof(*in));
    if (in == NULL) {
        return TIDE_NO_MEMORY;
    }
    in->pickle = pickle;
    pickle->repeats = TIDE_PYTORCH_MADE_STACK;
    in->snapshot = snapshot;
    in->mem = mem;
    in->error = error;
    tide_arena_init(&in->scratch, mem);
    tide_strings_init(&in->strings, mem);
    tide_stack_tree_init(&in->stacks, mem);
    const tide_pickle_taker taker = {.take = tide_pytorch_take, .ctx = in};
    tide_status status = read(pickle, source, &taker, error);
    if (status == TIDE_OK) {
        status = import(in);
    }
    import_fini(in);
    return status;
}

static tide_status import_source(read_tree read, const tide_source *source, tide_snapshot *snapshot,
                                 tide_error *error) {
    tide_pickle pickle;
    tide_pickle_init(&pickle, snapshot->arena.mem);
    tide_status status = import_tree(&pickle, read, source, snapshot, error);
    tide_pickle_fini(&pickle);
    char place[TIDE_PLACE_BYTES] = "";
    if (status == TIDE_OK) {
        status = tide_snapshot_validate(snapshot, place, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s", place);
        }
    }
    return status;
}

tide_status tide_pytorch_import_pickle(const tide_source *source, tide_snapshot *snapshot,
                                       tide_error *error) {
    return import_source(tide_pickle_read, source, snapshot, error);
}

tide_status tide_pytorch_import_json(const tide_source *source, tide_snapshot *snapshot,
                                     tide_error *error) {
    return import_source(tide_pickle_read_json, source, snapshot, error);
}

bool tide_pytorch_is_json(const char *text) {
    static const char *const OTHERS[] = {"\"host_segments\"", "\"host_traces\""};
    const char *key = text + (*text == '{');
    key += strspn(key, " \t\r\n");
    for (size_t i = 0; *key == '"' && i < N_KEYS; i++) {
        if (strncmp(key + 1, KEYS[i].text, KEYS[i].n_bytes) == 0 &&
            key[1 + KEYS[i].n_bytes] == '"') {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (strncmp(key, OTHERS[i], strlen(OTHERS[i])) == 0) {
            return true;
        }
    }
    return false;
}
