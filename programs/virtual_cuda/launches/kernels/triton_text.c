/* triton_text.c - reads a kernel's text, one operation a line:
 *
 *   tt.func public @NAME(%a: !tt.ptr<bf16> {...}, %n: i32 ...) ... {
 *     %3 = arith.addi %1, %2 : tensor<4xi32> loc(#loc3)
 *     %5 = tt.load %4, %mask : tensor<1x64x!tt.ptr<bf16>> loc(#loc4)
 *     %8 = scf.for %i = %0 to %n step %c64 iter_args(%x = %7) -> (...) : i32 {
 *
 * The file is untrusted: other forms are not followed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

enum { MOST_VALUES = 8192, MOST_STEPS = 8192, MOST_LINKS = 1024, MOST_DEPTH = 64 };

typedef struct name {
    const char *at;
    size_t n;
    bool is_uniform; /* all values of a block are the same: they take no registers */
} name;

/* Blocks with fewer values fit the registers of a warp, 255 for each of 32 threads. */
enum { FEWEST_SPILLED = 255 * 32, REGISTER_BYTES = 4 };

/* An open loop, if, reduction or function. */
typedef struct block {
    bool is_loop;
    size_t first_link, n_links; /* of a loop */
    uint32_t result;            /* of an if, from the end of each branch; 0: none */
    bool has_result;            /* a branch has ended */
} block;

typedef struct reader {
    tide_triton_program *to;
    name *names; /* owned; value i + 1 has name i */
    block blocks[MOST_DEPTH];
    size_t n_blocks;
    size_t compute; /* of the open block: its step of arithmetic, from 1 on; 0: it has none */
} reader;

static const struct {
    const char *operation;
    tide_triton_code code;
} OPERATIONS[] = {{"arith.addi", TIDE_TRITON_ADD},
                  {"arith.subi", TIDE_TRITON_SUBTRACT},
                  {"arith.muli", TIDE_TRITON_MULTIPLY},
                  {"arith.divsi", TIDE_TRITON_DIVIDE},
                  {"arith.divui", TIDE_TRITON_DIVIDE},
                  {"arith.remsi", TIDE_TRITON_REMAINDER},
                  {"arith.remui", TIDE_TRITON_REMAINDER},
                  {"arith.minsi", TIDE_TRITON_LEAST},
                  {"arith.minui", TIDE_TRITON_LEAST},
                  {"arith.maxsi", TIDE_TRITON_MOST},
                  {"arith.maxui", TIDE_TRITON_MOST},
                  {"arith.andi", TIDE_TRITON_AND},
                  {"arith.ori", TIDE_TRITON_OR},
                  {"arith.shli", TIDE_TRITON_SHIFT_LEFT},
                  {"arith.shrsi", TIDE_TRITON_SHIFT_RIGHT},
                  {"arith.shrui", TIDE_TRITON_SHIFT_RIGHT},
                  {"arith.select", TIDE_TRITON_SELECT},
                  {"arith.extsi", TIDE_TRITON_SAME},
                  {"arith.extui", TIDE_TRITON_SAME},
                  {"arith.trunci", TIDE_TRITON_SAME},
                  {"arith.index_cast", TIDE_TRITON_SAME},
                  {"tt.splat", TIDE_TRITON_SAME},
                  {"tt.expand_dims", TIDE_TRITON_SAME},
                  {"tt.broadcast", TIDE_TRITON_SAME},
                  {"tt.reshape", TIDE_TRITON_SAME},
                  {"tt.bitcast", TIDE_TRITON_SAME},
                  {"tt.make_tensor_ptr", TIDE_TRITON_MOVED},
                  {"tt.advance", TIDE_TRITON_MOVED},
                  {"tt.addptr", TIDE_TRITON_ADD},
                  {"arith.cmpi", TIDE_TRITON_COMPARE},
                  {"tt.load", TIDE_TRITON_LOAD},
                  {"tt.store", TIDE_TRITON_STORE},
                  {"tt.atomic_rmw", TIDE_TRITON_ATOMIC},
                  {"tt.dot", TIDE_TRITON_DOT},
                  {"arith.constant", TIDE_TRITON_CONSTANT},
                  {"tt.make_range", TIDE_TRITON_RANGE},
                  {"tt.get_program_id", TIDE_TRITON_PROGRAM},
                  {"tt.get_num_programs", TIDE_TRITON_PROGRAMS},
                  {"scf.for", TIDE_TRITON_FOR},
                  {"scf.if", TIDE_TRITON_IF}};

/* ---- values ---- */

static size_t name_length(const char *at) {
    return strspn(at, "%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_#");
}

static uint32_t value_of(const reader *from, const char *at) {
    size_t n = name_length(at);
    for (size_t i = from->to->n_values; i > 0; i--) {
        if (from->names[i - 1].n == n && memcmp(from->names[i - 1].at, at, n) == 0) {
            return (uint32_t)i;
        }
    }
    return 0;
}

