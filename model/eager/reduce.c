/* reduce.c - the scratch memory of a sum over rows. PyTorch divides a long sum among several thread
 * blocks, which leave their parts in a buffer (ATen/native/cuda/Reduce.cuh, setReduceConfig, as of
 * 2.14.1). In this model, only the gradients of the norms' weights are such sums: the others add up
 * rows of at most a few thousand numbers, or one number per token. */
#include <string.h>

#include "device/cards.h"
#include "device/chips.h"
#include "model/eager/internal.h"

enum {
    WARP = 32,          /* threads */
    MAX_THREADS = 512,  /* of a block */
    MIN_VALUES = 16,    /* a block is worthwhile if each thread gets this many values */
    MAX_VALUES = 256,   /* from this number on, a thread has too many */
    MAX_VECTOR = 4,     /* numbers that a thread loads at a time */
    SEMAPHORE_BYTES = 4 /* for each block in the first dimension of the grid */
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceiling(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static size_t power_of_two_up_to(size_t n, size_t limit) {
    size_t power = 1;
    while (power * 2 <= least(n, limit)) {
        power *= 2;
    }
    return power;
}

/* Blocks of n_threads that the card runs concurrently; SIZE_MAX: unknown, as on a device without a
 * card. */
static size_t resident_blocks(const tide_eager *e, size_t n_threads) {
    static const char PREFIX[] = "virtual:";
    const char *spec = tide_device_get_info(tide_cache_device(e->cache))->spec;
    bool is_named = strncmp(spec, PREFIX, sizeof(PREFIX) - 1) == 0;
    const tide_card *card = is_named ? tide_card_find(spec + sizeof(PREFIX) - 1) : NULL;
    const tide_card_chip *chip =
        card != NULL ? tide_card_chip_find(card->compute_capability) : NULL;
    if (chip == NULL || card->board.n_multiprocessors < 0) {
        return SIZE_MAX;
    }
    return (size_t)card->board.n_multiprocessors *
           ((size_t)chip->max_multiprocessor_threads / n_threads);
}

/* Bytes of the buffer and of the semaphores; 0: one block sums a column. */
typedef struct scratch_bytes {
    size_t buffer, semaphores;
} scratch_bytes;

static scratch_bytes scratch_of(const tide_eager *e, size_t n_rows, size_t n_columns) {
    size_t vector = MAX_VECTOR;
    while (n_columns % vector != 0) {
        vector /= 2;
    }
    const size_t max_threads = MAX_THREADS / vector;
    const size_t width_limit = power_of_two_up_to(n_columns / vector, max_threads);
    size_t width = least(width_limit, WARP);
    const size_t height = least(power_of_two_up_to(n_rows, max_threads), max_threads / width);
    width = least(width_limit, max_threads / height);
    const size_t values = ceiling(n_rows, height);
    const size_t n_blocks = ceiling(n_columns / vector, width);
    const size_t n_resident = resident_blocks(e, width * height);
    if (n_rows < least(height * MIN_VALUES, MAX_VALUES) || values < MAX_VALUES ||
        n_blocks > n_resident) {
        return (scratch_bytes){0, 0};
    }
    /* As many parts as fill the card, but with neither too few nor too many values for each
     * thread. */
    size_t n_parts = n_resident == SIZE_MAX ? SIZE_MAX : ceiling(n_resident, n_blocks);
    n_parts = least(n_parts, ceiling(values, MIN_VALUES));
    if (n_parts < ceiling(values, MAX_VALUES)) {
        n_parts = ceiling(values, MAX_VALUES);
    }
    if (n_parts <= 1) {
        return (scratch_bytes){0, 0};
    }
    return (scratch_bytes){TIDE_EAGER_FP32 * n_columns * n_parts * width * vector,
                           SEMAPHORE_BYTES * n_blocks};
}

void tide_eager_sum_scratch(tide_eager *e, size_t n_rows, size_t n_columns, const char *name) {
    /* A device without a card also has no workspaces for the libraries. */
    if (e->status != TIDE_OK ||
        tide_device_get_info(tide_cache_device(e->cache))->workspace_bytes == 0) {
        return;
    }
    scratch_bytes n_bytes = scratch_of(e, n_rows, n_columns);
    if (n_bytes.buffer == 0) {
        return;
    }
    const tide_eager_shape buffer = tide_eager_shape_of(1, 1, &n_bytes.buffer);
    const tide_eager_shape semaphores = tide_eager_shape_of(1, 1, &n_bytes.semaphores);
    tide_eager_tensor parts = tide_eager_new(e, &buffer, TIDE_TEMPORARY, name, ".grad.parts");
    if (e->status == TIDE_OK) {
        tide_eager_tensor ready =
            tide_eager_new(e, &semaphores, TIDE_TEMPORARY, name, ".grad.semaphores");
        tide_eager_log_fill(e, n_bytes.semaphores);
        tide_eager_drop(e, &ready);
    }
    tide_eager_drop(e, &parts);
}
