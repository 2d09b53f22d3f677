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

enum { MOST_VALUES = 8192, MOST_STEPS = 8192 };

typedef struct name {
    const char *at;
    size_t n;
} name;

typedef struct reader {
    tide_triton_program *to;
    name *names; /* owned; value i + 1 has name i */
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
                  {"arith.maxsi", TIDE_TRITON_MOST},
                  {"arith.select", TIDE_TRITON_SELECT},
                  {"arith.extsi", TIDE_TRITON_SAME},
                  {"arith.extui", TIDE_TRITON_SAME},
                  {"arith.trunci", TIDE_TRITON_SAME},
                  {"arith.index_cast", TIDE_TRITON_SAME},
                  {"tt.splat", TIDE_TRITON_SAME},
                  {"tt.expand_dims", TIDE_TRITON_SAME},
                  {"tt.broadcast", TIDE_TRITON_SAME},
                  {"tt.reshape", TIDE_TRITON_SAME},
                  {"tt.addptr", TIDE_TRITON_ADD},
                  {"tt.load", TIDE_TRITON_LOAD},
                  {"tt.store", TIDE_TRITON_STORE},
                  {"tt.atomic_rmw", TIDE_TRITON_STORE},
                  {"arith.constant", TIDE_TRITON_CONSTANT},
                  {"tt.make_range", TIDE_TRITON_RANGE},
                  {"tt.get_program_id", TIDE_TRITON_PROGRAM},
                  {"tt.get_num_programs", TIDE_TRITON_PROGRAMS},
                  {"scf.for", TIDE_TRITON_FOR}};

static uint32_t bits_of(const char *type) {
    unsigned bits = 0;
    if (strncmp(type, "f8", 2) == 0) {
        return 8;
    }
    if (sscanf(type, "bf%u", &bits) != 1 && sscanf(type, "f%u", &bits) != 1 &&
        sscanf(type, "i%u", &bits) != 1) {
        return 0;
    }
    return bits < 8 ? 8 : bits; /* a truth value takes a byte */
}

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
    from->names[from->to->n_values++] = (name){at, name_length(at)};
    return (uint32_t)from->to->n_values;
}

/* ---- lines ---- */

/* Searches only up to the end of the line, because a text may have many lines. */
static const char *find_in(const char *from, const char *end, const char *part) {
    size_t n = strlen(part);
    while (from < end && (size_t)(end - from) >= n) {
        from = memchr(from, part[0], (size_t)(end - from) - n + 1);
        if (from == NULL || memcmp(from, part, n) == 0) {
            return from;
        }
        from++;
    }
    return NULL;
}

/* Of "tensor<1x64x!tt.ptr<bf16>>", 64; of "!tt.ptr<bf16>", 1. */
static uint64_t values_in(const char *type, const char *end) {
    const char *at = find_in(type, end, "tensor<");
    const char *pointer = find_in(type, end, "!tt.ptr");
    uint64_t n = 1;
    if (at == NULL || (pointer != NULL && pointer < at)) {
        return n;
    }
    for (at += strlen("tensor<"); *at >= '0' && *at <= '9';) {
        char *after = NULL;
        n *= strtoull(at, &after, 10);
        at = *after == 'x' ? after + 1 : after;
    }
    return n;
}

static void read_operands(const reader *from, const char *at, const char *end,
                          tide_triton_step *step) {
    const char *types = find_in(at, end, " : ");
    const char *last = types != NULL ? types : end;
    for (size_t i = 0; i < TIDE_TRITON_OPERANDS; i++) {
        at = find_in(at, last, "%");
        if (at == NULL) {
            return;
        }
        step->operands[i] = value_of(from, at);
        at += name_length(at);
    }
}

