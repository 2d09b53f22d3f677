/* fake_cublaslt.c - the products of cuBLASLt that read one matrix and write another: objects
 * describe a product, which is computed by an algorithm chosen for that description before. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublas/fake_cublas_internal.h"

/* The objects by which a caller describes a product. */
struct tide_cublaslt_operation_st {
    int compute_type; /* TIDE_CUBLAS_COMPUTE_... */
    int scale_type;   /* of alpha and beta */
    int ops[2];       /* of A and B */
};
struct tide_cublaslt_layout_st {
    int type;               /* TIDE_CUBLAS_R_... */
    uint64_t rows, columns; /* as stored */
    int64_t ld;             /* elements from column to column */
};
struct tide_cublaslt_preference_st {
    uint64_t workspace_bytes; /* at most */
    uint32_t reductions;      /* ways to add up a split sum */
    uint32_t alignments[4];   /* of A, B, C and D, in bytes */
};

/* The meaning of an algorithm's words here. */
enum { WORD_MARK = 0, WORD_M, WORD_N, WORD_K, WORD_WORKSPACE, WORD_ALIGNMENTS, WORD_TYPES = 7 };
static const uint64_t MARK = UINT64_C(0x616C676F726974);

static void *new_object(size_t n_bytes) {
    void *object = calloc(1, n_bytes);
    tide_fake_cublas_state()->n_lt_objects += object != NULL;
    return object;
}

static int free_object(void *object) {
    tide_fake_cublas_state()->n_lt_objects -= object != NULL;
    free(object);
    return 0;
}

static int lt_operation_create(struct tide_cublaslt_operation_st **ret_operation, int compute_type,
                               int scale_type) {
    *ret_operation = new_object(sizeof(**ret_operation));
    if (*ret_operation == NULL) {
        return TIDE_CUBLAS_STATUS_ALLOC_FAILED;
    }
    **ret_operation =
        (struct tide_cublaslt_operation_st){.compute_type = compute_type, .scale_type = scale_type};
    return 0;
}

static int lt_operation_destroy(struct tide_cublaslt_operation_st *operation) {
    return free_object(operation);
}

static int lt_operation_set(struct tide_cublaslt_operation_st *operation, int attribute,
                            const void *value, size_t n_bytes) {
    if ((attribute != TIDE_CUBLASLT_DESC_TRANSA && attribute != TIDE_CUBLASLT_DESC_TRANSB) ||
        n_bytes != sizeof(int)) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "attribute %d of %zu bytes", attribute, n_bytes);
    }
    memcpy(&operation->ops[attribute - TIDE_CUBLASLT_DESC_TRANSA], value, n_bytes);
    return 0;
}

static int lt_layout_create(struct tide_cublaslt_layout_st **ret_layout, int type, uint64_t rows,
                            uint64_t columns, int64_t ld) {
    *ret_layout = new_object(sizeof(**ret_layout));
    if (*ret_layout == NULL) {
        return TIDE_CUBLAS_STATUS_ALLOC_FAILED;
    }
    **ret_layout = (struct tide_cublaslt_layout_st){type, rows, columns, ld};
    return 0;
}

static int lt_layout_destroy(struct tide_cublaslt_layout_st *layout) {
    return free_object(layout);
}

/* The documented values: no workspace, every way to add up, 256 bytes. */
static int lt_preference_create(struct tide_cublaslt_preference_st **ret_preference) {
    *ret_preference = new_object(sizeof(**ret_preference));
    if (*ret_preference == NULL) {
        return TIDE_CUBLAS_STATUS_ALLOC_FAILED;
    }
    **ret_preference =
        (struct tide_cublaslt_preference_st){.reductions = 7, .alignments = {256, 256, 256, 256}};
    return 0;
}

static int lt_preference_destroy(struct tide_cublaslt_preference_st *preference) {
    return free_object(preference);
}

