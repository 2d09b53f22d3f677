/* tensor.c - storages, references, strides, and the scopes of allocations. */
#include <stdio.h>
#include <string.h>

#include "model/eager/internal.h"

enum { NAME_BYTES = 128 };

static void fail(tide_eager *e, tide_status status) {
    if (e->status == TIDE_OK) {
        e->status = status;
    }
}

static tide_eager_storage *take_storage(tide_eager *e) {
    tide_eager_storage *storage = e->free_storages;
    if (storage != NULL) {
        e->free_storages = storage->next;
        *storage = (tide_eager_storage){0};
        return storage;
    }
    storage = tide_arena_alloc(&e->arena, 1, sizeof(*storage));
    if (storage == NULL) {
        fail(e, tide_fail(&e->error, TIDE_NO_MEMORY, "the host has no memory left for the run"));
    }
    return storage;
}

static void give_storage(tide_eager *e, tide_eager_storage *storage) {
    storage->next = e->free_storages;
    e->free_storages = storage;
}

/* "layers.N.NAME" and the suffix; NULL if the cache has no recorder, because only the recorder
 * needs names. */
static const char *full_name(const tide_eager *e, const char *name, const char *suffix,
                             char text[NAME_BYTES]) {
    if (tide_cache_recorder(e->cache) == NULL) {
        return NULL;
    }
    if (e->layer >= 0) {
        (void)snprintf(text, NAME_BYTES, "layers.%d.%s%s", (int)e->layer, name, suffix);
    } else {
        (void)snprintf(text, NAME_BYTES, "%s%s", name, suffix);
    }
    return text;
}

tide_eager_storage *tide_eager_storage_new(tide_eager *e, uint64_t n_bytes, tide_category category,
                                           const char *name, const char *suffix) {
    char text[NAME_BYTES];
    tide_eager_storage *storage = e->status == TIDE_OK ? take_storage(e) : NULL;
    if (storage == NULL) {
        return NULL;
    }
    const tide_tag tag = {category, full_name(e, name, suffix, text)};
    tide_status status =
        tide_cache_alloc(e->cache, (size_t)n_bytes, 0, &tag, &storage->address, &e->error);
    if (status != TIDE_OK) {
        give_storage(e, storage);
        fail(e, status);
        return NULL;
    }
    storage->n_bytes = n_bytes;
    storage->n_references = 1;
    storage->is_kept = e->makes_kept;
    storage->next = e->live;
    if (e->live != NULL) {
        e->live->previous = storage;
    }
    e->live = storage;
    e->alive_bytes += n_bytes;
    e->peak_bytes = e->alive_bytes > e->peak_bytes ? e->alive_bytes : e->peak_bytes;
    return storage;
}

static void release_storage(tide_eager *e, tide_eager_storage *storage) {
    tide_status status = tide_cache_release(e->cache, storage->address, &e->error);
    if (status != TIDE_OK) {
        fail(e, status);
    }
    if (storage->previous != NULL) {
        storage->previous->next = storage->next;
    } else {
        e->live = storage->next;
    }
    if (storage->next != NULL) {
        storage->next->previous = storage->previous;
    }
    e->alive_bytes -= storage->n_bytes;
    give_storage(e, storage);
}

tide_eager_tensor tide_eager_retain(const tide_eager_tensor *tensor) {
    if (tensor->storage != NULL) {
        tensor->storage->n_references++;
    }
    return *tensor;
}

void tide_eager_drop(tide_eager *e, tide_eager_tensor *tensor) {
    tide_eager_storage *storage = tensor->storage;
    if (storage == NULL && tensor->node == NULL) {
        return; /* most are undefined: nodes have room for more than they save */
    }
    *tensor = (tide_eager_tensor){0};
    if (storage != NULL && --storage->n_references == 0) {
        release_storage(e, storage);
    }
}

void tide_eager_assign(tide_eager *e, tide_eager_tensor *tensor, tide_eager_tensor value) {
    tide_eager_tensor former = *tensor;
    *tensor = value;
    tide_eager_drop(e, &former);
}

/* ---- shapes ---- */

size_t tide_eager_count(const tide_eager_shape *shape) {
    size_t n = 1;
    for (size_t i = 0; i < shape->n_dims; i++) {
        n *= shape->sizes[i];
    }
    return n;
}

tide_eager_shape tide_eager_shape_of(uint8_t n_bytes, uint8_t n_dims, const size_t *sizes) {
    tide_eager_shape shape = {.n_dims = n_dims, .n_bytes = n_bytes};
    for (size_t i = 0; i < n_dims; i++) {
        shape.sizes[i] = sizes[i];
    }
    return shape;
}

bool tide_eager_same_sizes(const tide_eager_shape *a, const tide_eager_shape *b) {
    bool same = a->n_dims == b->n_dims;
    for (size_t i = 0; same && i < a->n_dims; i++) {
        same = a->sizes[i] == b->sizes[i];
    }
    return same;
}

static void row_major(const tide_eager_shape *shape, size_t *strides) {
    size_t stride = 1;
    for (size_t i = shape->n_dims; i > 0; i--) {
        strides[i - 1] = stride;
        stride *= shape->sizes[i - 1];
    }
}