static void read_numbers(const char *at, const char *end, tide_triton_step *step) {
    const char *dense = find_in(at, end, "dense<");
    const char *number = dense != NULL ? dense + strlen("dense<") : at + strspn(at, " ");
    const char *low = find_in(at, end, "start = ");
    const char *high = find_in(at, end, "end = ");
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
    default:
        step->low = *number == 'y' ? 1 : *number == 'z' ? 2 : 0;
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

/* The loop-carried variables are unknown, because they change in each iteration. */
static void read_loop(reader *from, const char *at, const char *end, tide_triton_step *step) {
    const char *others = find_in(at, end, "iter_args(");
    const char *equals = find_in(at, end, "=");
    if (equals != NULL) {
        read_operands(from, equals, others != NULL ? others : end, step);
    }
    step->result = new_value(from, at + strspn(at, " "));
    for (at = others; at != NULL && (at = find_in(at, end, "%")) != NULL; at += name_length(at)) {
        if (strncmp(at + name_length(at), " = ", 3) == 0) {
            (void)new_value(from, at);
        }
    }
}

static void read_line(reader *from, const char *at, const char *end) {
    tide_triton_program *to = from->to;
    const char *equals = find_in(at, end, " = ");
    const char *result = *at == '%' && equals != NULL ? at : NULL;
    const char *operation = result != NULL ? equals + strlen(" = ") : at;
    operation += operation < end && *operation == '"';
    size_t n = strcspn(operation, " (\"");
    n = n < (size_t)(end - operation) ? n : (size_t)(end - operation);
    tide_triton_step step = {.code = code_of(operation, n)};
    const char *rest = operation + n;
    bool opens = end[-1] == '{';
    bool closes = *at == '}';
    if (opens && closes) { /* "} else {" */
        return;
    }
    if (closes) {
        step.code = TIDE_TRITON_END;
    } else if (step.code == TIDE_TRITON_FOR) {
        read_loop(from, rest, end, &step);
    } else if (opens) { /* an if or a reduction: it runs no more often than the code around it */
        step.code = TIDE_TRITON_FOR;
    } else if (step.code != TIDE_TRITON_UNKNOWN) {
        const char *types = find_in(rest, end, " : ");
        read_operands(from, rest, end, &step);
        read_numbers(rest, end, &step);
        step.n_values = values_in(types != NULL ? types : rest, end);
    }
    if (result != NULL && step.code != TIDE_TRITON_FOR) {
        step.result = new_value(from, result);
    } else if (result != NULL) {
        (void)new_value(from, result);
    }
    if (to->n_steps < MOST_STEPS && step.code != TIDE_TRITON_UNKNOWN) {
        to->steps[to->n_steps++] = step;
    }
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
    for (at = open; (at = find_in(at, end, "%")) != NULL;) {
        const char *type = at + name_length(at);
        bool has_type = strncmp(type, ": ", strlen(": ")) == 0;
        type += has_type ? strlen(": ") : 0;
        bool is_pointer = strncmp(type, "!tt.ptr<", strlen("!tt.ptr<")) == 0;
        if (!has_type || to->n_arguments == TIDE_TRITON_ARGUMENTS) {
            return false;
        }
        uint32_t n_bytes = bits_of(is_pointer ? type + strlen("!tt.ptr<") : type) / 8;
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

static bool read_all(reader *from, const char *text) {
    const char *head = strstr(text, "tt.func public @");
    if (head == NULL || strstr(text, "tt.dot") != NULL || strstr(text, "tt.descriptor") != NULL ||
        strstr(text, "tt.call") != NULL || strstr(text, "scf.while") != NULL ||
        !read_head(from, head)) {
        return false;
    }
    for (const char *at = strchr(head, '\n'); at != NULL && at[1] != '\0';) {
        at += 1 + strspn(at + 1, " ");
        const char *end = at + strcspn(at, "\n");
        const char *place = find_in(at, end, " loc(");
        if (strncmp(at, "tt.return", strlen("tt.return")) == 0) {
            return true;
        }
        const char *last = place != NULL ? place : end;
        if (last > at) {
            read_line(from, at, last);
        }
        at = *end != '\0' ? end : NULL;
    }
    return false;
}

tide_triton_program *tide_triton_parse(const char *text) {
    tide_triton_program *made = calloc(1, sizeof(*made));
    reader from = {.to = made, .names = calloc(MOST_VALUES, sizeof(*from.names))};
    if (made != NULL) {
        made->steps = calloc(MOST_STEPS, sizeof(*made->steps));
    }
    bool is_read = made != NULL && made->steps != NULL && from.names != NULL &&
                   read_all(&from, text) && made->n_values < MOST_VALUES &&
                   made->n_steps < MOST_STEPS;
    free(from.names);
    if (is_read) {
        tide_triton_step *fitting = realloc(made->steps, (made->n_steps + 1) * sizeof(*fitting));
        made->steps = fitting != NULL ? fitting : made->steps;
        return made;
    }
    if (made != NULL) {
        free(made->steps);
    }
    free(made);
    return NULL;
}
