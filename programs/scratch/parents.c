#include "programs/scratch/parents.h"

#include <stdatomic.h>
#include <string.h>

enum { N_ROWS = 64 };

typedef struct row {
    char text[TIDE_SCRATCH_PARENT_BYTES];
    size_t n_text; /* 0: the row is empty */
    uint32_t generation;
    tide_scratch_parent parent;
} row;

/* Of this process. After a fork in the middle of a use it stays busy in the child for ever, and the
 * child walks.
 */
static struct {
    atomic_flag is_busy;
    row rows[N_ROWS];
} own = {.is_busy = ATOMIC_FLAG_INIT};

static row *row_of(const char *text, size_t n_text) {
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < n_text; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    }
    return &own.rows[hash % N_ROWS];
}

bool tide_scratch_recall(const char *text, size_t n_text, uint32_t generation,
                         tide_scratch_parent *ret_parent) {
    if (n_text == 0 || n_text > TIDE_SCRATCH_PARENT_BYTES ||
        atomic_flag_test_and_set_explicit(&own.is_busy, memory_order_acquire)) {
        return false;
    }
    const row *found = row_of(text, n_text);
    bool is_known = found->n_text == n_text && found->generation == generation &&
                    memcmp(found->text, text, n_text) == 0;
    if (is_known) {
        *ret_parent = found->parent;
    }
    atomic_flag_clear_explicit(&own.is_busy, memory_order_release);
    return is_known;
}

void tide_scratch_remember(const char *text, size_t n_text, uint32_t generation,
                           const tide_scratch_parent *parent) {
    if (n_text == 0 || n_text > TIDE_SCRATCH_PARENT_BYTES ||
        atomic_flag_test_and_set_explicit(&own.is_busy, memory_order_acquire)) {
        return;
    }
    row *kept = row_of(text, n_text);
    memcpy(kept->text, text, n_text);
    kept->n_text = n_text;
    kept->generation = generation;
    kept->parent = *parent;
    atomic_flag_clear_explicit(&own.is_busy, memory_order_release);
}
