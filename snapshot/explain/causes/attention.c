/* Patterns of the peak: matrices of attention, length x length for each head, kept in full. */
#include <ctype.h>
#include <string.h>

#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/causes/blocks.h"

#define LEAST_MATRIX 0.02   /* of the peak: of one matrix in MultiheadAttention */
#define LEAST_MATRICES 0.20 /* of the peak: of all of them */
#define LEAST_SCORES 0.15   /* of the peak: of scores made by hand */
#define LEAST_BLOCK 0.0001  /* of the peak: smaller blocks are not looked at */

enum {
    LEAST_LINES = 2,        /* of the function that make scores, */
    LEAST_SCORE_BLOCKS = 4, /* or scores alive at the peak */
    SOFTMAX_FRAMES = 4,     /* innermost frames that may be the softmax */
    MOST_FUNCTIONS = 16,    /* of attention that are looked at */
    FUNCTION_LINES = 2,     /* innermost lines of the program that may be in the attention */
    WIDER = 2               /* scores are so many times as large as the function's smallest block */
};

static const char SOFTMAX[] = "SoftmaxBackward"; /* a node of autograd */

/* ---- nn.MultiheadAttention ---- */

static bool is_matrix(const tide_facts *facts, const tide_lifetime *block) {
    return (tide_facts_traits(facts, block) & TIDE_IN_ATTENTION) != 0 &&
           block->category != TIDE_WORKSPACE && !tide_cause_is_state(facts, block) &&
           (double)block->block_bytes >= LEAST_MATRIX * (double)facts->peak_bytes;
}

/* Only the result of the softmax, and of the dropout after it, has the size of the matrix: with
 * need_weights=False neither is called. */
static uint64_t matrix_bytes(const tide_facts *facts, const tide_cause_blocks *of) {
    uint64_t found = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        bool is_result = tide_cause_is_called(facts, block->stack, "softmax", 1) ||
                         tide_cause_is_called(facts, block->stack, "dropout", 1);
        found = is_result && block->block_bytes > found ? block->block_bytes : found;
    }
    return found;
}

static void keep_size(const tide_facts *facts, uint64_t size, tide_cause_blocks *of) {
    size_t n = 0;
    of->bytes = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        if (tide_facts_block(facts, of->blocks[i])->block_bytes == size) {
            of->blocks[n++] = of->blocks[i];
            of->bytes += (int64_t)size;
        }
    }
    of->n_blocks = n;
}

static tide_status say_weights(const tide_facts *facts, const tide_cause_blocks *of, uint64_t size,
                               tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char each[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "attention_weights", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "Attention matrices of %s each make up ",
                  tide_bytes_format((int64_t)size, each));
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, ". nn.MultiheadAttention makes them");
    if (line != TIDE_NONE) {
        tide_text_add(&text, " at %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ". With `need_weights=True`, the default, it keeps softmax(QK^T) in full: "
                         "length x length for each head.");
    cause.words = words;
    cause.cure = "pass `need_weights=False` to it; then it calls scaled_dot_product_attention, "
                 "whose fused kernels keep only the output";
    cause.cost = "it returns no attention weights";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_attention_weights(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_status status = tide_cause_blocks_init(&of, facts, is_matrix);
    uint64_t size = status == TIDE_OK ? matrix_bytes(facts, &of) : 0;
    if (size > 0) {
        keep_size(facts, size, &of);
        if (tide_cause_blocks_reach(&of, facts, LEAST_MATRICES)) {
            status = say_weights(facts, &of, size, to);
        }
    }
    tide_cause_blocks_fini(&of);
    return status;
}

/* ---- attention made by hand ---- */

/* Whether the name of a function has one of these words, in any case. */
static bool is_attention_name(const char *name) {
    static const char *const WORDS[] = {"attention", "attn", "sdpa"};
    char lower[TIDE_PLACE_TEXT];
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < sizeof(lower); n++) {
        lower[n] = (char)tolower((unsigned char)name[n]);
    }
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strstr(lower, WORDS[i]) != NULL) {
            return true;
        }
    }
    return false;
}

bool tide_cause_is_attention(const tide_facts *facts, uint32_t node) {
    const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[node].frame];
    return is_attention_name(tide_snapshot_text(facts->snapshot, row->function));
}

/* What a frame's function is; bits. */
enum {
    IS_ATTENTION = 1, /* by its name: "Attention.forward"; no constructor */
    IS_LIBRARY = 2    /* the same, in a library of models */
};