static uint32_t new_value(reader *from, const char *at) {
    if (from->to->n_values == MOST_VALUES) {
        return 0;
    }
    from->names[from->to->n_values++] = (name){.at = at, .n = name_length(at)};
    return (uint32_t)from->to->n_values;
}

/* ---- operands ---- */

static void read_operands(const reader *from, const char *at, const char *end,
                          tide_triton_step *step) {
    const char *types = tide_triton_find(at, end, " : ");
    const char *last = types != NULL ? types : end;
    for (size_t i = 0; i < TIDE_TRITON_OPERANDS; i++) {
        at = tide_triton_find(at, last, "%");
        if (at == NULL) {
            return;
        }
        step->operands[i] = value_of(from, at);
        at += name_length(at);
    }
}

static void read_numbers(const char *at, const char *end, tide_triton_step *step) {
    const char *dense = tide_triton_find(at, end, "dense<");
    const char *number = dense != NULL ? dense + strlen("dense<") : at + strspn(at, " ");
    const char *low = tide_triton_find(at, end, "start = ");
    const char *high = tide_triton_find(at, end, "end = ");
    char *after = NULL;
    switch (step->code) {
    case TIDE_TRITON_CONSTANT: /* integers only */
        step->low = strtoll(number, &after, 10);
        if (after == number || *after == '.' || *after == 'e') {
            step->code = TIDE_TRITON_UNKNOWN;
        }
        break;
    case TIDE_TRITON_RANGE:
        step->low = low != NULL ? strtoll(low + strlen("start = "), NULL, 10) : 0;
        step->high = high != NULL ? strtoll(high + strlen("end = "), NULL, 10) : 0;
        if (step->high <= step->low) {
            step->code = TIDE_TRITON_UNKNOWN;
        }
        break;
    case TIDE_TRITON_PROGRAM:
    case TIDE_TRITON_PROGRAMS:
        step->low = *number == 'y' ? 1 : *number == 'z' ? 2 : 0;
        break;
    default:
        break;
    }
}

static tide_triton_code code_of(const char *operation, size_t n) {
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); i++) {
        if (strlen(OPERATIONS[i].operation) == n &&
            memcmp(OPERATIONS[i].operation, operation, n) == 0) {
            return OPERATIONS[i].code;
        }
    }
    return TIDE_TRITON_UNKNOWN;
}

/* ---- blocks ---- */

/* "%i = %low to %high step %by iter_args(%variable = %first, ...)" */
static void read_loop(reader *from, const char *at, const char *end, tide_triton_step *step) {
    tide_triton_program *to = from->to;
    const char *others = tide_triton_find(at, end, "iter_args(");
    const char *equals = tide_triton_find(at, end, "=");
    if (equals != NULL) {
        read_operands(from, equals, others != NULL ? others : end, step);
    }
    step->result = new_value(from, at + strspn(at, " "));
    step->low = (int64_t)to->n_links;
    for (at = others; at != NULL && (at = tide_triton_find(at, end, "%")) != NULL;
         at += name_length(at)) {
        const char *first = at + name_length(at) + strlen(" = ");
        if (first >= end || strncmp(first - strlen(" = "), " = ", strlen(" = ")) != 0) {
            continue;
        }
        uint32_t before = value_of(from, first);
        uint32_t variable = new_value(from, at);
        if (to->n_links < MOST_LINKS) {
            to->links[to->n_links++] = (tide_triton_link){.variable = variable, .first = before};
        }
    }
    step->high = (int64_t)to->n_links;
}

static void open_block(reader *from, const tide_triton_step *step, uint32_t result) {
    bool is_loop = step->result != 0;
    if (from->n_blocks < MOST_DEPTH) {
        from->blocks[from->n_blocks] =
            (block){.is_loop = is_loop,
                    .first_link = is_loop ? (size_t)step->low : 0,
                    .n_links = is_loop ? (size_t)(step->high - step->low) : 0,
                    .result = is_loop ? 0 : result};
    }
    from->n_blocks++;
}

/* "scf.yield %a, %b": the next values of a loop's variables, or the result of a branch. */
static void read_yield(reader *from, const char *at, const char *end, tide_triton_step *step) {
    tide_triton_program *to = from->to;
    const char *types = tide_triton_find(at, end, " : ");
    const char *last = types != NULL ? types : end;
    if (from->n_blocks == 0 || from->n_blocks > MOST_DEPTH) {
        return;
    }
    block *of = &from->blocks[from->n_blocks - 1];
    for (size_t i = 0; (at = tide_triton_find(at, last, "%")) != NULL; i++) {
        uint32_t value = value_of(from, at);
        at += name_length(at);
        if (of->is_loop && i < of->n_links) {
            to->links[of->first_link + i].next = value;
        } else if (of->result != 0 && i == 0) {
            *step =
                (tide_triton_step){.code = of->has_result ? TIDE_TRITON_SELECT : TIDE_TRITON_SAME,
                                   .result = of->result};
            step->operands[0] = of->has_result ? 0 : value;
            step->operands[1] = value;
            step->operands[2] = of->result;
            of->has_result = true;
        }
    }
}

