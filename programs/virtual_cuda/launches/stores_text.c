/* stores_text.c - follows the parameters of a kernel through its registers:
 *
 *   .visible .entry NAME(
 *       .param .u64 .ptr .global .align 1 NAME_param_0,
 *       .param .u32 NAME_param_1
 *   ) ... {
 *       ld.param.b64    %rd1, [NAME_param_0];
 *       mad.wide.s32    %rd2, %r1, 4, %rd1;
 *       @%p1 st.global.v2.b32 [ %rd2 + 0 ], { %r2, %r3 };
 *   }
 *
 * A register depends on all operands of all instructions that set it. The body is read until
 * nothing changes, because a loop reads registers that later lines set. The file is untrusted.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "programs/virtual_cuda/launches/stores.h"

enum { MOST_PARAMETERS = 62, MOST_PASSES = 64, SLOTS = 1 << 16, MOST_REGISTERS = SLOTS / 2 };

/* The origins of a register's value: bit i for parameter i, and this one. */
#define FROM_MEMORY (UINT64_C(1) << 63)

typedef struct word {
    const char *at;
    size_t n;
} word;

typedef struct a_register {
    word name; /* at NULL: the slot is free */
    uint64_t origins;
} a_register;

typedef struct reader {
    word parameters[MOST_PARAMETERS]; /* their names */
    size_t n_parameters;
    uint64_t wide, marked; /* parameters of 8 bytes; those that the text marks as pointers */
    uint64_t arrays;       /* parameters of other sizes, such as structs */
    a_register *registers; /* owned; a hash table of SLOTS */
    size_t n_registers;
    bool is_final;    /* the origins are complete: stores are noted */
    bool has_changed; /* origins, in this pass */
    bool is_unknown;
    uint64_t stores;
} reader;

/* ---- words ---- */

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* The next word between the two; its length is 0 if there is none. */
static word next_word(const char *at, const char *end) {
    word found = {at, 0};
    while (found.at < end && !is_of_word(*found.at)) {
        found.at++;
    }
    while (found.at + found.n < end && is_of_word(found.at[found.n])) {
        found.n++;
    }
    return found;
}

