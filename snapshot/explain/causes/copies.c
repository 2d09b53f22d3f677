/* Patterns of the peak: second copies of weights, and weights in a wide type. */
#include <string.h>

#include "snapshot/explain/causes/blocks.h"

#define LEAST_LOADED 0.05 /* of the peak, read from a file */
#define LEAST_DOUBLE 0.05 /* of the peak, converted to float64 */
#define LEAST_COPY 0.10   /* of the peak, copied as a whole */
#define LEAST_TWINS 0.50  /* of the bytes read from a file, with a twin elsewhere */
#define COPIED_TWINS 0.90 /* of the bytes of a copy, with a twin that is older */

enum { LEAST_LOADED_BLOCKS = 2 };

/* ---- loaded onto the card ---- */

static bool is_loaded(const tide_facts *facts, const tide_lifetime *block) {
    return (tide_facts_traits(facts, block) & TIDE_IN_LOAD) != 0 &&
           block->category != TIDE_PARAMETER && block->category != TIDE_OPTIMIZER_STATE;
}

static bool is_not_loaded(const tide_facts *facts, const tide_lifetime *block) {
    return !is_loaded(facts, block);
}

static tide_status say_loaded(const tide_facts *facts, const tide_cause_blocks *of,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "loaded_on_the_card", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text,
                  " was read from a file straight onto the card at %s and is still alive: a "
                  "second copy of tensors that the model has.",
                  tide_cause_quoted(facts, line, ",", place));
    cause.words = words;
    cause.share += 0.3; /* it is there for no purpose: named before larger parts that are needed */
    cause.cure = "`torch.load(path, map_location=\"cpu\")`, with `mmap=True` for a large file, and "
                 "`del` what was loaded after `load_state_dict`";
    return tide_causes_add(to, &cause);
}

/* Data that is read onto the card to be used there has no twins. */
tide_status tide_cause_loaded(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_cause_blocks others = {0};
    int64_t twins = 0;
    tide_status status = tide_cause_blocks_init(&of, facts, is_loaded);
    if (status == TIDE_OK && of.n_blocks >= LEAST_LOADED_BLOCKS &&
        tide_cause_blocks_reach(&of, facts, LEAST_LOADED)) {
        status = tide_cause_blocks_init(&others, facts, is_not_loaded);
        status = status == TIDE_OK ? tide_cause_blocks_twins(&of, &others, facts, &twins) : status;
        if (status == TIDE_OK && (double)twins >= LEAST_TWINS * (double)of.bytes) {
            status = say_loaded(facts, &of, to);
        }
    }
    tide_cause_blocks_fini(&of);
    tide_cause_blocks_fini(&others);
    return status;
}

/* ---- a deep copy that stays ---- */

static bool is_copy(const tide_facts *facts, const tide_lifetime *block) {
    return (tide_facts_traits(facts, block) & TIDE_IN_DEEPCOPY) != 0 &&
           block->category != TIDE_GRADIENT && block->category != TIDE_OPTIMIZER_STATE &&
           !tide_block_is_backward(&facts->lines, block);
}

static bool is_any(const tide_facts *facts, const tide_lifetime *block) {
    (void)facts;
    (void)block;
    return true;
}

/* Splits the copies of the line that made the last of them from older blocks: `ret_copies` are
 * those of the line, `ret_older` the blocks alive at the peak that are older than all of them. */
static void split_copies(const tide_facts *facts, tide_cause_blocks *ret_copies,
                         tide_cause_blocks *ret_older) {
    const tide_lifetime *last =
        tide_facts_block(facts, ret_copies->blocks[ret_copies->n_blocks - 1]);
    uint32_t line = tide_block_line(&facts->lines, last);
    uint32_t first = last->born;
    size_t n = 0;
    ret_copies->bytes = 0;
    for (size_t i = 0; i < ret_copies->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, ret_copies->blocks[i]);
        uint32_t own = tide_block_line(&facts->lines, block);
        if (own == line ||
            (own != TIDE_NONE && line != TIDE_NONE &&
             facts->snapshot->stacks[own].frame == facts->snapshot->stacks[line].frame)) {
            first = block->born < first ? block->born : first;
            ret_copies->bytes += (int64_t)block->block_bytes;
            ret_copies->blocks[n++] = ret_copies->blocks[i];
        }
    }
    ret_copies->n_blocks = n;
    n = 0;
    for (size_t i = 0; i < ret_older->n_blocks; i++) {
        if (tide_facts_block(facts, ret_older->blocks[i])->born < first) {
            ret_older->blocks[n++] = ret_older->blocks[i];
        }
    }
    ret_older->n_blocks = n;
}

static tide_status say_copy(const tide_facts *facts, const tide_cause_blocks *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "model_copy", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "A deep copy of a model, made at %s, makes up ",
                  tide_cause_quoted(facts, line, "", place));
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, ": an average of the weights, for example, or a reference model.");
    cause.words = words;
    cause.cure = "keep the copy on the host or in half precision, if it is used seldom";
    cause.cost = "a copy over the bus at each use";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_copy(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks copies;
    tide_cause_blocks older = {0};
    int64_t twins = 0;
    tide_status status = tide_cause_blocks_init(&copies, facts, is_copy);
    if (status == TIDE_OK && tide_causes_find(to, "model_copies") == NULL &&
        tide_cause_blocks_reach(&copies, facts, LEAST_COPY)) {
        status = tide_cause_blocks_init(&older, facts, is_any);
        if (status == TIDE_OK) {
            split_copies(facts, &copies, &older);
            status = tide_cause_blocks_twins(&copies, &older, facts, &twins);
        }
        if (status == TIDE_OK && tide_cause_blocks_reach(&copies, facts, LEAST_COPY) &&
            (double)twins >= COPIED_TWINS * (double)copies.bytes) {
            status = say_copy(facts, &copies, to);
        }
    }
    tide_cause_blocks_fini(&copies);
    tide_cause_blocks_fini(&older);
    return status;
}

/* ---- float64 ---- */

static bool is_double(const tide_facts *facts, const tide_lifetime *block) {
    return (tide_facts_traits(facts, block) & TIDE_IN_DOUBLE) != 0;
}

static tide_status say_double(const tide_facts *facts, const tide_cause_blocks *of,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "float64", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    (void)tide_cause_quoted(facts, line, "", place);
    tide_text_add(&text,
                  "The model was converted to float64 at %s%s. Weights, gradients, optimizer state "
                  "and activations need twice the memory of float32.",
                  place, strstr(place, ".double(") != NULL ? "" : " (`.double()`)");
    cause.words = words;
    cause.share = 1; /* it doubles nearly all of the peak, not the weights alone */
    cause.cure = "remove `.double()` and convert the data instead: `torch.from_numpy(x).float()`";
    cause.cost = "the precision of float32";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_double(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_status status = tide_cause_blocks_init(&of, facts, is_double);
    if (status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_DOUBLE)) {
        status = say_double(facts, &of, to);
    }
    tide_cause_blocks_fini(&of);
    return status;
}