/* ---- lines ---- */

/* An operation that opens no block. */
static void read_operation(const reader *from, const char *operation, const char *rest,
                           const char *end, tide_triton_step *step) {
    const char *found = tide_triton_find(rest, end, " : ");
    const char *types = found != NULL ? found + strlen(" : ") : rest;
    read_operands(from, rest, end, step);
    read_numbers(rest, end, step);
    step->n_values = tide_triton_values_in(types, end);
    step->value_bytes = tide_triton_value_bytes(types, end);
    if (step->code == TIDE_TRITON_DOT) {
        tide_triton_read_dot(operation, types, end, step);
    } else if (step->code == TIDE_TRITON_COMPARE) {
        step->low = tide_triton_comparison_of(rest);
    } else if (step->code == TIDE_TRITON_LOAD && tide_triton_is_integer(types, end)) {
        step->is_integer = true;
        tide_triton_bound_result(operation, end, step);
    } else if (step->low == 0 && step->high == 0 && step->code != TIDE_TRITON_CONSTANT &&
               step->code != TIDE_TRITON_PROGRAM && step->code != TIDE_TRITON_PROGRAMS) {
        tide_triton_bound_result(operation, end, step);
    }
}

static bool is_word(const char *at, size_t n, const char *word) {
    return n == strlen(word) && memcmp(at, word, n) == 0;
}

/* Arithmetic without another meaning here. */
static bool is_arithmetic(const char *operation, const tide_triton_step *step) {
    return step->code == TIDE_TRITON_UNKNOWN && step->n_values >= FEWEST_SPILLED &&
           (strncmp(operation, "arith.", strlen("arith.")) == 0 ||
            strncmp(operation, "math.", strlen("math.")) == 0) &&
           strncmp(operation, "arith.constant", strlen("arith.constant")) != 0;
}

/* The bytes that arithmetic moves if its operands and its result are not in registers. It is added
 * to the last step of arithmetic of the block, because a text may have thousands of operations. */
static void add_arithmetic(reader *from, const tide_triton_step *step) {
    tide_triton_program *to = from->to;
    uint32_t n_bytes = REGISTER_BYTES; /* of the result */
    for (size_t i = 0; i < TIDE_TRITON_OPERANDS; i++) {
        uint32_t value = step->operands[i];
        n_bytes += value != 0 && !from->names[value - 1].is_uniform ? REGISTER_BYTES : 0;
    }
    bool has_step = from->compute > 0 && to->steps[from->compute - 1].n_values == step->n_values;
    if (has_step) {
        to->steps[from->compute - 1].value_bytes += n_bytes;
    } else if (to->n_steps < MOST_STEPS) {
        to->steps[to->n_steps++] = (tide_triton_step){
            .code = TIDE_TRITON_COMPUTE, .n_values = step->n_values, .value_bytes = n_bytes};
        from->compute = to->n_steps;
    }
}

/* False: it closes the function. */
static bool read_line(reader *from, const char *at, const char *end) {
    tide_triton_program *to = from->to;
    const char *equals = tide_triton_find(at, end, " = ");
    const char *result = *at == '%' && equals != NULL ? at : NULL;
    const char *operation = result != NULL ? equals + strlen(" = ") : at;
    operation += operation < end && *operation == '"';
    size_t n = strcspn(operation, " (\"");
    n = n < (size_t)(end - operation) ? n : (size_t)(end - operation);
    tide_triton_step step = {.code = code_of(operation, n)};
    const char *rest = operation + n;
    bool opens = end[-1] == '{';
    bool closes = *at == '}';
    bool is_loop = step.code == TIDE_TRITON_FOR;
    bool is_else = closes && opens; /* "} else {" */
    if (closes && !opens && from->n_blocks == 0) {
        return false;
    }
    from->compute = opens || closes ? 0 : from->compute;
    if (is_else) {
        step = (tide_triton_step){.code = TIDE_TRITON_ELSE};
    } else if (closes) {
        step.code = TIDE_TRITON_END;
        from->n_blocks--;
    } else if (is_loop) {
        read_loop(from, rest, end, &step);
    } else if (step.code == TIDE_TRITON_IF) {
        read_operands(from, rest, end, &step);
    } else if (opens) { /* a reduction: it runs no more often than the code around it */
        step.code = TIDE_TRITON_FOR;
        step.n_values = is_word(operation, n, "tt.reduce");
    } else if (is_word(operation, n, "scf.yield")) {
        read_yield(from, rest, end, &step);
    } else {
        read_operation(from, operation, rest, end, &step);
    }
    if (!opens && is_arithmetic(operation, &step)) {
        add_arithmetic(from, &step);
    }
    uint32_t value = result != NULL ? new_value(from, result) : 0;
    if (value != 0) {
        from->names[value - 1].is_uniform =
            is_word(operation, n, "tt.splat") || is_word(operation, n, "arith.constant");
    }
    if (is_else) {
        value = 0;
    } else if (opens) {
        open_block(from, &step, value);
    } else if (value != 0) {
        step.result = value;
    }
    bool is_kept = step.code != TIDE_TRITON_UNKNOWN || step.high > step.low;
    if (to->n_steps < MOST_STEPS && is_kept) {
        to->steps[to->n_steps++] = step;
    }
    return true;
}