static int lt_preference_set(struct tide_cublaslt_preference_st *preference, int attribute,
                             const void *value, size_t n_bytes) {
    void *member =
        attribute == TIDE_CUBLASLT_PREF_WORKSPACE_BYTES     ? (void *)&preference->workspace_bytes
        : attribute == TIDE_CUBLASLT_PREF_REDUCTION_SCHEMES ? (void *)&preference->reductions
        : attribute >= TIDE_CUBLASLT_PREF_ALIGNMENT_A &&
                attribute < TIDE_CUBLASLT_PREF_ALIGNMENT_A + 4
            ? (void *)&preference->alignments[attribute - TIDE_CUBLASLT_PREF_ALIGNMENT_A]
            : NULL;
    if (member == NULL ||
        n_bytes != (attribute == TIDE_CUBLASLT_PREF_WORKSPACE_BYTES ? sizeof(uint64_t)
                                                                    : sizeof(uint32_t))) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "preference %d of %zu bytes", attribute, n_bytes);
    }
    memcpy(member, value, n_bytes);
    return 0;
}

static tide_fake_operand operand_by(const struct tide_cublaslt_layout_st *layout, const void *data,
                                    int op) {
    return (tide_fake_operand){.data = data,
                               .type = layout->type,
                               .ld = (int)layout->ld,
                               .is_transposed = op == TIDE_CUBLAS_OP_T,
                               .n_rows = (int)layout->rows,
                               .n_columns = (int)layout->columns};
}

/* Sizes of the product that the layouts describe; n 0 if they do not fit together. */
static void sizes_of(const struct tide_cublaslt_operation_st *operation,
                     const struct tide_cublaslt_layout_st *a,
                     const struct tide_cublaslt_layout_st *b,
                     const struct tide_cublaslt_layout_st *c, uint64_t ret_sizes[3]) {
    const bool is_a_t = operation->ops[0] == TIDE_CUBLAS_OP_T;
    const bool is_b_t = operation->ops[1] == TIDE_CUBLAS_OP_T;
    const uint64_t k = is_a_t ? a->rows : a->columns;
    const bool fits = (is_a_t ? a->columns : a->rows) == c->rows &&
                      (is_b_t ? b->rows : b->columns) == c->columns &&
                      (is_b_t ? b->columns : b->rows) == k;
    ret_sizes[0] = c->rows;
    ret_sizes[1] = fits ? c->columns : 0;
    ret_sizes[2] = k;
}

/* How the product is computed: operations, compute type and types, in a word of the algorithm. */
static uint64_t types_of(const struct tide_cublaslt_operation_st *operation,
                         const struct tide_cublaslt_layout_st *a,
                         const struct tide_cublaslt_layout_st *b,
                         const struct tide_cublaslt_layout_st *c) {
    const int parts[] = {operation->ops[0], operation->ops[1], operation->compute_type,
                         a->type,           b->type,           c->type};
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        word = word << 8 | (uint64_t)parts[i]; /* each is below 256 */
    }
    return word;
}

static int lt_choose(struct cublasContext *handle, struct tide_cublaslt_operation_st *operation,
                     struct tide_cublaslt_layout_st *a, struct tide_cublaslt_layout_st *b,
                     struct tide_cublaslt_layout_st *c, struct tide_cublaslt_layout_st *d,
                     struct tide_cublaslt_preference_st *preference, int n_wanted,
                     tide_cublaslt_choice *ret_choices, int *ret_n_choices) {
    uint64_t sizes[3];
    (void)handle;
    (void)d;
    (void)n_wanted;
    *ret_n_choices = 0;
    tide_fake_cublas_state()->n_lt_choices++;
    sizes_of(operation, a, b, c, sizes);
    if (sizes[1] == 0 || operation->scale_type != TIDE_CUBLAS_R_32F) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "cuBLASLt: layouts that do not fit");
    }
    if (preference->reductions != TIDE_CUBLASLT_REDUCTION_COMPUTE_TYPE) {
        (void)tide_fake_cublas_mistake(0, "cuBLASLt may round parts of a sum: %u",
                                       preference->reductions);
    }
    if (tide_fake_cublas_state()->lt_has_nothing) {
        return TIDE_CUBLAS_STATUS_NOT_SUPPORTED;
    }
    ret_choices[0] = (tide_cublaslt_choice){.workspace_bytes = (size_t)preference->workspace_bytes};
    uint64_t *words = ret_choices[0].algorithm;
    words[WORD_MARK] = MARK;
    memcpy(&words[WORD_M], sizes, sizeof(sizes));
    words[WORD_WORKSPACE] = preference->workspace_bytes;
    words[WORD_TYPES] = types_of(operation, a, b, c);
    memcpy(&words[WORD_ALIGNMENTS], preference->alignments, sizeof(preference->alignments));
    *ret_n_choices = 1;
    return 0;
}

