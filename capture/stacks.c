/* stacks.c - call stacks of a recording as one tree of frames, each cut to its readable part: from
 * the allocation's caller to main. */
#include <string.h>

#include "capture/capture_internal.h"
#include "common/assert.h"
#include "common/map.h"
#include "snapshot/document/symbols.h"

typedef struct builder {
    const tide_hostmem *mem;             /* borrowed */
    tide_strings *strings;               /* borrowed */
    tide_symbols *symbols;               /* owned */
    const tide_capture_modules *modules; /* borrowed; NULL: this process */
    tide_frame_row python;               /* the current Python frame */
    tide_frame_row *frames;              /* owned: distinct frames */
    size_t n_frames;
    size_t frames_capacity;
    tide_map frame_at;     /* hash of a frame -> its number; collisions step to the next hash */
    tide_stack_row *nodes; /* owned: the tree */
    size_t n_nodes;
    size_t nodes_capacity;
    tide_map node_at;    /* (parent + 1) << 32 | frame -> node */
    tide_frame_row *one; /* owned: the frames of one stack, innermost first */
    size_t one_capacity;
} builder;

static void builder_fini(builder *b) {
    tide_symbols_destroy(b->symbols);
    tide_map_fini(&b->frame_at);
    tide_map_fini(&b->node_at);
    b->mem->release(b->mem->ctx, b->frames);
    b->mem->release(b->mem->ctx, b->nodes);
    b->mem->release(b->mem->ctx, b->one);
}

