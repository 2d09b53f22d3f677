#include "support/synthetic_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BASE_ADDRESS_BITS = 39, /* the first address of a device */
    BIG_SEGMENT = 20 << 20, /* smaller blocks share a segment of this size */
    ROWS = 512,
    N_ACTIVATIONS = 10, /* kept per layer */
    N_WEIGHTS = 9       /* per layer */
};

synthetic_config synthetic_default(void) {
    return (synthetic_config){
        .seed = 1, .n_events = 5000, .n_layers = 4, .element_bytes = 4, .precision = "fp32"};
}

static uint64_t next_random(synthetic_maker *m) {
    m->random += 0x9e3779b97f4a7c15u;
    return tide_hash_u64(m->random);
}

static void *push(synthetic_maker *m, synthetic_rows *to, size_t item_bytes) {
    void *items = tide_hostmem_grow(m->mem, to->items, &to->capacity, to->n + 1, item_bytes);
    if (items == NULL) {
        abort(); /* a test's own heap */
    }
    to->items = items;
    void *item = (char *)items + to->n++ * item_bytes;
    memset(item, 0, item_bytes);
    return item;
}

static uint32_t text(synthetic_maker *m, const char *of) {
    uint32_t number = TIDE_NONE;
    if (tide_strings_intern(&m->strings, of, &number) != TIDE_OK) {
        m->failed = true;
    }
    return number;
}

static uint32_t stack_node(synthetic_maker *m, uint32_t parent, const char *function,
                           const char *file, int line) {
    uint64_t key = tide_hash_u64(((uint64_t)parent << 32) ^ (uint64_t)text(m, function) << 12 ^
                                 (uint64_t)line);
    uint64_t known = 0;
    if (tide_map_find(&m->stack_by_path, key, &known)) {
        return (uint32_t)known;
    }
    tide_frame_row *frame = push(m, &m->frames, sizeof(*frame));
    *frame = (tide_frame_row){text(m, function), text(m, file), line, line % 7 == 0};
    tide_stack_row *stack = push(m, &m->stacks, sizeof(*stack));
    *stack = (tide_stack_row){parent, (uint32_t)m->frames.n - 1};
    uint32_t number = (uint32_t)m->stacks.n - 1;
    m->failed = tide_map_put(&m->stack_by_path, key, number) != TIDE_OK || m->failed;
    return number;
}

static uint32_t begin(synthetic_maker *m, tide_scope_kind kind, const char *name, int32_t index) {
    tide_scope_row *row = push(m, &m->scopes, sizeof(*row));
    m->now_ns += 200 + (int64_t)(next_random(m) % 500);
    *row = (tide_scope_row){.begin_ns = m->now_ns,
                            .duration_ns = -1,
                            .device_begin_ns = -1,
                            .device_duration_ns = -1,
                            .parent = m->scope,
                            .name = text(m, name),
                            .index = index,
                            .kind = (uint8_t)kind};
    m->scope = (uint32_t)m->scopes.n - 1;
    return m->scope;
}

static void end(synthetic_maker *m, uint32_t scope) {
    if (m->stopped) {
        return;
    }
    tide_scope_row *row = (tide_scope_row *)m->scopes.items + scope;
    m->now_ns += 100 + (int64_t)(next_random(m) % 300);
    row->duration_ns = m->now_ns - row->begin_ns;
    m->scope = row->parent;
}

static tide_event *event(synthetic_maker *m, tide_action action, uint32_t stack) {
    tide_event *row = push(m, &m->events, sizeof(*row));
    m->now_ns += 300 + (int64_t)(next_random(m) % 3000);
    *row = (tide_event){.time_ns = m->now_ns,
                        .stack = stack,
                        .scope = m->scope,
                        .name = TIDE_NONE,
                        .action = (uint8_t)action};
    m->stopped = m->events.n >= m->config.n_events;
    return row;
}

static void segment_alloc(synthetic_maker *m, uint64_t n_bytes, uint32_t stack) {
    synthetic_segment *made = push(m, &m->segments, sizeof(*made));
    *made = (synthetic_segment){m->next_address, n_bytes, 0};
    m->next_address += (n_bytes + (1 << 21) - 1) >> 21 << 21;
    m->reserved_bytes += n_bytes;
    tide_event *row = event(m, TIDE_ACTION_SEGMENT_ALLOC, stack);
    row->address = made->address;
    row->requested_bytes = n_bytes;
    row->block_bytes = n_bytes;
}

