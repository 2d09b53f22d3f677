/* What a change could leave of each block at best. A share that is too low makes a bound too low,
 * which costs a run; one that is too high hides a change that would help. */
#include <stdlib.h>
#include <string.h>

#include "programs/plan/changes.h"

/* States of Adafactor: a row and a column instead of a matrix. A bound may leave them out. */
#define FACTORED_SHARE 0.0F
/* 8 bits and the scale of each block of 256 values, of 32 bits. */
#define SHARE_OF_8_BITS 0.25F

static void leave(tide_plan_shares *shares, size_t block, float share) {
    shares->share[block] = share;
}

static bool is_activation(const tide_plan_block *block) {
    return block->category == TIDE_ACTIVATION && strcmp(block->phase, "backward") != 0;
}

/* ---- recomputed modules ---- */

/* Instances of a repeated module, by their paths. */
typedef struct instances {
    const char *paths; /* "h.0 h.1 h.2" */
    size_t every;      /* 2: only the first of each two */
} instances;

/* The number of the instance that the block's module is in; -1: none, or one that is kept. */
static int64_t instance_of(const instances *of, const tide_plan_block *block) {
    int64_t number = 0;
    for (const char *at = of->paths; *at != '\0'; number++) {
        size_t n = strcspn(at, " ");
        if (tide_plan_is_within(block->layer, at, n)) {
            return number % (int64_t)of->every == 0 ? number : -1;
        }
        at += n + strspn(at + n, " ");
    }
    return -1;
}

/* Of an instance in a step, up to a backward pass: gradients may be accumulated over several. */
typedef struct recomputed {
    int64_t step, instance;
    uint32_t last;  /* the activation of its forward pass that was born last */
    uint32_t place; /* in the walk, of the first block of its backward pass; TIDE_NONE: none */
    uint32_t whole; /* where the recomputation has certainly ended, not before `place` */
} recomputed;

typedef struct recomputation {
    const tide_hostmem *mem; /* borrowed */
    recomputed *rows;        /* owned */
    size_t n, capacity;
} recomputation;

static recomputed *row_of(recomputation *all, int64_t step, int64_t instance, bool is_backward) {
    for (size_t i = all->n; i > 0; i--) { /* mostly one of the last */
        recomputed *row = &all->rows[i - 1];
        if (row->step == step && row->instance == instance) {
            if (row->place != TIDE_NONE && !is_backward) {
                break; /* the next forward pass of the step */
            }
            return row;
        }
    }
    recomputed *rows =
        tide_hostmem_grow(all->mem, all->rows, &all->capacity, all->n + 1, sizeof(*rows));
    if (rows == NULL) {
        return NULL;
    }
    all->rows = rows;
    rows[all->n] = (recomputed){.step = step,
                                .instance = instance,
                                .last = TIDE_NONE,
                                .place = TIDE_NONE,
                                .whole = TIDE_NONE};
    return &rows[all->n++];
}

/* The forward pass that made a block: the first that ends after its birth. */
static recomputed *pass_of(const recomputation *all, const tide_plan_block *block,
                           int64_t instance) {
    for (size_t i = 0; i < all->n; i++) {
        recomputed *row = &all->rows[i];
        if (row->step == block->step && row->instance == instance && block->born < row->place) {
            return row;
        }
    }
    return NULL;
}

/* A block that is no activation counts nothing, one of a backward pass shows where that begins. */
static tide_status find_instances(const tide_plan_timeline *timeline, const instances *of,
                                  tide_plan_shares *shares, recomputation *all) {
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        bool is_backward = strcmp(block->phase, "backward") == 0;
        int64_t instance =
            is_backward || is_activation(block) ? instance_of(of, block) : (int64_t)-1;
        if (instance < 0) {
            continue;
        }
        recomputed *row = row_of(all, block->step, instance, is_backward);
        if (row == NULL) {
            return TIDE_NO_MEMORY;
        }
        if (is_backward) {
            row->place = row->place == TIDE_NONE ? block->born : row->place;
            continue;
        }
        leave(shares, i, 0.0F);
        row->last = (uint32_t)i;
    }
    return TIDE_OK;
}

/* The output of an instance stays if an operation after it keeps it. That operation then frees it
 * before the backward pass of the instance begins. What is freed later may be kept by the instance
 * alone: the last activation of a module is not its output if nothing keeps the output. */