/* Whether the address is in the library that records another program. */
static bool is_of_recorder(const builder *b, uint64_t pc) {
    static const char NAME[] = "libtidemark_live";
    uint64_t number = tide_symbol_module_of(pc);
    return b->modules != NULL && number < b->modules->n_modules &&
           strstr(b->modules->modules[number].path, NAME) != NULL;
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A compiler that gets relative paths, for example from a compiler cache, writes
 * "../../recorder/recorder.c". */
static const char *without_parents(const char *path) {
    while (starts_with(path, "../")) {
        path += strlen("../");
    }
    return path;
}

/* Whether the frame belongs to the allocator, the recorder or the tensors' thin wrappers, which end
 * every stack and carry no information. Without line tables, the names of functions decide. */
static bool is_ours(const builder *b, const tide_frame_row *frame) {
    const char *file = tide_strings_text(b->strings, frame->file);
    if (file != NULL) {
        file = without_parents(file);
        return starts_with(file, "allocator/") || starts_with(file, "recorder/") ||
               starts_with(file, "stack/") || starts_with(file, "programs/live/") ||
               strcmp(file, "model/tensor.c") == 0 ||
               strcmp(file, "model/layers/activations.c") == 0;
    }
    const char *function = tide_strings_text(b->strings, frame->function);
    return function != NULL &&
           (starts_with(function, "tide_cache_") || starts_with(function, "tide_recorder_") ||
            starts_with(function, "tide_tensor_") || starts_with(function, "tide_activation_") ||
            starts_with(function, "tide_live_") ||
            strstr(function, " in libtidemark_live") != NULL);
}

static bool is_main(const builder *b, const tide_frame_row *frame) {
    const char *function = tide_strings_text(b->strings, frame->function);
    return function != NULL && strcmp(function, "main") == 0;
}

static bool same_frame(const tide_frame_row *a, const tide_frame_row *b) {
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->inlined == b->inlined;
}

static tide_status intern_frame(builder *b, const tide_frame_row *frame, uint32_t *ret_frame) {
    uint64_t hash = tide_hash_u64((uint64_t)frame->function << 32 | frame->file);
    hash = tide_hash_u64(hash ^ ((uint64_t)(uint32_t)frame->line << 1 | frame->inlined));
    uint64_t number = 0;
    while (tide_map_find(&b->frame_at, hash, &number)) {
        TIDE_ASSERT(number < b->n_frames);
        if (same_frame(&b->frames[number], frame)) {
            *ret_frame = (uint32_t)number;
            return TIDE_OK;
        }
        hash++;
    }
    tide_frame_row *frames =
        tide_hostmem_grow(b->mem, b->frames, &b->frames_capacity, b->n_frames + 1, sizeof(*frames));
    if (frames == NULL) {
        return TIDE_NO_MEMORY;
    }
    b->frames = frames;
    TIDE_TRY(tide_map_put(&b->frame_at, hash, b->n_frames));
    frames[b->n_frames] = *frame;
    *ret_frame = (uint32_t)b->n_frames++;
    return TIDE_OK;
}

/* Finds the child of `parent` with this frame, or makes it. */
static tide_status intern_node(builder *b, uint32_t parent, uint32_t frame, uint32_t *ret_node) {
    TIDE_ASSERT(frame < b->n_frames && (parent == TIDE_NONE || parent < b->n_nodes));
    uint64_t key = (uint64_t)(uint32_t)(parent + 1u) << 32 | frame; /* TIDE_NONE + 1 is 0 */
    uint64_t node = 0;
    if (tide_map_find(&b->node_at, key, &node)) {
        *ret_node = (uint32_t)node;
        return TIDE_OK;
    }
    tide_stack_row *nodes =
        tide_hostmem_grow(b->mem, b->nodes, &b->nodes_capacity, b->n_nodes + 1, sizeof(*nodes));
    if (nodes == NULL) {
        return TIDE_NO_MEMORY;
    }
    b->nodes = nodes;
    TIDE_TRY(tide_map_put(&b->node_at, key, b->n_nodes));
    nodes[b->n_nodes] = (tide_stack_row){.parent = parent, .frame = frame};
    *ret_node = (uint32_t)b->n_nodes++;
    return TIDE_OK;
}

/* Whether the address represents a Python frame, and which one. */
static bool is_python(const builder *b, uint64_t pc, uint64_t *ret_number) {
    *ret_number = pc ^ tide_symbol_address(TIDE_CAPTURE_PYTHON, 0);
    return b->modules != NULL && *ret_number < UINT32_MAX;
}

/* The frames that an address represents; a Python frame needs no symbols. */
static tide_status resolve(builder *b, uint64_t pc, const tide_frame_row **ret_frames,
                           size_t *ret_n_frames) {
    uint64_t number = 0;
    if (!is_python(b, pc, &number)) {
        return tide_symbols_resolve(b->symbols, pc, ret_frames, ret_n_frames);
    }
    b->python = (tide_frame_row){.function = TIDE_NONE, .file = TIDE_NONE};
    if (number < b->modules->n_python) {
        const tide_log_python_frame *frame = &b->modules->python[number];
        b->python = (tide_frame_row){
            .function = frame->function, .file = frame->file, .line = (int32_t)frame->line};
    }
    *ret_frames = &b->python;
    *ret_n_frames = 1;
    return TIDE_OK;
}

/* The frames of a stack in b->one, and which of them are kept. */
typedef struct expanded {
    size_t n, begin, end;
} expanded;

/* Appends the frames of one address. Frames outside the outermost main are cut (main may call
 * itself), and so are frames inside the allocation's caller. A Python function with such a name is
 * like any other. */
static tide_status append(builder *b, uint64_t pc, expanded *to) {
    const tide_frame_row *frames = NULL;
    size_t n_more = 0;
    uint64_t number = 0;
    TIDE_TRY(resolve(b, pc, &frames, &n_more));
    tide_frame_row *one =
        tide_hostmem_grow(b->mem, b->one, &b->one_capacity, to->n + n_more, sizeof(*one));
    if (one == NULL) {
        return TIDE_NO_MEMORY;
    }
    b->one = one;
    memcpy(one + to->n, frames, n_more * sizeof(*one));
    for (size_t i = to->n; i < to->n + n_more && !is_python(b, pc, &number); i++) {
        to->begin += to->begin == i && (is_of_recorder(b, pc) || is_ours(b, &one[i]));
        to->end = is_main(b, &one[i]) ? i + 1 : to->end;
    }
    to->n += n_more;
    return TIDE_OK;
}

static tide_status add_stack(builder *b, const uint64_t *pcs, size_t n_pcs, uint32_t *ret_node) {
    expanded found = {.n = 0};
    for (size_t i = 0; i < n_pcs; i++) {
        TIDE_TRY(append(b, pcs[i], &found));
    }
    TIDE_ASSERT(found.begin <= found.n && found.end <= found.n);
    uint32_t node = TIDE_NONE;
    for (size_t i = found.end > 0 ? found.end : found.n; i > found.begin; i--) {
        uint32_t frame = 0;
        TIDE_TRY(intern_frame(b, &b->one[i - 1], &frame));
        TIDE_TRY(intern_node(b, node, frame, &node));
    }
    *ret_node = node;
    return TIDE_OK;
}

static tide_status add_stacks(builder *b, const tide_recording *recording,
                              const tide_capture_modules *modules, uint32_t *nodes) {
    if (modules == NULL) {
        TIDE_TRY(tide_symbols_create(b->mem, b->strings, &b->symbols));
    } else {
        TIDE_TRY(tide_symbols_create_for(b->mem, b->strings, modules->modules, modules->n_modules,
                                         &b->symbols));
    }
    for (size_t i = 0; i < recording->n_stacks; i++) {
        if (nodes[i] != TIDE_NONE) {
            size_t first = recording->stack_first[i];
            TIDE_ASSERT(first <= recording->stack_first[i + 1]);
            TIDE_TRY(add_stack(b, recording->pcs + first, recording->stack_first[i + 1] - first,
                               &nodes[i]));
        }
    }
    return TIDE_OK;
}

static tide_status hand_over(const builder *b, tide_snapshot *snapshot) {
    snapshot->frames =
        tide_arena_copy(&snapshot->arena, b->frames, b->n_frames, sizeof(*b->frames));
    snapshot->stacks = tide_arena_copy(&snapshot->arena, b->nodes, b->n_nodes, sizeof(*b->nodes));
    if (snapshot->frames == NULL || snapshot->stacks == NULL) {
        return TIDE_NO_MEMORY;
    }
    snapshot->n_frames = b->n_frames;
    snapshot->n_stacks = b->n_nodes;
    return TIDE_OK;
}

tide_status tide_capture_stacks(const tide_recording *recording, tide_capture_modules *modules,
                                tide_strings *strings, tide_snapshot *snapshot, uint32_t *nodes) {
    builder b = {.mem = snapshot->arena.mem, .strings = strings, .modules = modules};
    tide_map_init(&b.frame_at, b.mem);
    tide_map_init(&b.node_at, b.mem);
    tide_status status = add_stacks(&b, recording, modules, nodes);
    if (status == TIDE_OK) {
        status = hand_over(&b, snapshot);
    }
    if (status == TIDE_OK && modules != NULL) {
        tide_symbols_count_modules(b.symbols, &modules->n_used, &modules->n_absent);
    }
    builder_fini(&b);
    return status;
}
