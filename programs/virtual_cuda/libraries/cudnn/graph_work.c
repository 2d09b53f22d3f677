/* graph_work.c - the computation of a cuDNN graph. Each descriptor copies the work of the
 * descriptors that it names, because they may be destroyed before the plan is executed. */
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/cudnn/attributes_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/graph_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/types_internal.h"

/* ---- tensors ---- */

static int64_t number_in(const descriptor *object, int name, size_t n_bytes) {
    const attribute *set = tide_vc_cudnn_find(object, name);
    int64_t value = 0;
    if (set != NULL && set->n_values > 0) {
        memcpy(&value, set->values, n_bytes);
    }
    return value;
}

static void read_tensor(const descriptor *object, tide_vc_cudnn_work *to) {
    const attribute *lengths = tide_vc_cudnn_find(object, TENSOR_LENGTHS);
    const attribute *steps = tide_vc_cudnn_find(object, TENSOR_STEPS);
    tide_vc_cudnn_tensor *tensor = &to->tensor;
    if (lengths == NULL || lengths->n_values > CUDNN_MOST_DIMENSIONS) {
        return;
    }
    tensor->id = number_in(object, TENSOR_ID, sizeof(int64_t));
    tensor->type = (int)number_in(object, TENSOR_TYPE, sizeof(int));
    tensor->n_dimensions = (int)lengths->n_values;
    memcpy(tensor->lengths, lengths->values, (size_t)lengths->n_values * sizeof(int64_t));
    if (steps != NULL && steps->n_values == lengths->n_values) {
        int64_t values[CUDNN_MOST_DIMENSIONS] = {0};
        memcpy(values, steps->values, (size_t)steps->n_values * sizeof(int64_t));
        tensor->is_channels_last =
            tide_vc_cudnn_is_channels_last(tensor->lengths, values, tensor->n_dimensions);
    }
    bool is_in_memory =
        number_in(object, TENSOR_IS_VIRTUAL, 1) == 0 && number_in(object, TENSOR_IS_VALUE, 1) == 0;
    tensor->n_bytes = is_in_memory ? tide_vc_cudnn_type_bytes(tensor->type) : 0;
    for (int i = 0; i < tensor->n_dimensions; i++) {
        tensor->n_bytes *= tensor->lengths[i] > 0 ? (uint64_t)tensor->lengths[i] : 0;
    }
    if (tensor->n_bytes > 0) {
        to->n_tensors = 1;
        to->tensors[0].id = tensor->id;
        to->tensors[0].n_bytes = tensor->n_bytes;
    }
}

/* ---- the named descriptors ---- */

static void add_tensors(tide_vc_cudnn_work *to, const tide_vc_cudnn_work *from) {
    for (size_t i = 0; i < from->n_tensors; i++) {
        bool is_there = false;
        for (size_t j = 0; j < to->n_tensors && !is_there; j++) {
            is_there = to->tensors[j].id == from->tensors[i].id;
        }
        if (!is_there && to->n_tensors < TIDE_VC_CUDNN_TENSORS) {
            to->tensors[to->n_tensors++] = from->tensors[i];
        }
    }
}

/* `to` keeps its own tensor. */
static void add(tide_vc_cudnn_work *to, const tide_vc_cudnn_work *from) {
    bool is_first = to->row.m == 0 || (to->n_convolutions + to->n_attentions == 0 &&
                                       from->n_convolutions + from->n_attentions > 0);
    to->n_convolutions += from->n_convolutions;
    to->n_attentions += from->n_attentions;
    to->n_products += from->n_products;
    to->has_band |= from->has_band;
    to->is_uncertain |= from->is_uncertain;
    to->is_plain |= from->is_plain;
    to->choice = from->choice != 0 ? from->choice : to->choice;
    to->problem = to->problem.x_bytes == 0 ? from->problem : to->problem;
    if (is_first && from->row.m > 0) {
        to->row = from->row;
    }
    add_tensors(to, from);
}

static const descriptor *descriptor_in(const attribute *set, int64_t i) {
    const descriptor *found = NULL;
    memcpy(&found, set->values + (size_t)i * sizeof(found), sizeof(found));
    return found;
}

const tide_vc_cudnn_work *tide_vc_cudnn_work_kept(const descriptor *object) {
    return object->work;
}

void tide_vc_cudnn_note_work(attribute *set) {
    if (set->type != TYPE_OF_DESCRIPTORS || set->n_values == 0) {
        return;
    }
    set->work = calloc(1, sizeof(*set->work));
    for (int64_t i = 0; set->work != NULL && i < set->n_values; i++) {
        const descriptor *one = descriptor_in(set, i);
        if (one != NULL && one->work != NULL) {
            add(set->work, one->work);
            set->work->tensor = one->work->tensor;
        }
    }
}

/* ---- operations ---- */

/* The tensor that an attribute names; without dimensions if there is none. */
static const tide_vc_cudnn_tensor *tensor_of(const descriptor *operation, int name) {
    static const tide_vc_cudnn_tensor NONE;
    const attribute *set = tide_vc_cudnn_find(operation, name);
    return set != NULL && set->work != NULL ? &set->work->tensor : &NONE;
}

