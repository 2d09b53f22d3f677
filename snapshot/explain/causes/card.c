/* Patterns of a failed request: what filled the card, or why the request is so large. */
#include <inttypes.h>
#include <string.h>

#include "common/text/plural.h"
#include "snapshot/document/owners.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"
#include "snapshot/explain/words/user_line.h"

enum {
    OTHERS_PERCENT = 10,     /* of the card, at least, that others hold */
    WEIGHTS_PERCENT = 90,    /* of the allocated bytes, while a model is built */
    TYPE_PERCENT = 99,       /* of the parameters' bytes, in one type */
    BUILT_PERCENT = 30,      /* of the capacity, at least, allocated while a model is built */
    LARGE_TIMES = 8,         /* the largest block: a request that no tensor explains */
    ASKED_PERCENT = 20,      /* of the capacity, at least, of such a request .. */
    LARGE_PERCENT = 50,      /* .. and, with what its function made, */
    OWN_PARTS = 4,           /* in tensors of at least this part of the request */
    ROOM_PERCENT = 3,        /* of the capacity, left after the request: then it is not too large */
    MOST_TIMES = 1000,       /* that are counted */
    MOST_PROCESSES = 3,      /* that are named */
    ALLOCATOR_NAME_BYTES = 8 /* of "PyTorch", with its end */
};

#define GIB (INT64_C(1) << 30)
#define OTHERS_LEAST (GIB + GIB / 2) /* bytes, at least, that others hold */
#define CONTEXT_MOST GIB             /* bytes of one CUDA context, at most */
#define LIMIT_LEAST (GIB / 4) /* bytes that were free beyond the request: a limit refused it */

/* ---- who holds the card ---- */

/* What libraries other than PyTorch hold in this process, and its context. The account counts the
 * contexts of all processes, and may take other memory for one, so it counts up to one context. */
static int64_t known_bytes(const tide_facts *facts) {
    const tide_snapshot *snapshot = facts->snapshot;
    const tide_snapshot_driver_account *account = tide_owners_account(snapshot, facts->device);
    int64_t context = account != NULL && account->context_bytes > 0 ? account->context_bytes : 0;
    int64_t bytes = context < CONTEXT_MOST ? context : CONTEXT_MOST;
    for (size_t i = 0; i < snapshot->n_owners; i++) {
        const tide_snapshot_owner *owner = &snapshot->owners[i];
        bool is_library = strncmp(owner->name, "PyTorch", ALLOCATOR_NAME_BYTES) != 0;
        bytes += owner->device == facts->device && is_library && owner->peak_bytes > 0
                     ? owner->peak_bytes
                     : 0;
    }
    return bytes;
}

int64_t tide_cause_others_bytes(const tide_facts *facts) {
    const tide_failure *failure = &facts->failure;
    if (failure->event < 0 || failure->free_bytes < 0 || failure->total_bytes <= 0 ||
        failure->is_limited) {
        return 0;
    }
    int64_t bytes = failure->total_bytes - failure->capacity_bytes - known_bytes(facts);
    bool is_much = bytes > OTHERS_LEAST && bytes > failure->total_bytes / 100 * OTHERS_PERCENT;
    bool would_fit = failure->margin_bytes + bytes >= 0;
    bool is_most = bytes > failure->margin_bytes; /* more than what was free in pieces */
    return is_much && would_fit && is_most ? bytes : 0;
}

bool tide_cause_is_limit(const tide_facts *facts) {
    const tide_failure *failure = &facts->failure;
    return failure->event >= 0 && failure->free_bytes - failure->asked_bytes > LIMIT_LEAST;
}

/* " The driver listed process 4242 (/usr/bin/python3) with 18.50 GiB then." The three largest;
 * nothing if it listed none. */
