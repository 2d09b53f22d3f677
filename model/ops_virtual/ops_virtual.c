/* ops_virtual.c - the operators of the virtual device. They compute nothing: its arrays are
 * addresses without memory, so no operator reads one. With a launch log, they log what they would
 * launch on a card. */
#include "model/ops_virtual/launches_internal.h"

static void close_ops(tide_ops *ops) {
    ops->mem->release(ops->mem->ctx, ops);
}

static const char *describe(const tide_ops *ops) {
    (void)ops;
    return "virtual: nothing is computed";
}

#define VIRTUAL_TWIN(x)                                                                            \
    static tide_status x(tide_ops *ops, const tide_##x *call, tide_error *error) {                 \
        return ops->launches != NULL                                                               \
                   ? tide_launch_list_noted(tide_launches_of_##x(ops, call), error)                \
                   : TIDE_OK;                                                                      \
    }
TIDE_OPERATORS_WITHOUT_PARTS(VIRTUAL_TWIN)
#undef VIRTUAL_TWIN

/* A part takes no time here, but it opens its scope, so recordings have the same scopes on every
 * device. */
static void pass_part(const tide_ops *ops, tide_attention_part part) {
    tide_ops_part_end(ops, tide_ops_part_begin(ops, part));
}

static tide_status attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                     tide_error *error) {
    if (ops->launches != NULL) {
        return tide_launch_list_noted(tide_launches_of_attention_forward(ops, call), error);
    }
    if (call->kind == TIDE_ATTENTION_NAIVE) {
        pass_part(ops, TIDE_PART_SCORES);
        pass_part(ops, TIDE_PART_SOFTMAX);
        pass_part(ops, TIDE_PART_VALUE);
    }
    return TIDE_OK;
}

static tide_status attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                      tide_error *error) {
    if (ops->launches != NULL) {
        return tide_launch_list_noted(tide_launches_of_attention_backward(ops, call), error);
    }
    if (call->kind == TIDE_ATTENTION_NAIVE) {
        pass_part(ops, TIDE_PART_VALUE);
        pass_part(ops, TIDE_PART_SOFTMAX);
        pass_part(ops, TIDE_PART_SCORES);
    }
    return TIDE_OK;
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none */
#define OPERATOR_ENTRY(x) .x = x,
static const tide_ops_table TABLE = {
    .close = close_ops, .describe = describe, TIDE_OPERATORS(OPERATOR_ENTRY)};
#undef OPERATOR_ENTRY

const tide_ops_table *tide_ops_virtual_table(void) {
    return &TABLE;
}

tide_status tide_ops_virtual_open(const tide_hostmem *mem, tide_device *device,
                                  tide_precision precision, tide_ops **ret_ops, tide_error *error) {
    tide_ops_virtual *own = mem->alloc(mem->ctx, sizeof(*own));
    if (own == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the operators");
    }
    *own = (tide_ops_virtual){.ops = {.table = &TABLE, .mem = mem, .device = device, .stream = 0},
                              .rounds_to_tf32 = precision == TIDE_PRECISION_TF32};
    *ret_ops = &own->ops;
    return TIDE_OK;
}