static bool is_same(word a, word b) {
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

static bool has(word in, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= in.n; i++) {
        if (memcmp(in.at + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool begins(word in, const char *part) {
    size_t n = strlen(part);
    return in.n >= n && memcmp(in.at, part, n) == 0;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at)) {
        at++;
    }
    return at;
}

static const char *find_char(const char *at, const char *end, char c) {
    const char *found = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;
    return found != NULL ? found : end;
}

/* ---- registers ---- */

static a_register *slot_of(reader *of, word name) {
    size_t at = (size_t)tide_hash_bytes(name.at, name.n) % SLOTS;
    while (of->registers[at].name.at != NULL && !is_same(of->registers[at].name, name)) {
        at = (at + 1) % SLOTS;
    }
    return &of->registers[at];
}

static void set(reader *to, word name, uint64_t origins) {
    a_register *slot = slot_of(to, name);
    if (slot->name.at == NULL) {
        if (to->n_registers == MOST_REGISTERS) {
            to->is_unknown = true;
            return;
        }
        slot->name = name;
        to->n_registers++;
    }
    to->has_changed = to->has_changed || (origins & ~slot->origins) != 0;
    slot->origins |= origins;
}

/* The origins of all words between the two. */
static uint64_t origins_of(reader *of, const char *at, const char *end) {
    uint64_t origins = 0;
    for (word name = next_word(at, end); name.n > 0; name = next_word(name.at + name.n, end)) {
        origins |= slot_of(of, name)->origins;
        for (size_t i = 0; name.at[0] != '%' && i < of->n_parameters; i++) {
            origins |= is_same(of->parameters[i], name) ? UINT64_C(1) << i : 0;
        }
    }
    return origins;
}

/* ---- instructions ---- */

static bool is_other_space(word code) {
    return has(code, ".shared") || has(code, ".local") || has(code, ".param");
}

static bool is_bulk_store(word code) {
    return begins(code, "cp.") && has(code, ".global.shared") && has(code, ".bulk");
}

static bool is_store(word code) {
    bool writes = begins(code, "st.") || begins(code, "red.") || begins(code, "atom.") ||
                  begins(code, "multimem.") || begins(code, "wmma.store");
    return (writes && !is_other_space(code)) || is_bulk_store(code);
}

/* Stores whose address is not an operand. A function that only prints stores nothing. */
static bool is_opaque(word code, word operands) {
    bool prints = has(operands, "vprintf") || has(operands, "__assertfail");
    return begins(code, "sust.") || begins(code, "sured.") ||
           (is_bulk_store(code) && has(code, ".tensor")) || (begins(code, "call") && !prints);
}

static bool is_load(word code) {
    bool is_plain = begins(code, "ld") && !has(code, ".param");
    return is_plain || begins(code, "atom") || begins(code, "tex") || begins(code, "tld4") ||
           begins(code, "suld") || begins(code, "wmma.load") || begins(code, "tcgen05.ld");
}

/* The address must depend on a pointer of the arguments; any other part of it is an offset. */
static void note_store(reader *to, word operands) {
    const char *end = operands.at + operands.n;
    const char *open = find_char(operands.at, end, '[');
    uint64_t origins = origins_of(to, open, find_char(open, end, ']'));
    uint64_t pointers = origins & to->wide & (to->marked != 0 ? to->marked : UINT64_MAX);
    bool may_be_loaded = (origins & FROM_MEMORY) != 0 && to->marked == 0;
    if (pointers == 0 || (origins & to->arrays) != 0 || may_be_loaded) {
        to->is_unknown = true;
    }
    to->stores |= pointers;
}

/* The first operand is the result: a register, two of them (%p1|%p2), or a list in braces. */
static void note_result(reader *to, word code, word operands) {
    const char *end = operands.at + operands.n;
    const char *at = skip_blanks(operands.at, end);
    if (at == end || *at == '[') {
        return;
    }
    const char *last = *at == '{' ? find_char(at, end, '}') : find_char(at, end, ',');
    uint64_t origins = is_load(code) ? FROM_MEMORY : origins_of(to, last, end);
    for (word name = next_word(at, last); name.n > 0; name = next_word(name.at + name.n, last)) {
        set(to, name, origins);
    }
}

static void read_instruction(reader *to, const char *at, const char *end) {
    if (*at == '@') { /* the predicate of the instruction */
        word predicate = next_word(at, end);
        at = skip_blanks(predicate.at + predicate.n, end);
    }
    word code = {at, 0};
    while (at + code.n < end && !isspace((unsigned char)at[code.n])) {
        code.n++;
    }
    word operands = {at + code.n, (size_t)(end - at) - code.n};
    to->is_unknown = to->is_unknown || is_opaque(code, operands);
    if (to->is_final && is_store(code)) {
        note_store(to, operands);
    }
    note_result(to, code, operands);
}

/* Skips what may precede an instruction: blanks, braces of blocks, labels, and lines of debugging
 * information. */
static const char *skip_to_instruction(const char *at, const char *end) {
    for (;;) {
        at = skip_blanks(at, end);
        word first = {at, (size_t)(end - at)};
        word label = at < end && is_of_word(*at) ? next_word(at, end) : (word){at, 0};
        const char *after = skip_blanks(label.at + label.n, end);
        if (at < end && (*at == '{' || *at == '}')) {
            at++;
        } else if (begins(first, ".loc")) {
            at = find_char(at, end, '\n');
        } else if (label.n > 0 && after + 1 < end && after[0] == ':' && after[1] != ':') {
            at = after + 1;
        } else {
            return at;
        }
    }
}

static void read_body(reader *to, const char *at, const char *end) {
    to->has_changed = false;
    while (!to->is_unknown && (at = skip_to_instruction(at, end)) < end) {
        const char *last = find_char(at, end, ';');
        if (*at != '.') { /* otherwise a declaration */
            read_instruction(to, at, last);
        }
        at = last < end ? last + 1 : end;
    }
}

/* ---- the kernel ---- */

static void add_parameter(reader *to, const char *at, const char *end) {
    word text = {at, (size_t)(end - at)};
    const char *last = find_char(at, end, '[');
    uint64_t bit = UINT64_C(1) << to->n_parameters;
    bool is_wide = has(text, ".u64") || has(text, ".b64") || has(text, ".s64");
    if (!has(text, ".param")) {
        return; /* an empty list */
    }
    if (to->n_parameters == MOST_PARAMETERS) {
        to->is_unknown = true;
        return;
    }
    word *name = &to->parameters[to->n_parameters++];
    for (word next = next_word(at, last); next.n > 0; next = next_word(next.at + next.n, last)) {
        *name = next;
    }
    to->arrays |= last < end ? bit : 0;
    to->wide |= is_wide && last == end ? bit : 0;
    to->marked |= has(text, ".ptr") ? bit : 0;
}

/* Returns the end of the parameters, which begin after `at`; NULL if the text ends before. A kernel
 * without parameters may have no list. */
static const char *read_parameters(reader *to, const char *at, const char *end) {
    const char *body = find_char(at, end, '{');
    at = find_char(at, end, '(');
    if (body < at) {
        return body;
    }
    const char *close = find_char(at, end, ')');
    while (at < close) {
        const char *last = find_char(at + 1, close, ',');
        add_parameter(to, at + 1, last);
        at = last;
    }
    return close < end ? close + 1 : NULL;
}

/* The end of the block that begins at or after `at`. */
static const char *block_end(const char *at, const char *end) {
    size_t depth = 0;
    for (; at < end; at++) {
        depth += *at == '{';
        if (*at == '}' && --depth == 0) {
            return at;
        }
    }
    return end;
}

/* Returns the place after the name of the kernel; NULL if it is missing or ambiguous. */
static const char *find_kernel(const char *text, const char *name) {
    static const char ENTRY[] = ".entry";
    const char *found = NULL;
    const char *end = text + strlen(text);
    for (const char *at = strstr(text, ENTRY); at != NULL; at = strstr(at, ENTRY)) {
        at += strlen(ENTRY);
        word here = next_word(at, end);
        bool is_it = name[0] == '\0' || is_same(here, (word){name, strlen(name)});
        if (is_it && found != NULL) {
            return NULL;
        }
        found = is_it ? here.at + here.n : found;
    }
    return found;
}

static void blank_comments(char *text) {
    for (char *at = strstr(text, "//"); at != NULL; at = strstr(at, "//")) {
        size_t n = strcspn(at, "\n");
        memset(at, ' ', n);
    }
}

static bool read_kernel(reader *to, const char *text, const char *name) {
    const char *at = find_kernel(text, name);
    const char *end = at != NULL ? at + strlen(at) : NULL;
    at = at != NULL ? read_parameters(to, at, end) : NULL;
    if (at == NULL) {
        return false;
    }
    at = find_char(at, end, '{');
    end = block_end(at, end);
    int n_passes = 0;
    do {
        read_body(to, at, end);
    } while (to->has_changed && !to->is_unknown && ++n_passes < MOST_PASSES);
    to->is_final = true;
    read_body(to, at, end);
    return !to->has_changed && !to->is_unknown;
}

bool tide_vc_stores_parse(const char *text, const char *name, tide_vc_stores *ret_stores) {
    reader of = {.registers = calloc(SLOTS, sizeof(*of.registers))};
    size_t n_bytes = strlen(text) + 1;
    char *copy = malloc(n_bytes);
    bool is_read = false;
    if (copy != NULL && of.registers != NULL) {
        memcpy(copy, text, n_bytes);
        blank_comments(copy);
        is_read = read_kernel(&of, copy, name);
    }
    free(copy);
    free(of.registers);
    if (is_read) {
        *ret_stores = of.stores;
    }
    return is_read;
}