static void add_processes(const tide_facts *facts, tide_text *to) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    char bytes[TIDE_BYTES_TEXT];
    if (at->device != (int64_t)facts->device || at->n_processes == 0) {
        return;
    }
    tide_text_add(to, " The driver listed");
    for (size_t i = 0; i < at->n_processes && i < MOST_PROCESSES; i++) {
        const tide_snapshot_process *process = &at->processes[i];
        bool has_name = process->name[0] != '\0';
        tide_text_add(to, "%s process %" PRId64 "%s%s%s", i > 0 ? "," : "", process->pid,
                      has_name ? " (" : "", process->name, has_name ? ")" : "");
        if (process->used_bytes >= 0) {
            tide_text_add(to, " with %s", tide_bytes_format(process->used_bytes, bytes));
        }
    }
    if (at->n_processes > MOST_PROCESSES) {
        tide_text_add(to, " and %zu more", at->n_processes - MOST_PROCESSES);
    }
    tide_text_add(to, " on this card then.");
}

static tide_status say_others(const tide_facts *facts, int64_t held, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char others[TIDE_BYTES_TEXT];
    char total[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "Something other than this process's allocator, such as another process, held "
                  "%s of the card's %s. PyTorch had reserved %s here.",
                  tide_bytes_format(held, others),
                  tide_bytes_format(facts->failure.total_bytes, total),
                  tide_bytes_format(facts->failure.reserved.bytes, reserved));
    add_processes(facts, &text);
    const tide_cause cause = {
        .id = "other_process",
        .tier = TIDE_TIER_ALL,
        .share = 1 + (double)held / (double)facts->failure.total_bytes,
        .bytes = held,
        .words = words,
        .cure = "end the other process (`nvidia-smi` lists it), or use another card "
                "(`CUDA_VISIBLE_DEVICES`)"};
    return tide_causes_add(to, &cause);
}

static tide_status say_limit(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char free_bytes[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "The card had %s free, more than the request needed: a limit on this process, "
                  "which had reserved %s, refused it, and not the card.",
                  tide_bytes_format(facts->failure.free_bytes, free_bytes),
                  tide_bytes_format(facts->failure.reserved.bytes, reserved));
    const tide_cause cause = {
        .id = "process_limit",
        .tier = TIDE_TIER_ALL,
        .share = 1,
        .bytes = -1,
        .words = words,
        .cure = "raise the limit of the process (`torch.cuda.set_per_process_memory_fraction`), or "
                "leave it out"};
    return tide_causes_add(to, &cause);
}

/* ---- what was asked for ---- */

static int64_t weight_bytes(const tide_facts *facts) {
    int64_t bytes = 0;
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_alive = block->device == facts->device &&
                        tide_lifetime_is_allocated(block, facts->failure.event);
        bytes += is_alive && tide_cause_is_weight(facts, block) ? (int64_t)block->block_bytes : 0;
    }
    return bytes;
}

/* The type of nearly all parameters; NULL: there are several, or it was not recorded. */
static const char *type_of_weights(const tide_snapshot *snapshot) {
    int64_t all = 0;
    for (size_t i = 0; i < snapshot->n_parameter_types; i++) {
        all += snapshot->parameter_types[i].bytes;
    }
    bool is_one = all > 0 && snapshot->parameter_types[0].bytes >= all / 100 * TYPE_PERCENT;
    return is_one ? snapshot->parameter_types[0].name : NULL;
}

static bool is_wide(const char *type) {
    return type == NULL || strcmp(type, "float32") == 0 || strcmp(type, "float64") == 0;
}