/* ---- the head ---- */

static bool read_head(reader *from, const char *at) {
    tide_triton_program *to = from->to;
    const char *open = strchr(at, '(');
    const char *end = strstr(at, "attributes");
    const char *line = strchr(at, '\n');
    end = end != NULL && line != NULL && end < line ? end : line;
    if (open == NULL || end == NULL) {
        return false;
    }
    for (at = open; (at = tide_triton_find(at, end, "%")) != NULL;) {
        const char *type = at + name_length(at);
        bool has_type = strncmp(type, ": ", strlen(": ")) == 0;
        type += has_type ? strlen(": ") : 0;
        bool is_pointer = strncmp(type, "!tt.ptr<", strlen("!tt.ptr<")) == 0;
        if (!has_type || to->n_arguments == TIDE_TRITON_ARGUMENTS) {
            return false;
        }
        uint32_t n_bytes = tide_triton_bits_of(is_pointer ? type + strlen("!tt.ptr<") : type) / 8;
        if (n_bytes == 0) { /* such as a descriptor of a tensor */
            return false;
        }
        to->arguments[to->n_arguments].pointed_bytes = is_pointer ? n_bytes : 0;
        to->arguments[to->n_arguments++].n_bytes = is_pointer ? 8 : n_bytes;
        (void)new_value(from, at);
        at = type;
    }
    return true;
}

/* Forms of which the work is not read: functions that are not inlined, loops without a count,
 * descriptors of tensors, products of factors with scales. */
static const char *const UNREAD[] = {"tt.descriptor", "tt.call", "scf.while", "tt.dot_scaled"};

/* A function may return in several places. */
static bool read_all(reader *from, const char *text) {
    const char *head = strstr(text, "tt.func public @");
    bool has_returned = false;
    for (size_t i = 0; i < sizeof(UNREAD) / sizeof(UNREAD[0]); i++) {
        if (strstr(text, UNREAD[i]) != NULL) {
            return false;
        }
    }
    if (head == NULL || !read_head(from, head)) {
        return false;
    }
    for (const char *at = strchr(head, '\n'); at != NULL && at[1] != '\0';) {
        at += 1 + strspn(at + 1, " ");
        const char *end = at + strcspn(at, "\n");
        const char *place = tide_triton_find(at, end, " loc(");
        const char *last = place != NULL ? place : end;
        has_returned = has_returned || strncmp(at, "tt.return", strlen("tt.return")) == 0;
        if (last > at && !read_line(from, at, last)) {
            return has_returned;
        }
        at = *end != '\0' ? end : NULL;
    }
    return false;
}

tide_triton_program *tide_triton_parse(const char *text) {
    tide_triton_program *made = calloc(1, sizeof(*made));
    reader *from = calloc(1, sizeof(*from));
    if (made == NULL || from == NULL) {
        goto fail;
    }
    from->to = made;
    from->names = calloc(MOST_VALUES, sizeof(*from->names));
    made->steps = calloc(MOST_STEPS, sizeof(*made->steps));
    made->links = calloc(MOST_LINKS, sizeof(*made->links));
    if (made->steps == NULL || made->links == NULL || from->names == NULL ||
        !read_all(from, text) || made->n_values == MOST_VALUES || made->n_steps == MOST_STEPS ||
        made->n_links == MOST_LINKS) {
        free(from->names);
        goto fail;
    }
    free(from->names);
    free(from);
    tide_triton_find_what_matters(made);
    tide_triton_step *fitting = realloc(made->steps, (made->n_steps + 1) * sizeof(*fitting));
    made->steps = fitting != NULL ? fitting : made->steps;
    return made;

fail:
    free(from);
    tide_triton_program_free(made);
    return NULL;
}

void tide_triton_program_free(tide_triton_program *program) {
    if (program != NULL) {
        free(program->steps);
        free(program->links);
        free(program);
    }
}