bool tide_eager_is_contiguous(const tide_eager_tensor *tensor) {
    size_t strides[TIDE_EAGER_DIMS];
    row_major(&tensor->shape, strides);
    for (size_t i = 0; i < tensor->shape.n_dims; i++) {
        if (tensor->shape.sizes[i] != 1 && tensor->strides[i] != strides[i]) {
            return false;
        }
    }
    return true;
}

/* The dimension among those not in `done` (bits) with the smallest stride; ignoring sizes of 1. */
static size_t innermost(const tide_eager_tensor *tensor, unsigned done) {
    size_t best = TIDE_EAGER_DIMS;
    for (size_t i = 0; i < tensor->shape.n_dims; i++) {
        bool counts = (done >> i & 1u) == 0 && tensor->shape.sizes[i] != 1;
        if (counts && (best == TIDE_EAGER_DIMS || tensor->strides[i] < tensor->strides[best])) {
            best = i;
        }
    }
    return best;
}

bool tide_eager_is_dense(const tide_eager_tensor *tensor) {
    size_t expected = 1;
    unsigned done = 0;
    for (size_t i = innermost(tensor, 0); i < TIDE_EAGER_DIMS; i = innermost(tensor, done)) {
        if (tensor->strides[i] != expected) {
            return false;
        }
        expected *= tensor->shape.sizes[i];
        done |= 1u << i;
    }
    return true;
}

/* A run of dimensions that are contiguous with each other can be divided again; no new dimension
 * may cross the end of a run. Dimensions are taken from the last to the first. */
bool tide_eager_view_strides(const tide_eager_tensor *tensor, const tide_eager_shape *shape,
                             size_t *ret_strides) {
    size_t n_old = tensor->shape.n_dims;
    size_t j = shape->n_dims;
    size_t base = n_old > 0 ? tensor->strides[n_old - 1] : 1; /* stride at the run's end */
    size_t n_run = 1;                                         /* elements of the run */
    size_t n_seen = 1; /* elements of it that new dimensions cover so far */
    for (size_t i = n_old; i > 0; i--) {
        n_run *= tensor->shape.sizes[i - 1];
        bool ends =
            i == 1 || (tensor->shape.sizes[i - 2] != 1 && tensor->strides[i - 2] != n_run * base);
        if (!ends) {
            continue;
        }
        while (j > 0 && (n_seen < n_run || shape->sizes[j - 1] == 1)) {
            ret_strides[j - 1] = n_seen * base;
            n_seen *= shape->sizes[j - 1];
            j--;
        }
        if (n_seen != n_run) {
            return false;
        }
        if (i > 1) {
            base = tensor->strides[i - 2];
            n_run = 1;
            n_seen = 1;
        }
    }
    return j == 0;
}

/* ---- new tensors ---- */

tide_eager_tensor tide_eager_new(tide_eager *e, const tide_eager_shape *shape,
                                 tide_category category, const char *name, const char *suffix) {
    tide_eager_tensor tensor = {.name = name, .shape = *shape};
    tensor.storage =
        tide_eager_storage_new(e, tide_eager_count(shape) * shape->n_bytes, category, name, suffix);
    row_major(shape, tensor.strides);
    return tensor;
}

tide_eager_tensor tide_eager_new_like(tide_eager *e, const tide_eager_tensor *like, uint8_t n_bytes,
                                      tide_category category, const char *name,
                                      const char *suffix) {
    tide_eager_shape shape = like->shape;
    shape.n_bytes = n_bytes;
    tide_eager_tensor tensor = tide_eager_new(e, &shape, category, name, suffix);
    if (tide_eager_is_dense(like)) {
        memcpy(tensor.strides, like->strides, sizeof(tensor.strides));
    }
    return tensor;
}

const char *tide_eager_cast_suffix(const tide_eager *e, uint8_t n_bytes, bool is_gradient) {
    if (n_bytes != TIDE_EAGER_16BIT) {
        return is_gradient ? ".grad.fp32" : ".fp32";
    }
    bool is_fp16 = tide_precision_activation_type(e->config.precision) == TIDE_FP16;
    return is_gradient ? (is_fp16 ? ".grad.fp16" : ".grad.bf16") : (is_fp16 ? ".fp16" : ".bf16");
}

/* ---- scopes ---- */

void tide_eager_enter(tide_eager *e, int32_t layer, const char *scope) {
    if (layer == e->layer && scope == e->scope) {
        return;
    }
    if (e->operator_scope != TIDE_NONE) {
        tide_scope_end(e->recorder, e->operator_scope);
        e->operator_scope = TIDE_NONE;
    }
    if (layer != e->layer) {
        if (e->layer_scope != TIDE_NONE) {
            tide_scope_end(e->recorder, e->layer_scope);
        }
        e->layer_scope = layer >= 0
                             ? tide_scope_begin(e->recorder, TIDE_SCOPE_LAYER, "layer", layer)
                             : TIDE_NONE;
    }
    if (scope != NULL) {
        e->operator_scope = tide_scope_begin(e->recorder, TIDE_SCOPE_OPERATOR, scope, -1);
    }
    e->layer = layer;
    e->scope = scope;
}