/* Blocks that functions of attention made in a forward pass. */
typedef struct attention {
    tide_cause_blocks of;
    uint32_t *lines;   /* owned; of each block, node: a line of its function of attention */
    uint8_t *of_frame; /* owned; of each frame, bits */
} attention;

static uint8_t look_at_frame(const tide_snapshot *snapshot, uint32_t frame) {
    const char *function = tide_snapshot_text(snapshot, snapshot->frames[frame].function);
    if (!is_attention_name(function) || strstr(function, "__init__") != NULL) {
        return 0;
    }
    return IS_ATTENTION | (tide_frame_is_model_library(snapshot, frame) ? IS_LIBRARY : 0);
}

/* The line of a function of attention that made a block: the innermost line of the program or its
 * caller, or else the innermost line of a library of models. TIDE_NONE. */
static uint32_t line_of(const tide_facts *facts, const attention *to, const tide_lifetime *block) {
    const tide_stack_row *stacks = facts->snapshot->stacks;
    uint32_t program = tide_stack_program(&facts->stacks, block->stack);
    uint32_t node = program;
    for (int i = 0; i < FUNCTION_LINES && node != TIDE_NONE; i++) {
        if ((to->of_frame[stacks[node].frame] & IS_ATTENTION) != 0) {
            return node;
        }
        node = tide_stack_program_caller(&facts->stacks, node);
    }
    for (node = block->stack; node != TIDE_NONE && node != program; node = stacks[node].parent) {
        if ((to->of_frame[stacks[node].frame] & IS_LIBRARY) != 0) {
            return node;
        }
    }
    return TIDE_NONE;
}

static bool is_candidate(const tide_facts *facts, const tide_lifetime *block) {
    return (double)block->block_bytes >= LEAST_BLOCK * (double)facts->peak_bytes &&
           block->category != TIDE_WORKSPACE && block->stack != TIDE_NONE &&
           !tide_cause_is_state(facts, block) && !tide_block_is_backward(&facts->lines, block);
}

static tide_status attention_init(attention *to, const tide_facts *facts) {
    const tide_snapshot *snapshot = facts->snapshot;
    size_t n = 0;
    *to = (attention){.of = {.mem = facts->mem}};
    TIDE_TRY(tide_cause_blocks_init(&to->of, facts, is_candidate));
    to->lines = tide_hostmem_array(facts->mem, to->of.n_blocks, sizeof(*to->lines));
    to->of_frame = tide_hostmem_array(facts->mem, snapshot->n_frames, sizeof(*to->of_frame));
    if (to->lines == NULL || to->of_frame == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (uint32_t i = 0; i < snapshot->n_frames; i++) {
        to->of_frame[i] = look_at_frame(snapshot, i);
    }
    for (size_t i = 0; i < to->of.n_blocks; i++) {
        uint32_t line = line_of(facts, to, tide_facts_block(facts, to->of.blocks[i]));
        if (line != TIDE_NONE) {
            to->lines[n] = line;
            to->of.blocks[n++] = to->of.blocks[i];
        }
    }
    to->of.n_blocks = n;
    return TIDE_OK;
}

static void attention_fini(attention *to) {
    const tide_hostmem *mem = to->of.mem;
    if (mem != NULL) {
        mem->release(mem->ctx, to->lines);
        mem->release(mem->ctx, to->of_frame);
        tide_cause_blocks_fini(&to->of);
    }
}

/* What one function of attention makes. */
typedef struct scores {
    uint32_t line;            /* node: a line of the function */
    uint64_t size, smallest;  /* of its largest blocks; of its smallest */
    size_t n_blocks, n_lines; /* of that size */
    uint32_t lines[3];        /* nodes, of that size; n_lines of them if there are fewer */
    bool has_softmax;         /* a softmax made a block of that size */
} scores;

static bool is_softmax(const tide_facts *facts, const tide_lifetime *block) {
    return tide_cause_is_called(facts, block->stack, "softmax", SOFTMAX_FRAMES);
}

static void add_line(const tide_facts *facts, uint32_t node, scores *of) {
    enum { N_LINES = sizeof(of->lines) / sizeof(of->lines[0]) };
    uint32_t frame = facts->snapshot->stacks[node].frame;
    for (size_t i = 0; i < of->n_lines && i < N_LINES; i++) {
        if (facts->snapshot->stacks[of->lines[i]].frame == frame) {
            return;
        }
    }
    if (of->n_lines < N_LINES) {
        of->lines[of->n_lines++] = node;
    }
}

/* The scores of the function that a line is in. */
static scores look_at(const tide_facts *facts, const attention *from, uint32_t line) {
    scores found = {.line = line, .smallest = UINT64_MAX};
    for (size_t i = 0; i < from->of.n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, from->of.blocks[i]);
        uint32_t own = from->lines[i];
        if (!tide_cause_is_same_function(facts, own, line)) {
            continue;
        }
        found.smallest = block->block_bytes < found.smallest ? block->block_bytes : found.smallest;
        if (block->block_bytes > found.size) {
            found = (scores){line, block->block_bytes, found.smallest, 0, 0, {0}, false};
        }
        if (block->block_bytes == found.size) {
            found.n_blocks++;
            found.has_softmax = found.has_softmax || is_softmax(facts, block);
            add_line(facts, own, &found);
        }
    }
    return found;
}