/* A new block at the end of the last segment, or TIDE_NONE if it has no room. */
static uint32_t carve(synthetic_maker *m, uint64_t block_bytes) {
    synthetic_segment *last =
        m->segments.n > 0 ? (synthetic_segment *)m->segments.items + m->segments.n - 1 : NULL;
    if (last == NULL || last->total_bytes - last->used_bytes < block_bytes) {
        return TIDE_NONE;
    }
    synthetic_block *made = push(m, &m->blocks, sizeof(*made));
    uint32_t *next = push(m, &m->next_free, sizeof(*next));
    *next = TIDE_NONE;
    *made = (synthetic_block){.address = last->address + last->used_bytes,
                              .block_bytes = block_bytes,
                              .segment = m->segments.n - 1};
    last->used_bytes += block_bytes;
    return (uint32_t)m->blocks.n - 1;
}

static uint32_t find_block(synthetic_maker *m, uint64_t block_bytes, uint64_t requested,
                           uint32_t stack) {
    uint64_t found = 0;
    if (tide_map_find(&m->free_by_size, block_bytes, &found) && found != 0) {
        uint32_t taken = (uint32_t)found - 1;
        uint32_t next = ((uint32_t *)m->next_free.items)[taken];
        m->failed = tide_map_put(&m->free_by_size, block_bytes,
                                 next == TIDE_NONE ? 0 : (uint64_t)next + 1) != TIDE_OK ||
                    m->failed;
        return taken;
    }
    uint32_t made = carve(m, block_bytes);
    if (made != TIDE_NONE) {
        return made;
    }
    uint64_t n_bytes =
        block_bytes > BIG_SEGMENT ? (block_bytes + (1 << 21) - 1) >> 21 << 21 : BIG_SEGMENT;
    if (m->config.capacity_bytes != 0 && m->reserved_bytes + n_bytes > m->config.capacity_bytes) {
        tide_event *row = event(m, TIDE_ACTION_OOM, stack);
        row->requested_bytes = requested;
        row->block_bytes = m->config.capacity_bytes - m->reserved_bytes;
        m->stopped = true;
        return TIDE_NONE;
    }
    segment_alloc(m, n_bytes, stack);
    return m->stopped ? TIDE_NONE : carve(m, block_bytes);
}

static uint32_t alloc(synthetic_maker *m, uint64_t n_bytes, tide_category category,
                      const char *name, uint32_t stack) {
    if (m->stopped) {
        return TIDE_NONE;
    }
    uint32_t number = find_block(m, (n_bytes + 511) / 512 * 512, n_bytes, stack);
    if (number == TIDE_NONE) {
        return TIDE_NONE;
    }
    synthetic_block *of = (synthetic_block *)m->blocks.items + number;
    of->requested_bytes = n_bytes;
    of->stack = stack;
    of->scope = m->scope;
    of->name = text(m, name);
    of->state = TIDE_BLOCK_ALLOCATED;
    of->category = (uint8_t)category;
    tide_event *row = event(m, TIDE_ACTION_ALLOC, stack);
    row->address = of->address;
    row->requested_bytes = n_bytes;
    row->block_bytes = of->block_bytes;
    row->name = of->name;
    row->category = of->category;
    return number;
}

static void free_row(synthetic_maker *m, uint32_t number, tide_action action, uint32_t stack) {
    if (m->stopped || number == TIDE_NONE) {
        return;
    }
    synthetic_block *of = (synthetic_block *)m->blocks.items + number;
    tide_event *row = event(m, action, stack);
    row->address = of->address;
    row->requested_bytes = of->requested_bytes;
    row->block_bytes = of->block_bytes;
    row->name = of->name;
    row->category = of->category;
    if (action == TIDE_ACTION_FREE_REQUESTED) {
        of->state = TIDE_BLOCK_PENDING_FREE;
        return;
    }
    of->state = TIDE_BLOCK_FREE;
    of->requested_bytes = 0;
    uint64_t head = 0;
    (void)tide_map_find(&m->free_by_size, of->block_bytes, &head);
    ((uint32_t *)m->next_free.items)[number] = head == 0 ? TIDE_NONE : (uint32_t)head - 1;
    m->failed = tide_map_put(&m->free_by_size, of->block_bytes, (uint64_t)number + 1) != TIDE_OK ||
                m->failed;
}

/* Tensors that live from step to step, and from forward to backward. */
typedef struct tensors {
    uint32_t *weights, *gradients, *states, *activations; /* per layer */
} tensors;

static const char *const WEIGHTS[N_WEIGHTS] = {
    "attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight",
    "attn.o_proj.weight", "ffn.w1.weight",      "ffn.w2.weight",
    "ffn.w3.weight",      "ln1.weight",         "ln2.weight"};