static void keep_outputs(const tide_plan_timeline *timeline, const recomputation *all,
                         tide_plan_shares *shares) {
    for (size_t i = 0; i < all->n; i++) {
        const recomputed *row = &all->rows[i];
        if (row->last != TIDE_NONE && row->place != TIDE_NONE &&
            timeline->blocks[row->last].died <= row->place) {
            leave(shares, row->last, 1.0F);
        }
    }
}

static int by_place(const void *a, const void *b) {
    const tide_plan_turn *one = a;
    const tide_plan_turn *other = b;
    if (one->place != other->place) {
        return one->place < other->place ? -1 : 1;
    }
    return (one->block > other->block) - (one->block < other->block);
}

/* Where a block that was computed again is freed at the earliest: while the operation of the
 * backward pass runs that used it last, which is that of the last allocation before its end. In the
 * recorded run it was freed after that operation. `died` if no operation is known. */
static uint32_t end_of(const tide_plan_timeline *timeline, const tide_plan_block *of) {
    uint32_t end = of->died;
    uint32_t node = TIDE_NONE;
    for (uint32_t place = of->died; place > of->born + 1; place--) {
        const tide_plan_block *before = &timeline->blocks[timeline->places[place - 1]];
        if (before->born != place - 1) {
            continue; /* it is freed there */
        }
        if (node == TIDE_NONE) {
            node = before->node;
        }
        if (node == TIDE_NONE || before->node != node) {
            break;
        }
        end = place - 1;
    }
    return end;
}

/* The pass of a block that is computed again: an activation that was alive when the backward pass
 * of its instance began. Otherwise NULL. */
static recomputed *again_of(const tide_plan_timeline *timeline, const instances *of,
                            const recomputation *all, uint32_t number) {
    const tide_plan_block *block = &timeline->blocks[number];
    int64_t instance = is_activation(block) ? instance_of(of, block) : (int64_t)-1;
    recomputed *row = instance >= 0 ? pass_of(all, block, instance) : NULL;
    return row != NULL && row->place != TIDE_NONE && row->place < block->died ? row : NULL;
}

/* The first operations of a backward pass may need nothing of the forward pass. The one that frees
 * the first block does. Without operations in the snapshot, the first block of the pass counts. */
static void find_whole(const tide_plan_timeline *timeline, const instances *of,
                       const recomputation *all) {
    for (uint32_t i = 0; i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        recomputed *row = again_of(timeline, of, all, i);
        uint32_t end = row != NULL ? end_of(timeline, block) : block->died;
        if (row != NULL && end < block->died) {
            uint32_t from = end > row->place ? end : row->place;
            row->whole = from < row->whole ? from : row->whole;
        }
    }
    for (size_t i = 0; i < all->n; i++) {
        recomputed *row = &all->rows[i];
        row->whole = row->whole == TIDE_NONE ? row->place : row->whole;
    }
}

/* Those activations are whole once they were computed again. Computing them may need more for a
 * while, which a bound leaves out. */
static tide_status add_again(const tide_plan_timeline *timeline, const instances *of,
                             const recomputation *all, tide_plan_shares *shares) {
    size_t n = timeline->n_blocks + 1; /* no array is empty */
    shares->again = tide_hostmem_array(timeline->mem, n, sizeof(*shares->again));
    shares->turns = tide_hostmem_array(timeline->mem, 2 * n, sizeof(*shares->turns));
    if (shares->again == NULL || shares->turns == NULL) {
        return TIDE_NO_MEMORY;
    }
    find_whole(timeline, of, all);
    for (uint32_t i = 0; i < timeline->n_blocks; i++) {
        const recomputed *row = again_of(timeline, of, all, i);
        tide_plan_again again = {row != NULL ? row->whole : TIDE_NONE,
                                 row != NULL ? end_of(timeline, &timeline->blocks[i]) : TIDE_NONE};
        bool is_again = again.from < again.to;
        shares->again[i] = is_again ? again : (tide_plan_again){TIDE_NONE, TIDE_NONE};
        if (is_again) {
            shares->turns[shares->n_turns++] = (tide_plan_turn){again.from, i};
            shares->turns[shares->n_turns++] = (tide_plan_turn){again.to, i};
        }
    }
    qsort(shares->turns, shares->n_turns, sizeof(*shares->turns), by_place);
    return TIDE_OK;
}

/* Which activations are of the modules is unknown, so they may be all. */
static tide_status leave_all_activations(const tide_plan_timeline *timeline,
                                         tide_plan_shares *shares) {
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        if (is_activation(&timeline->blocks[i])) {
            leave(shares, i, 0.0F);
        }
    }
    return TIDE_OK;
}