/* Whether the algorithm suits this product at these addresses. */
static int check_algorithm(const uint64_t *words, const uint64_t sizes[3], uint64_t types,
                           const void *const addresses[4], size_t workspace_bytes) {
    uint32_t alignments[4];
    memcpy(alignments, &words[WORD_ALIGNMENTS], sizeof(alignments));
    if (words[WORD_MARK] != MARK || words[WORD_TYPES] != types ||
        memcmp(&words[WORD_M], sizes, 3 * sizeof(sizes[0])) != 0) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "an algorithm for another product");
    }
    if (words[WORD_WORKSPACE] > workspace_bytes) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "a workspace of %zu bytes is too small", workspace_bytes);
    }
    for (size_t i = 0; i < 4; i++) {
        if ((uintptr_t)addresses[i] % alignments[i] != 0) {
            return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                            "%p is not a multiple of %u", addresses[i],
                                            alignments[i]);
        }
    }
    return 0;
}

static bool are_alike(const struct tide_cublaslt_layout_st *x,
                      const struct tide_cublaslt_layout_st *y) {
    return x->type == y->type && x->rows == y->rows && x->columns == y->columns && x->ld == y->ld;
}

static int lt_matmul(struct cublasContext *handle, struct tide_cublaslt_operation_st *operation,
                     const void *alpha, const void *a, struct tide_cublaslt_layout_st *layout_a,
                     const void *b, struct tide_cublaslt_layout_st *layout_b, const void *beta,
                     const void *c, struct tide_cublaslt_layout_st *layout_c, void *d,
                     struct tide_cublaslt_layout_st *layout_d, const uint64_t *algorithm,
                     void *workspace, size_t workspace_bytes, struct CUstream_st *stream) {
    uint64_t sizes[3];
    const void *const addresses[] = {a, b, c, d};
    sizes_of(operation, layout_a, layout_b, layout_c, sizes);
    const tide_fake_product p = {.m = (int)sizes[0],
                                 .n = (int)sizes[1],
                                 .k = (int)sizes[2],
                                 .n_batches = 1,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .a = operand_by(layout_a, a, operation->ops[0]),
                                 .b = operand_by(layout_b, b, operation->ops[1]),
                                 .c = operand_by(layout_c, c, TIDE_CUBLAS_OP_N),
                                 .compute_type = operation->compute_type};
    const tide_fake_operand out = operand_by(layout_d, d, TIDE_CUBLAS_OP_N);
    int status =
        check_algorithm(algorithm, sizes, types_of(operation, layout_a, layout_b, layout_c),
                        addresses, workspace_bytes);
    if (status == 0 && !are_alike(layout_c, layout_d)) { /* the product is stored as C is */
        status = tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_NOT_SUPPORTED,
                                          "a D that is laid out unlike C");
    }
    if (status == 0) {
        status = tide_fake_cublas_check("d", &out, 1);
    }
    if (status == 0 && (stream != handle->stream || workspace != handle->workspace)) {
        status = tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                          "cuBLASLt beside the handle's stream");
    }
    if (status != 0) {
        return status;
    }
    tide_fake_cublas_state()->n_lt_products++;
    return tide_fake_cublas_run(handle, "cublasLtMatmul", &p, d);
}

void tide_fake_cublaslt_fill(tide_cublas *table) {
    table->lt_operation_create = lt_operation_create;
    table->lt_operation_destroy = lt_operation_destroy;
    table->lt_operation_set = lt_operation_set;
    table->lt_layout_create = lt_layout_create;
    table->lt_layout_destroy = lt_layout_destroy;
    table->lt_preference_create = lt_preference_create;
    table->lt_preference_destroy = lt_preference_destroy;
    table->lt_preference_set = lt_preference_set;
    table->lt_choose = lt_choose;
    table->lt_matmul = lt_matmul;
}