static const char *const OPERATORS[N_ACTIVATIONS / 2] = {"ln1", "attention", "ln2", "ffn",
                                                         "residual"};

static uint64_t weight_bytes(size_t i) {
    uint64_t square = (uint64_t)SYNTHETIC_MODEL_WIDTH * SYNTHETIC_MODEL_WIDTH * 4;
    return i < 4 ? square : i < 7 ? square / 3 * 8 : (uint64_t)SYNTHETIC_MODEL_WIDTH * 4;
}

static uint32_t site(synthetic_maker *m, const char *phase, const char *operation, int line) {
    uint32_t at = stack_node(m, m->outer[2], phase, "model/layers/transformer.c", 40);
    at = stack_node(m, at, "block_run", "model/layers/transformer.c", 88 + (phase[0] == 'b'));
    return stack_node(m, at, operation, "model/operators.c", line);
}

static void name_of(char out[64], size_t layer, const char *what, const char *suffix) {
    snprintf(out, 64, "layers.%zu.%s%s", layer, what, suffix);
}

static void make_weights(synthetic_maker *m, tensors *all) {
    char name[64];
    uint32_t phase = begin(m, TIDE_SCOPE_PHASE, "setup", -1);
    for (size_t i = 0; i < m->config.n_layers * N_WEIGHTS; i++) {
        name_of(name, i / N_WEIGHTS, WEIGHTS[i % N_WEIGHTS], "");
        all->weights[i] = alloc(m, weight_bytes(i % N_WEIGHTS), TIDE_PARAMETER, name,
                                site(m, "setup", "make_weight", (int)(i % N_WEIGHTS)));
    }
    end(m, phase);
}

/* Allocates a temporary and releases it. */
static void scratch(synthetic_maker *m, size_t layer, int line, const char *phase,
                    const char *operation) {
    char name[64];
    name_of(name, layer, operation, ".scratch");
    uint64_t n_bytes = (uint64_t)ROWS * SYNTHETIC_MODEL_WIDTH * m->config.element_bytes / 4 +
                       (uint64_t)(line % 5) * 100;
    uint32_t at = site(m, phase, operation, line);
    uint32_t number = alloc(m, n_bytes, TIDE_TEMPORARY, name, at);
    if (m->config.two_streams && line % 2 == 0) {
        free_row(m, number, TIDE_ACTION_FREE_REQUESTED, at);
        uint32_t other = alloc(m, 1000, TIDE_WORKSPACE, "workspace", at);
        free_row(m, other, TIDE_ACTION_FREE, at);
        free_row(m, number, TIDE_ACTION_FREE_COMPLETED, at);
    } else {
        free_row(m, number, TIDE_ACTION_FREE, at);
    }
}

static void forward_layer(synthetic_maker *m, tensors *all, size_t layer) {
    char name[64];
    char suffix[16];
    uint32_t scope = begin(m, TIDE_SCOPE_LAYER, "layer", (int32_t)layer);
    for (size_t i = 0; i < N_ACTIVATIONS; i++) {
        const char *operation = OPERATORS[i / 2];
        uint32_t inner = begin(m, TIDE_SCOPE_OPERATOR, operation, -1);
        snprintf(suffix, sizeof(suffix), ".out%zu", i % 2);
        name_of(name, layer, operation, suffix);
        uint64_t n_elements = (uint64_t)ROWS * SYNTHETIC_MODEL_WIDTH * (i % 3 == 0 ? 4 : 1);
        all->activations[layer * N_ACTIVATIONS + i] =
            alloc(m, i == 1 ? ROWS * 4 + 4 : n_elements * m->config.element_bytes, TIDE_ACTIVATION,
                  name, site(m, "forward", operation, (int)i));
        scratch(m, layer, (int)i, "forward", operation);
        end(m, inner);
    }
    end(m, scope);
}

static void backward_layer(synthetic_maker *m, tensors *all, size_t layer) {
    char name[64];
    uint32_t scope = begin(m, TIDE_SCOPE_LAYER, "layer", (int32_t)layer);
    for (size_t i = N_ACTIVATIONS; i-- > 0 && !m->stopped;) {
        const char *operation = OPERATORS[i / 2];
        uint32_t inner = begin(m, TIDE_SCOPE_OPERATOR, operation, -1);
        scratch(m, layer, (int)i, "backward", operation);
        if (i < N_WEIGHTS) {
            name_of(name, layer, WEIGHTS[i], ".grad");
            all->gradients[layer * N_WEIGHTS + i] =
                alloc(m, weight_bytes(i), TIDE_GRADIENT, name, site(m, "backward", "grad", (int)i));
        }
        free_row(m, all->activations[layer * N_ACTIVATIONS + i], TIDE_ACTION_FREE,
                 site(m, "backward", operation, (int)i));
        end(m, inner);
    }
    end(m, scope);
}