/* The first operations of a forward pass may be recorded outside of the module that runs them: when
 * a model is called for the first time, its modules are not known yet. */
static void leave_before_modules(const tide_plan_timeline *timeline, tide_plan_shares *shares) {
    int64_t step_of_modules = -1; /* the last in which a module was seen */
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        if (block->layer[0] != '\0') {
            step_of_modules = block->step;
        } else if (block->step != step_of_modules && strcmp(block->phase, "forward") == 0 &&
                   is_activation(block)) {
            leave(shares, i, 0.0F);
        }
    }
}

static tide_status leave_recomputed(const tide_plan_timeline *timeline, const instances *of,
                                    bool has_again, tide_plan_shares *shares) {
    if (!tide_plan_paths_differ(of->paths)) {
        return leave_all_activations(timeline, shares);
    }
    recomputation all = {.mem = timeline->mem};
    tide_status status = find_instances(timeline, of, shares, &all);
    keep_outputs(timeline, &all, shares);
    leave_before_modules(timeline, shares);
    if (status == TIDE_OK && has_again) {
        status = add_again(timeline, of, &all, shares);
    }
    all.mem->release(all.mem->ctx, all.rows);
    return status;
}

tide_status tide_plan_leave_recomputed(const tide_plan_timeline *timeline, const char *argument,
                                       const char *detail, tide_plan_shares *shares) {
    (void)argument;
    return leave_recomputed(timeline, &(instances){detail, 1}, true, shares);
}

tide_status tide_plan_leave_recomputed_half(const tide_plan_timeline *timeline,
                                            const char *argument, const char *detail,
                                            tide_plan_shares *shares) {
    (void)argument;
    return leave_recomputed(timeline, &(instances){detail, 2}, true, shares);
}

/* What is kept is not computed again, so less than everything is alive in the backward pass. */
tide_status tide_plan_leave_recomputed_some(const tide_plan_timeline *timeline,
                                            const char *argument, const char *detail,
                                            tide_plan_shares *shares) {
    (void)argument;
    return leave_recomputed(timeline, &(instances){detail, 1}, false, shares);
}

/* ---- categories ---- */

typedef struct part {
    uint8_t category;
    const char *phase; /* NULL: any */
    float share;
} part;

static tide_status leave_parts(const tide_plan_timeline *timeline, const part *parts, size_t n,
                               tide_plan_shares *shares) {
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        for (size_t k = 0; k < n; k++) {
            if (block->category == parts[k].category &&
                (parts[k].phase == NULL || strcmp(block->phase, parts[k].phase) == 0)) {
                leave(shares, i, parts[k].share);
            }
        }
    }
    return TIDE_OK;
}

#define LEAVE_PARTS(name, ...)                                                                     \
    tide_status tide_plan_leave_##name(const tide_plan_timeline *timeline, const char *argument,   \
                                       const char *detail, tide_plan_shares *shares) {             \
        static const part PARTS[] = {__VA_ARGS__};                                                 \
        (void)argument;                                                                            \
        (void)detail;                                                                              \
        return leave_parts(timeline, PARTS, sizeof(PARTS) / sizeof(PARTS[0]), shares);             \
    }

LEAVE_PARTS(activations, {TIDE_ACTIVATION, NULL, 0.0F}, {TIDE_TEMPORARY, "forward", 0.0F})
LEAVE_PARTS(optimizer_temporaries, {TIDE_TEMPORARY, "optimizer", 0.0F},
            {TIDE_UNKNOWN, "optimizer", 0.0F})
LEAVE_PARTS(gradients, {TIDE_GRADIENT, NULL, 0.0F})
/* The optimizer steps one parameter at a time. */
LEAVE_PARTS(gradients_and_temporaries, {TIDE_GRADIENT, NULL, 0.0F},
            {TIDE_TEMPORARY, "optimizer", 0.0F}, {TIDE_UNKNOWN, "optimizer", 0.0F})
LEAVE_PARTS(factored_state, {TIDE_OPTIMIZER_STATE, NULL, FACTORED_SHARE},
            {TIDE_TEMPORARY, "optimizer", 0.0F}, {TIDE_UNKNOWN, "optimizer", 0.0F})
LEAVE_PARTS(state_of_8_bits, {TIDE_OPTIMIZER_STATE, NULL, SHARE_OF_8_BITS},
            {TIDE_TEMPORARY, "optimizer", 0.0F}, {TIDE_UNKNOWN, "optimizer", 0.0F})
LEAVE_PARTS(half_of_activations, {TIDE_ACTIVATION, NULL, 0.5F}, {TIDE_TEMPORARY, NULL, 0.5F},
            {TIDE_UNKNOWN, NULL, 0.5F})