/* Whether a backward pass of a softmax in the function made a block of that size: of a method of
 * tensors, which has no frame of its own. */
static bool has_softmax_node(const tide_facts *facts, const scores *of) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->block_bytes == of->size && block->device == facts->device &&
            strncmp(tide_cause_node(facts, block), SOFTMAX, sizeof(SOFTMAX) - 1) == 0 &&
            tide_cause_is_same_function(facts, tide_block_line(&facts->lines, block), of->line)) {
            return true;
        }
    }
    return false;
}

static bool are_scores(const tide_facts *facts, const scores *of) {
    bool is_wide = of->size >= WIDER * of->smallest;
    bool is_enough = of->n_lines >= LEAST_LINES || (of->n_blocks >= LEAST_SCORE_BLOCKS && is_wide);
    bool is_large = (double)(of->size * of->n_blocks) >= LEAST_SCORES * (double)facts->peak_bytes;
    return is_enough && is_large && (of->has_softmax || has_softmax_node(facts, of));
}

static tide_status say_scores(const tide_facts *facts, const scores *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char each[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    int64_t bytes = (int64_t)(of->size * of->n_blocks);
    tide_cause cause = tide_cause_of_peak(facts, "attention_by_hand", bytes);
    bool is_library =
        tide_frame_is_model_library(facts->snapshot, facts->snapshot->stacks[of->line].frame);
    tide_text_add(&text, "Attention scores of %s each, length x length for each head, make up ",
                  tide_bytes_format((int64_t)of->size, each));
    tide_cause_add_bytes(facts, bytes, &text);
    tide_text_add(&text, ". They are made one operator at a time at ");
    for (size_t i = 0; i < of->n_lines; i++) {
        tide_text_add(&text, "%s%s", i > 0 ? ", " : "",
                      tide_cause_quoted(facts, of->lines[i], "", place));
    }
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = is_library ? "choose the library's fused attention (in transformers, "
                              "`attn_implementation=\"sdpa\"`)"
                            : "call `torch.nn.functional.scaled_dot_product_attention(q, k, v)` "
                              "(with `is_causal=True` for a causal mask), whose fused kernels keep "
                              "only the output and one number for each row";
    cause.cost = "no attention weights, and other rounding";
    return tide_causes_add(to, &cause);
}

/* The function with the most scores; its line is TIDE_NONE if there is none. */
static scores best_of(const tide_facts *facts, const attention *from) {
    scores best = {.line = TIDE_NONE};
    uint32_t seen[MOST_FUNCTIONS];
    size_t n_seen = 0;
    for (size_t i = 0; i < from->of.n_blocks && n_seen < MOST_FUNCTIONS; i++) {
        bool is_seen = false;
        for (size_t j = 0; j < n_seen && !is_seen; j++) {
            is_seen = tide_cause_is_same_function(facts, seen[j], from->lines[i]);
        }
        if (is_seen) {
            continue;
        }
        seen[n_seen++] = from->lines[i];
        scores next = look_at(facts, from, from->lines[i]);
        if (are_scores(facts, &next) && next.size * next.n_blocks > best.size * best.n_blocks) {
            best = next;
        }
    }
    return best;
}

tide_status tide_cause_attention_by_hand(const tide_facts *facts, tide_causes *to) {
    attention from;
    tide_status status = attention_init(&from, facts);
    scores best = {.line = TIDE_NONE};
    if (status == TIDE_OK) {
        best = best_of(facts, &from);
    }
    if (best.line != TIDE_NONE) {
        status = say_scores(facts, &best, to);
    }
    attention_fini(&from);
    return status;
}