static void optimizer(synthetic_maker *m, tensors *all, bool first) {
    char name[64];
    uint32_t phase = begin(m, TIDE_SCOPE_PHASE, "optimizer", -1);
    uint32_t inner = begin(m, TIDE_SCOPE_OPERATOR, "adamw", -1);
    for (size_t i = 0; i < m->config.n_layers * N_WEIGHTS; i++) {
        for (size_t j = 0; first && j < 2; j++) {
            name_of(name, i / N_WEIGHTS, WEIGHTS[i % N_WEIGHTS], j ? ".exp_avg_sq" : ".exp_avg");
            all->states[2 * i + j] = alloc(m, weight_bytes(i % N_WEIGHTS), TIDE_OPTIMIZER_STATE,
                                           name, site(m, "optimizer", "adamw", (int)j));
        }
    }
    end(m, inner);
    for (size_t i = 0; i < m->config.n_layers * N_WEIGHTS; i++) {
        free_row(m, all->gradients[i], TIDE_ACTION_FREE, site(m, "optimizer", "drop_grad", 0));
    }
    end(m, phase);
}

static void one_step(synthetic_maker *m, tensors *all, int32_t step) {
    uint32_t scope =
        begin(m, TIDE_SCOPE_STEP, step == 0 ? "warmup" : "step", step == 0 ? 0 : step - 1);
    uint32_t phase = begin(m, TIDE_SCOPE_PHASE, "forward", -1);
    for (size_t i = 0; i < m->config.n_layers && !m->stopped; i++) {
        forward_layer(m, all, i);
    }
    end(m, phase);
    if (!m->stopped) {
        phase = begin(m, TIDE_SCOPE_PHASE, "backward", -1);
    }
    for (size_t i = m->config.n_layers; i-- > 0 && !m->stopped;) {
        backward_layer(m, all, i);
    }
    end(m, phase);
    if (!m->stopped) {
        optimizer(m, all, step == 0);
    }
    end(m, scope);
}

static void run(synthetic_maker *m) {
    size_t n = m->config.n_layers;
    tensors all = {tide_hostmem_zeroed(m->mem, n * N_WEIGHTS, sizeof(uint32_t)),
                   tide_hostmem_zeroed(m->mem, n * N_WEIGHTS, sizeof(uint32_t)),
                   tide_hostmem_zeroed(m->mem, n * N_WEIGHTS * 2, sizeof(uint32_t)),
                   tide_hostmem_zeroed(m->mem, n * N_ACTIVATIONS, sizeof(uint32_t))};
    make_weights(m, &all);
    for (int32_t step = 0; !m->stopped; step++) {
        one_step(m, &all, step);
    }
    m->mem->release(m->mem->ctx, all.weights);
    m->mem->release(m->mem->ctx, all.gradients);
    m->mem->release(m->mem->ctx, all.states);
    m->mem->release(m->mem->ctx, all.activations);
}

tide_snapshot *synthetic_create(const synthetic_config *config) {
    const tide_hostmem *mem = tide_hostmem_default();
    synthetic_maker m = {.config = *config,
                         .mem = mem,
                         .random = config->seed,
                         .next_address = UINT64_C(1) << BASE_ADDRESS_BITS,
                         .scope = TIDE_NONE};
    tide_strings_init(&m.strings, mem);
    tide_map_init(&m.free_by_size, mem);
    tide_map_init(&m.stack_by_path, mem);
    m.outer[0] = stack_node(&m, TIDE_NONE, "main", "cli/main.c", 60);
    m.outer[1] = stack_node(&m, m.outer[0], "workload_run", "model/workload/workload.c", 120);
    m.outer[2] = stack_node(&m, m.outer[1], "step", "model/workload/workload.c", 77);
    run(&m);
    tide_snapshot *snapshot = m.failed ? NULL : synthetic_document(&m);
    synthetic_rows *all[] = {&m.events, &m.scopes,   &m.frames,   &m.stacks,
                             &m.blocks, &m.segments, &m.next_free};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        mem->release(mem->ctx, all[i]->items);
    }
    tide_strings_fini(&m.strings);
    tide_map_fini(&m.free_by_size);
    tide_map_fini(&m.stack_by_path);
    return snapshot;
}