LEAVE_PARTS(half_of_all, {TIDE_PARAMETER, NULL, 0.5F}, {TIDE_GRADIENT, NULL, 0.5F},
            {TIDE_OPTIMIZER_STATE, NULL, 0.5F}, {TIDE_ACTIVATION, NULL, 0.5F},
            {TIDE_TEMPORARY, NULL, 0.5F}, {TIDE_UNKNOWN, NULL, 0.5F},
            {TIDE_WEIGHT_COPY, NULL, 0.0F})
LEAVE_PARTS(evaluation, {TIDE_ACTIVATION, NULL, 0.0F}, {TIDE_TEMPORARY, NULL, 0.0F})

/* Of a patch anything may be expected. */
tide_status tide_plan_leave_nothing(const tide_plan_timeline *timeline, const char *argument,
                                    const char *detail, tide_plan_shares *shares) {
    (void)argument;
    (void)detail;
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        leave(shares, i, 0.0F);
    }
    return TIDE_OK;
}

/* ---- parts of a whole ---- */

static tide_status leave_one_in(const tide_plan_timeline *timeline, const char *argument,
                                const uint8_t *categories, size_t n, tide_plan_shares *shares) {
    long whole = strtol(argument, NULL, 10);
    for (size_t i = 0; whole > 1 && i < timeline->n_blocks; i++) {
        if (memchr(categories, timeline->blocks[i].category, n) != NULL) {
            leave(shares, i, 1.0F / (float)whole);
        }
    }
    return TIDE_OK;
}

tide_status tide_plan_leave_part_of_batch(const tide_plan_timeline *timeline, const char *argument,
                                          const char *detail, tide_plan_shares *shares) {
    static const uint8_t OF_BATCH[] = {TIDE_ACTIVATION, TIDE_TEMPORARY, TIDE_INPUT, TIDE_UNKNOWN,
                                       TIDE_WORKSPACE};
    (void)detail;
    return leave_one_in(timeline, argument, OF_BATCH, sizeof(OF_BATCH), shares);
}

/* `detail` begins with the number of ranks. */
tide_status tide_plan_leave_part_of_state(const tide_plan_timeline *timeline, const char *argument,
                                          const char *detail, tide_plan_shares *shares) {
    static const uint8_t OF_STATE[] = {TIDE_PARAMETER, TIDE_GRADIENT, TIDE_OPTIMIZER_STATE,
                                       TIDE_TEMPORARY, TIDE_UNKNOWN};
    (void)argument;
    return leave_one_in(timeline, detail, OF_STATE, sizeof(OF_STATE), shares);
}

/* ---- head and loss ---- */

static bool is_of_loss(const tide_plan_timeline *timeline, const tide_plan_block *block) {
    return strcmp(block->operation, "LogSoftmaxBackward0") == 0 ||
           strcmp(block->operation, "NllLossBackward0") == 0 ||
           strcmp(block->operation, "ToCopyBackward0") == 0 ||
           tide_plan_is_called_by(timeline, block, "cross_entropy");
}

/* `detail` begins with the bytes of the largest logits, to which `least` of a block is compared. */
static tide_status leave_loss(const tide_plan_timeline *timeline, const char *detail, bool has_head,
                              tide_plan_shares *shares) {
    int64_t logits_bytes = strtoll(detail, NULL, 10);
    /* Logits of float32 are half as large in bfloat16. */
    int64_t least_bytes = has_head ? logits_bytes * 19 / 40 : logits_bytes * 19 / 20;
    for (size_t i = 0; logits_bytes > 0 && i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        bool is_large = block->requested_bytes >= least_bytes;
        bool may_be_logits =
            has_head && (block->category == TIDE_ACTIVATION || block->category == TIDE_TEMPORARY ||
                         block->category == TIDE_UNKNOWN);
        if (is_large && (may_be_logits || is_of_loss(timeline, block))) {
            leave(shares, i, 0.0F);
        }
    }
    return TIDE_OK;
}

tide_status tide_plan_leave_loss(const tide_plan_timeline *timeline, const char *argument,
                                 const char *detail, tide_plan_shares *shares) {
    (void)argument;
    return leave_loss(timeline, detail, false, shares);
}

tide_status tide_plan_leave_head_and_loss(const tide_plan_timeline *timeline, const char *argument,
                                          const char *detail, tide_plan_shares *shares) {
    (void)argument;
    return leave_loss(timeline, detail, true, shares);
}