static tide_status say_weights(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    uint32_t traits = tide_stack_traits(&facts->stacks, failure->stack);
    bool is_building = (traits & (TIDE_IN_MODULE_INIT | TIDE_IN_INIT | TIDE_IN_CONVERSION)) != 0 &&
                       (traits & (TIDE_IN_OPTIMIZER | TIDE_IN_DEEPCOPY)) == 0;
    bool is_known = tide_causes_find(to, "models_kept") != NULL;
    if (!is_building || is_known ||
        failure->allocated_bytes < failure->capacity_bytes / 100 * BUILT_PERCENT) {
        return TIDE_OK;
    }
    int64_t weights = weight_bytes(facts);
    if (weights < failure->allocated_bytes / 100 * WEIGHTS_PERCENT) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    char held[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    const char *type = type_of_weights(facts->snapshot);
    tide_text_add(&text,
                  "The card filled up while the model was being built: %s of the %s allocated are "
                  "weights%s%s.",
                  tide_bytes_format(weights, held),
                  tide_bytes_format(failure->allocated_bytes, all), type != NULL ? ", in " : "",
                  type != NULL ? type : "");
    const tide_cause cause = {
        .id = "weights_alone",
        .tier = TIDE_TIER_ALL,
        .share = 1.2,
        .bytes = weights,
        .words = words,
        .cure = is_wide(type)
                    ? "build the model in half precision "
                      "(`torch.set_default_dtype(torch.bfloat16)`, or `torch_dtype=` where it is "
                      "loaded), quantize it, or shard it over several cards"
                    : "quantize the model, or shard it over several cards",
        .cost = "precision of the weights"};
    return tide_causes_add(to, &cause);
}

/* Whether a Python function with this name is in a stack, inside the program's innermost line. */
static bool calls(const tide_facts *facts, uint32_t stack, const char *name) {
    uint32_t program = tide_stack_program(&facts->stacks, stack);
    for (; stack != TIDE_NONE && stack != program; stack = facts->snapshot->stacks[stack].parent) {
        const tide_frame_row *frame =
            &facts->snapshot->frames[facts->snapshot->stacks[stack].frame];
        if (strcmp(tide_snapshot_text(facts->snapshot, frame->function), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether code made both that belongs together: one function, or one line outside of functions. */
static bool is_of_code(const tide_facts *facts, uint32_t a, uint32_t b) {
    if (!tide_cause_is_same_function(facts, a, b)) {
        return false;
    }
    const tide_snapshot *snapshot = facts->snapshot;
    const tide_frame_row *first = &snapshot->frames[snapshot->stacks[a].frame];
    const tide_frame_row *second = &snapshot->frames[snapshot->stacks[b].frame];
    const char *function = tide_snapshot_text(snapshot, first->function);
    return (function[0] != '\0' && function[0] != '<') || first->line == second->line;
}

/* What existed beside a failed request, or before it. */
typedef struct beside {
    int64_t own_bytes;     /* tensors of about its size that the same function made */
    size_t n_own;          /* of these */
    int64_t largest_bytes; /* the largest of the others, also of freed ones; 0: none */
} beside;

static beside look_beside(const tide_facts *facts) {
    const tide_failure *failure = &facts->failure;
    beside found = {.n_own = 0};
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        int64_t bytes = (int64_t)block->block_bytes;
        if (block->device != facts->device || (int64_t)block->born > failure->event) {
            continue;
        }
        uint32_t made_at = tide_stack_program(&facts->stacks, block->stack);
        bool is_own = bytes >= failure->asked_bytes / OWN_PARTS &&
                      !tide_cause_is_state(facts, block) && is_of_code(facts, made_at, line);
        if (is_own && tide_lifetime_is_allocated(block, failure->event)) {
            found.n_own++;
            found.own_bytes += bytes;
        }
        found.largest_bytes = !is_own && bytes > found.largest_bytes ? bytes : found.largest_bytes;
    }
    return found;
}

static void add_too_large(const tide_facts *facts, const beside *of, bool is_cdist, tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char asked[TIDE_BYTES_TEXT];
    char own[TIDE_BYTES_TEXT];
    char largest[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    int64_t times = failure->asked_bytes / of->largest_bytes;
    const char *why = is_cdist ? "`cdist` makes a distance for every pair of rows"
                      : tide_cause_line_kind(facts, line) == TIDE_LINE_COMPUTES
                          ? "operators that pair, broadcast, repeat or resize their inputs make "
                            "such results"
                          : "";
    tide_text_add(to, "One request");
    if (line != TIDE_NONE) {
        tide_user_line_add_quote(facts->snapshot, facts->snapshot->stacks[line].frame, ", of ", ",",
                                 to);
    }
    tide_text_add(to, " is for %s, %s%" PRId64 " times as much as the largest tensor ",
                  tide_bytes_format(failure->asked_bytes, asked), times > MOST_TIMES ? "over " : "",
                  times > MOST_TIMES ? (int64_t)MOST_TIMES : times);
    if (of->n_own > 0) {
        tide_text_add(
            to, "that other code made (%s), and %zu %s of the same function already %s %s",
            tide_bytes_format(of->largest_bytes, largest), of->n_own,
            tide_plural(of->n_own, "tensor", "tensors"), tide_plural(of->n_own, "holds", "hold"),
            tide_bytes_format(of->own_bytes, own));
    } else {
        tide_text_add(to, "that existed (%s)", tide_bytes_format(of->largest_bytes, largest));
    }
    tide_text_add(to, "%s%s.", why[0] != '\0' ? ": " : "", why);
    uint32_t call = tide_cause_call_of_model(facts);
    if (call != TIDE_NONE) {
        tide_text_add(to, " The model was called at %s.",
                      tide_cause_quoted(facts, call, "", place));
    }
}

static const char *cure_of_large(const tide_facts *facts, bool is_cdist, size_t n_own) {
    uint32_t line = tide_stack_program(&facts->stacks, facts->failure.stack);
    if (is_cdist) {
        return "loop over chunks of rows, and reduce each chunk (a minimum, a top-k) before the "
               "next one; if the inputs need gradients, call `backward()` on each chunk, because "
               "autograd keeps it until then";
    }
    if (line == TIDE_NONE) {
        return "look at the size that the program asks for";
    }
    if (tide_cause_line_kind(facts, line) != TIDE_LINE_COMPUTES) {
        return "if that line allocates a buffer or moves data, make it smaller or keep it on the "
               "host; if it computes, look at the shapes and compute in chunks along one "
               "dimension, keeping of each what is needed";
    }
    if (tide_cause_is_attention(facts, line)) {
        return "if these are attention scores, `scaled_dot_product_attention` does not make them; "
               "else compute in chunks along one dimension, keeping of each what is needed";
    }
    if (tide_cause_line_subtracts_pairs(facts, line)) {
        return "for distances, `torch.cdist(x, y)` or `|x|^2 + |y|^2 - 2 * x @ y.T` makes no "
               "tensor of differences. Chunks help only under `no_grad`, or with a `backward()` "
               "for each, because autograd keeps them until then";
    }
    if (n_own == 0 && tide_cause_call_of_model(facts) != TIDE_NONE &&
        !tide_cause_line_multiplies(facts, line)) {
        return "call the model on parts of its input (under `no_grad`, or with a `backward()` for "
               "each), or look at the shapes of that request";
    }
    return n_own == 0 && tide_cause_line_multiplies(facts, line)
               ? "look at the shapes on that line, and compute in chunks along one dimension. "
                 "`a @ w` copies an operand that lacks a batch dimension once for each element of "
                 "it: give both the same batch dimensions, for example by a transpose, and use "
                 "`torch.bmm`"
               : "look at the shapes on that line, and compute in chunks along one dimension, "
                 "keeping of each what is needed";
}

static tide_status say_too_large(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    const beside found = look_beside(facts);
    bool is_large =
        found.largest_bytes > 0 && failure->asked_bytes / LARGE_TIMES > found.largest_bytes &&
        failure->asked_bytes > failure->capacity_bytes / 100 * ASKED_PERCENT &&
        failure->asked_bytes + found.own_bytes > failure->capacity_bytes / 100 * LARGE_PERCENT &&
        failure->margin_bytes < failure->capacity_bytes / 100 * ROOM_PERCENT;
    if (!is_large || failure->free_bytes < 0) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    bool is_cdist = calls(facts, failure->stack, "cdist");
    bool has_line = tide_stack_program(&facts->stacks, failure->stack) != TIDE_NONE;
    add_too_large(facts, &found, is_cdist, &text);
    const tide_cause cause = {
        .id = "too_large_request",
        .tier = TIDE_TIER_ALL,
        .share = 1,
        .bytes = failure->asked_bytes,
        .words = words,
        .cure = cure_of_large(facts, is_cdist, found.n_own),
        .cost = has_line ? "a loop; the memory needed falls with the size of the chunk" : ""};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_card(const tide_facts *facts, tide_causes *to) {
    if (facts->failure.event < 0) {
        return TIDE_OK;
    }
    int64_t others = tide_cause_others_bytes(facts);
    if (others > 0) {
        return say_others(facts, others, to);
    }
    if (tide_cause_is_limit(facts)) {
        return say_limit(facts, to);
    }
    TIDE_TRY(say_weights(facts, to));
    return say_too_large(facts, to);
}
