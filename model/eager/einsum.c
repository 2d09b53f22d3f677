/* einsum.c - torch.einsum of two arrays: views around one batched product, and copies if no view is
 * possible (sumproduct_pair in PyTorch's Linear.cpp). */
#include <string.h>

#include "model/eager/internal.h"

/* Classes of the letters, in PyTorch's words. */
typedef struct split {
    uint8_t both[TIDE_EAGER_DIMS];  /* lro: dimensions of both arrays that the result has */
    uint8_t left[TIDE_EAGER_DIMS];  /* lo: only of the first */
    uint8_t sum[TIDE_EAGER_DIMS];   /* summed over */
    uint8_t right[TIDE_EAGER_DIMS]; /* ro: only of the second, and dimensions of size 1 in either */
    size_t n_both, n_left, n_sum, n_right;
    size_t both_size, left_size, sum_size, right_size; /* products of their sizes */
} split;

/* The array with its dimensions in the order of `letters`; letters that it lacks become new
 * dimensions. */
static tide_eager_tensor in_order(tide_eager *e, const tide_eager_tensor *a, const char *own,
                                  const char *letters) {
    uint8_t permutation[TIDE_EAGER_DIMS];
    size_t n = strlen(letters);
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(own, letters[i]);
        permutation[i] = at != NULL ? (uint8_t)(at - own) : TIDE_EAGER_NO_DIM;
    }
    return tide_eager_permute(e, a, (uint8_t)n, permutation);
}

static split classify(const tide_eager_tensor *a, const tide_eager_tensor *b, size_t n_out) {
    split s = {.both_size = 1, .left_size = 1, .sum_size = 1, .right_size = 1};
    for (uint8_t i = 0; i < a->shape.n_dims; i++) {
        bool in_a = a->shape.sizes[i] != 1;
        bool in_b = b->shape.sizes[i] != 1;
        if (i >= n_out) {
            s.sum[s.n_sum++] = i;
            s.sum_size *= in_a && in_b ? a->shape.sizes[i] : 1;
        } else if (in_a && in_b) {
            s.both[s.n_both++] = i;
            s.both_size *= a->shape.sizes[i];
        } else if (in_a) {
            s.left[s.n_left++] = i;
            s.left_size *= a->shape.sizes[i];
        } else {
            s.right[s.n_right++] = i;
            s.right_size *= b->shape.sizes[i];
        }
    }
    return s;
}

static size_t put(uint8_t *permutation, size_t n, const uint8_t *dims, size_t n_dims) {
    memcpy(permutation + n, dims, n_dims);
    return n + n_dims;
}

/* The array permuted so that its classes follow one another, then viewed in three dimensions: a
 * batched product accepts no more. */
static tide_eager_tensor operand(tide_eager *e, const tide_eager_tensor *a, const split *s,
                                 bool is_left) {
    uint8_t permutation[TIDE_EAGER_DIMS];
    size_t n = put(permutation, 0, s->both, s->n_both);
    n = is_left ? put(permutation, n, s->left, s->n_left) : put(permutation, n, s->sum, s->n_sum);
    n = is_left ? put(permutation, n, s->sum, s->n_sum) : put(permutation, n, s->right, s->n_right);
    n = is_left ? put(permutation, n, s->right, s->n_right)
                : put(permutation, n, s->left, s->n_left);
    tide_eager_tensor permuted = tide_eager_permute(e, a, (uint8_t)n, permutation);
    const size_t sizes[3] = {s->both_size, is_left ? s->left_size : s->sum_size,
                             is_left ? s->sum_size : s->right_size};
    tide_eager_shape shape = tide_eager_shape_of(a->shape.n_bytes, 3, sizes);
    tide_eager_tensor out =
        tide_eager_reshape(e, &permuted, &shape, (tide_eager_label){a->name, TIDE_ACTIVATION});
    tide_eager_drop(e, &permuted);
    return out;
}

/* Splits the product's three dimensions into those of the result. */
static tide_eager_tensor unfold(tide_eager *e, const tide_eager_tensor *product,
                                const tide_eager_tensor *a, const tide_eager_tensor *b,
                                const split *s, size_t n_out) {
    tide_eager_shape shape = {.n_bytes = product->shape.n_bytes};
    uint8_t permutation[TIDE_EAGER_DIMS];
    const struct {
        const uint8_t *dims;
        size_t n;
        const tide_eager_tensor *from; /* NULL: summed over, size 1 */
    } groups[] = {{s->both, s->n_both, a},
                  {s->left, s->n_left, a},
                  {s->sum, s->n_sum, NULL},
                  {s->right, s->n_right, b}};
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (size_t i = 0; i < groups[g].n; i++) {
            uint8_t dim = groups[g].dims[i];
            permutation[dim] = shape.n_dims;
            shape.sizes[shape.n_dims++] =
                groups[g].from != NULL ? groups[g].from->shape.sizes[dim] : 1;
        }
    }
    tide_eager_tensor view = tide_eager_view(e, product, &shape);
    tide_eager_tensor permuted = tide_eager_permute(e, &view, shape.n_dims, permutation);
    tide_eager_drop(e, &view);
    shape = permuted.shape;
    shape.n_dims = (uint8_t)n_out;
    tide_eager_tensor out = tide_eager_view(e, &permuted, &shape);
    tide_eager_drop(e, &permuted);
    return out;
}

static tide_eager_tensor sum_of_products(tide_eager *e, const tide_eager_tensor *a,
                                         const tide_eager_tensor *b, size_t n_out,
                                         tide_eager_label label) {
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    split s = classify(a, b, n_out);
    tide_eager_tensor left = operand(e, a, &s, true);
    tide_eager_tensor right = operand(e, b, &s, false);
    tide_eager_tensor product = tide_eager_bmm(e, &left, &right, label);
    tide_eager_tensor out = unfold(e, &product, a, b, &s, n_out);
    tide_eager_drop(e, &right);
    tide_eager_drop(e, &left);
    tide_eager_drop(e, &product);
    out.name = label.name;
    return out;
}

tide_eager_tensor tide_eager_einsum(tide_eager *e, const tide_eager_tensor *a,
                                    const char *a_letters, const tide_eager_tensor *b,
                                    const char *b_letters, const char *out_letters,
                                    tide_eager_label label) {
    char letters[TIDE_EAGER_DIMS + 1] = "";
    (void)strncat(letters, out_letters, TIDE_EAGER_DIMS);
    for (const char *at = a_letters; *at != '\0'; at++) {
        if (strchr(out_letters, *at) == NULL) {
            (void)strncat(letters, at, 1);
        }
    }
    tide_eager_tensor a_cast = tide_eager_autocast(e, a, a->name);
    tide_eager_tensor b_cast = tide_eager_autocast(e, b, b->name);
    tide_eager_tensor a_ordered = in_order(e, &a_cast, a_letters, letters);
    tide_eager_tensor b_ordered = in_order(e, &b_cast, b_letters, letters);
    tide_eager_tensor out = sum_of_products(e, &a_ordered, &b_ordered, strlen(out_letters), label);
    /* PyTorch holds the operands in vectors, which release the first one first. */
    tide_eager_drop(e, &a_ordered);
    tide_eager_drop(e, &b_ordered);
    tide_eager_drop(e, &a_cast);
    tide_eager_drop(e, &b_cast);
    return out;
}