static void add_convolution(const descriptor *operation, const int parts[3], tide_vc_cudnn_way way,
                            tide_vc_cudnn_work *to) {
    const tide_vc_cudnn_tensor *input = tensor_of(operation, parts[0]);
    const tide_vc_cudnn_tensor *filter = tensor_of(operation, parts[1]);
    const tide_vc_cudnn_tensor *output = tensor_of(operation, parts[2]);
    if (tide_vc_cudnn_convolution(input, filter, output, &to->row)) {
        to->n_convolutions++;
        to->row.flags |= way != TIDE_VC_CUDNN_OUTPUT ? TIDE_RUN_BACKWARD : 0;
        to->problem = tide_vc_cudnn_problem_of(way, input, filter, output);
    }
}

/* Batches and heads, m and k come from the first factor, n from the result: (..., m, k), (..., m,
 * n). */
static void add_product(const tide_vc_cudnn_tensor *a, const tide_vc_cudnn_tensor *c,
                        tide_vc_cudnn_work *to) {
    int n = a->n_dimensions;
    tide_run_type type = TIDE_RUN_FP32;
    tide_run_launch row = {.count = 1};
    if (n < 2 || c->n_dimensions != n || !tide_vc_cudnn_type(a->type, &type)) {
        return;
    }
    for (int i = 0; i + 2 < n; i++) {
        row.count *= (uint32_t)c->lengths[i];
    }
    row.m = (uint32_t)a->lengths[n - 2];
    row.k = (uint32_t)a->lengths[n - 1];
    row.n = (uint32_t)c->lengths[n - 1];
    row.type = row.out_type = (uint8_t)type;
    to->row = row;
}

/* Queries (batch, heads, m, channels), keys (batch, heads, n, channels), and values. */
static void add_attention(const descriptor *operation, int queries, tide_vc_cudnn_work *to) {
    const tide_vc_cudnn_tensor *q = tensor_of(operation, queries);
    const tide_vc_cudnn_tensor *k = tensor_of(operation, queries + 1);
    const tide_vc_cudnn_tensor *v = tensor_of(operation, queries + 2);
    tide_run_type type = TIDE_RUN_FP32;
    if (q->n_dimensions != 4 || k->n_dimensions != 4 || v->n_dimensions != 4 ||
        !tide_vc_cudnn_type(q->type, &type)) {
        return;
    }
    /* The library accepts keys and values with their last two dimensions in either order. */
    bool is_straight = k->lengths[3] == q->lengths[3];
    int64_t n_keys = is_straight ? k->lengths[2] : k->lengths[3];
    int64_t values = v->lengths[2] == n_keys ? v->lengths[3] : v->lengths[2];
    to->row.m = (uint32_t)q->lengths[2];
    to->row.n = (uint32_t)n_keys;
    to->row.k = (uint32_t)((q->lengths[3] + values + 1) / 2);
    to->row.count = (uint32_t)(q->lengths[0] * q->lengths[1]);
    to->row.type = to->row.out_type = (uint8_t)type;
    to->row.flags |= operation->type == ATTENTION_BACKWARD ? TIDE_RUN_BACKWARD : 0;
}

static void add_operation(const descriptor *object, tide_vc_cudnn_work *to) {
    static const int FORWARD[] = {FORWARD_X, FORWARD_W, FORWARD_Y};
    static const int DATA[] = {DATA_DX, DATA_W, DATA_DY};
    static const int FILTER[] = {FILTER_X, FILTER_DW, FILTER_DY};
    switch (object->type) {
    case CONVOLUTION_FORWARD:
        add_convolution(object, FORWARD, TIDE_VC_CUDNN_OUTPUT, to);
        break;
    case CONVOLUTION_DATA:
        add_convolution(object, DATA, TIDE_VC_CUDNN_DATA, to);
        break;
    case CONVOLUTION_FILTER:
        add_convolution(object, FILTER, TIDE_VC_CUDNN_FILTER, to);
        break;
    case PRODUCT:
        to->n_products++;
        add_product(tensor_of(object, PRODUCT_A), tensor_of(object, PRODUCT_C), to);
        break;
    case ATTENTION_FORWARD:
        to->n_attentions++;
        add_attention(object, ATTENTION_Q, to);
        break;
    case ATTENTION_BACKWARD:
        to->n_attentions++;
        add_attention(object, ATTENTION_BACKWARD_Q, to);
        break;
    case BAND:
        to->has_band = true;
        to->is_uncertain |= tide_vc_cudnn_find(object, BAND_LEFT) != NULL ||
                            tide_vc_cudnn_find(object, BAND_SHIFT) != NULL;
        break;
    case POINTWISE: /* older libraries make a mask from indices, for a band or for padding */
        to->has_band |= number_in(object, POINTWISE_MODE, sizeof(int)) == GEN_INDEX;
        to->is_uncertain |= to->has_band;
        break;
    default:
        break;
    }
}

tide_vc_cudnn_work *tide_vc_cudnn_finish_work(const descriptor *object) {
    tide_vc_cudnn_work *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    if (object->type == TENSOR) {
        read_tensor(object, made);
        return made;
    }
    for (const attribute *i = object->first; i != NULL; i = i->next) {
        if (i->work != NULL) {
            add(made, i->work);
        }
    }
    add_operation(object, made);
    return made;
}

tide_vc_cudnn_area tide_vc_cudnn_work_area(const tide_vc_cudnn_work *of) {
    enum { COPY = 2 }; /* in fp32 instead of a type of 16 bits */
    if (of->problem.x_bytes > 0) {
        return tide_vc_cudnn_area_here(&of->problem, (tide_run_type)of->row.type);
    }
    tide_vc_cudnn_area area = {.likely_bytes = 0};
    for (size_t i = 0; i < of->n_tensors; i++) {
        area.most_bytes += COPY * of->tensors[i].n_bytes;
    }
    return area;
}
