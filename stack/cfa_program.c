/* cfa_program.c - a machine for the call frame instructions of DWARF 5, section 6.4.2.
 *
 * The instructions describe a table: for each address of a function, where the caller's frame is
 * and where its registers were saved. Only the row of one address is needed, and of that row only
 * the part that a rule can hold, so the machine keeps three registers and ignores the others.
 */
#include "stack/cfa_program_internal.h"

enum { MAX_REMEMBERED = 8 }; /* compilers nest at most two */

/* DWARF 5, table 7.29. The last two are GNU extensions. */
enum {
    CFA_ADVANCE_LOC = 0x40, /* this one and the next two hold their operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_OPERAND = 0x3f,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f
};

/* Where the caller's value of a register is. */
typedef enum place { SAME, AT_OFFSET, UNDEFINED, ELSEWHERE } place;

typedef struct saved_register {
    place place;
    int64_t offset; /* from the CFA, in bytes; AT_OFFSET only */
} saved_register;

/* One row of the table that the program describes. */
typedef struct row {
    bool is_expression; /* the CFA is a DWARF expression; the next two are undefined */
    uint64_t cfa_register;
    int64_t cfa_offset; /* bytes */
    saved_register rbp, rsp, return_address;
} row;

typedef struct machine {
    const tide_cfa_program *program; /* borrowed */
    row now;
    row initial; /* after the common instructions */
    row remembered[MAX_REMEMBERED];
    size_t n_remembered;
    uint64_t location; /* bytes from the start of the function */
    bool is_done;      /* the remaining rows belong to later addresses */
} machine;

uint64_t tide_cfa_read(tide_cfa_reader *reader, size_t n_bytes) {
    if (reader->is_bad || (size_t)(reader->end - reader->next) < n_bytes) {
        reader->is_bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        value |= (uint64_t)reader->next[i] << (8 * i);
    }
    reader->next += n_bytes;
    return value;
}

/* The bits of a LEB128 number and the count of bits. The caller extends the sign if there is one.
 * Bits beyond 64 are dropped; no offset or register number needs them. */
static uint64_t read_leb(tide_cfa_reader *reader, unsigned *ret_n_bits) {
    uint64_t value = 0;
    unsigned n_bits = 0;
    uint64_t byte = 0;
    do {
        byte = tide_cfa_read(reader, 1);
        if (n_bits < 64) {
            value |= (byte & 0x7f) << n_bits;
        }
        n_bits += 7;
    } while ((byte & 0x80) != 0);
    *ret_n_bits = n_bits;
    return value;
}

uint64_t tide_cfa_read_uleb(tide_cfa_reader *reader) {
    unsigned n_bits = 0;
    return read_leb(reader, &n_bits);
}

int64_t tide_cfa_read_sleb(tide_cfa_reader *reader) {
    unsigned n_bits = 0;
    uint64_t value = read_leb(reader, &n_bits);
    if (n_bits < 64 && (value >> (n_bits - 1) & 1) != 0) {
        value |= UINT64_MAX << n_bits;
    }
    return (int64_t)value;
}

void tide_cfa_skip(tide_cfa_reader *reader, uint64_t n_bytes) {
    if (reader->is_bad || n_bytes > (uint64_t)(reader->end - reader->next)) {
        reader->is_bad = true;
        return;
    }
    reader->next += n_bytes;
}

/* NULL for a register that no walk needs. */
static saved_register *find_register(row *r, uint64_t number) {
    switch (number) {
    case TIDE_CFA_RBP:
        return &r->rbp;
    case TIDE_CFA_RSP:
        return &r->rsp;
    case TIDE_CFA_RETURN_ADDRESS:
        return &r->return_address;
    default:
        return NULL;
    }
}

static void set_register(machine *m, uint64_t number, place where, int64_t offset) {
    saved_register *saved = find_register(&m->now, number);
    if (saved != NULL) {
        *saved = (saved_register){where, offset};
    }
}

static void restore_register(machine *m, uint64_t number) {
    saved_register *saved = find_register(&m->now, number);
    if (saved != NULL) {
        *saved = *find_register(&m->initial, number);
    }
}

/* Unsigned, so that an absurd product wraps around instead of being undefined behaviour. The result
 * is an offset that rule_of refuses, or an offset that was already wrong in the table. */
static int64_t scaled(const machine *m, uint64_t factor) {
    return (int64_t)(factor * (uint64_t)m->program->data_alignment);
}

static void advance(machine *m, uint64_t n_units) {
    m->location += n_units * m->program->code_alignment;
    m->is_done = m->location > m->program->n_code_bytes;
}

static void define_cfa(machine *m, uint64_t number, int64_t offset) {
    m->now.is_expression = false;
    m->now.cfa_register = number;
    m->now.cfa_offset = offset;
}

/* Runs an instruction about the CFA. False if it is another instruction. */
static bool run_cfa(machine *m, tide_cfa_reader *reader, uint64_t opcode) {
    switch (opcode) {
    case CFA_DEF_CFA: {
        uint64_t number = tide_cfa_read_uleb(reader);
        define_cfa(m, number, (int64_t)tide_cfa_read_uleb(reader));
        return true;
    }
    case CFA_DEF_CFA_SF: {
        uint64_t number = tide_cfa_read_uleb(reader);
        define_cfa(m, number, scaled(m, (uint64_t)tide_cfa_read_sleb(reader)));
        return true;
    }
    case CFA_DEF_CFA_REGISTER:
        m->now.cfa_register = tide_cfa_read_uleb(reader);
        return true;
    case CFA_DEF_CFA_OFFSET:
        m->now.cfa_offset = (int64_t)tide_cfa_read_uleb(reader);
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        m->now.cfa_offset = scaled(m, (uint64_t)tide_cfa_read_sleb(reader));
        return true;
    case CFA_DEF_CFA_EXPRESSION:
        m->now.is_expression = true;
        tide_cfa_skip(reader, tide_cfa_read_uleb(reader));
        return true;
    default:
        return false;
    }
}

/* Runs an instruction about one register. False if it is another instruction. The operands of
 * unneeded registers are read as well, because the next instruction begins after them. */
static bool run_register(machine *m, tide_cfa_reader *reader, uint64_t opcode) {
    uint64_t number = 0;
    if (opcode < CFA_OFFSET_EXTENDED || opcode == CFA_REMEMBER_STATE ||
        opcode == CFA_RESTORE_STATE ||
        (opcode > CFA_VAL_EXPRESSION && opcode != CFA_GNU_NEGATIVE_OFFSET_EXTENDED)) {
        return false;
    }
    number = tide_cfa_read_uleb(reader);
    switch (opcode) {
    case CFA_OFFSET_EXTENDED:
        set_register(m, number, AT_OFFSET, scaled(m, tide_cfa_read_uleb(reader)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_register(m, number, AT_OFFSET, scaled(m, (uint64_t)tide_cfa_read_sleb(reader)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_register(m, number, AT_OFFSET, -scaled(m, tide_cfa_read_uleb(reader)));
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_register(m, number);
        return true;
    case CFA_UNDEFINED:
        set_register(m, number, UNDEFINED, 0);
        return true;
    case CFA_SAME_VALUE:
        set_register(m, number, SAME, 0);
        return true;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
        (void)tide_cfa_read_uleb(reader);
        break;
    case CFA_VAL_OFFSET_SF:
        (void)tide_cfa_read_sleb(reader);
        break;
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
        tide_cfa_skip(reader, tide_cfa_read_uleb(reader));
        break;
    default:
        return false;
    }
    set_register(m, number, ELSEWHERE, 0);
    return true;
}

/* Runs any other instruction. The length of an unknown instruction is unknown, so nothing after it
 * can be read: the reader becomes bad. */
static void run_extended(machine *m, tide_cfa_reader *reader, uint64_t opcode) {
    if (run_cfa(m, reader, opcode) || run_register(m, reader, opcode)) {
        return;
    }
    switch (opcode) {
    case CFA_NOP:
        break;
    case CFA_ADVANCE_LOC1:
        advance(m, tide_cfa_read(reader, 1));
        break;
    case CFA_ADVANCE_LOC2:
        advance(m, tide_cfa_read(reader, 2));
        break;
    case CFA_ADVANCE_LOC4:
        advance(m, tide_cfa_read(reader, 4));
        break;
    case CFA_GNU_ARGS_SIZE:
        (void)tide_cfa_read_uleb(reader);
        break;
    case CFA_REMEMBER_STATE:
        if (m->n_remembered == MAX_REMEMBERED) {
            reader->is_bad = true;
            break;
        }
        m->remembered[m->n_remembered++] = m->now;
        break;
    case CFA_RESTORE_STATE:
        if (m->n_remembered == 0) {
            reader->is_bad = true;
            break;
        }
        m->now = m->remembered[--m->n_remembered];
        break;
    default: /* among them CFA_SET_LOC, which compilers for x86-64 do not write */
        reader->is_bad = true;
    }
}

/* False: the instructions cannot be read. */
static bool run(machine *m, tide_byte_range instructions) {
    tide_cfa_reader reader = {.next = instructions.begin, .end = instructions.end};
    while (!m->is_done && !reader.is_bad && reader.next < reader.end) {
        uint64_t opcode = tide_cfa_read(&reader, 1);
        uint64_t operand = opcode & CFA_OPERAND;
        switch (opcode & (0xff & ~(unsigned)CFA_OPERAND)) {
        case CFA_ADVANCE_LOC:
            advance(m, operand);
            break;
        case CFA_OFFSET:
            set_register(m, operand, AT_OFFSET, scaled(m, tide_cfa_read_uleb(&reader)));
            break;
        case CFA_RESTORE:
            restore_register(m, operand);
            break;
        default:
            run_extended(m, &reader, opcode);
        }
    }
    return !reader.is_bad;
}

/* The row as a rule, if it has the shape that compilers give ordinary functions. */
static tide_unwind_rule rule_of(const row *r) {
    /* A packed rule has 28 bits for an offset, with its sign (unwind_rules_internal.h). */
    enum { WORD_BYTES = 8, MAX_OFFSET = 1 << 27 };
    const tide_unwind_rule other = {.kind = TIDE_UNWIND_OTHER};
    /* This is how the outermost functions (_start, clone) mark that they have no caller. */
    if (r->return_address.place == UNDEFINED) {
        return (tide_unwind_rule){.kind = TIDE_UNWIND_END};
    }
    bool is_known = !r->is_expression && r->rsp.place == SAME &&
                    (r->cfa_register == TIDE_CFA_RSP || r->cfa_register == TIDE_CFA_RBP) &&
                    r->return_address.place == AT_OFFSET &&
                    r->return_address.offset == -WORD_BYTES &&
                    (r->rbp.place == SAME || r->rbp.place == AT_OFFSET);
    if (!is_known || r->cfa_offset <= -MAX_OFFSET || r->cfa_offset >= MAX_OFFSET ||
        r->rbp.offset <= -MAX_OFFSET || r->rbp.offset >= MAX_OFFSET) {
        return other;
    }
    return (tide_unwind_rule){.kind = r->cfa_register == TIDE_CFA_RSP ? TIDE_UNWIND_RSP
                                                                      : TIDE_UNWIND_RBP,
                              .cfa_offset = (int32_t)r->cfa_offset,
                              .saves_rbp = r->rbp.place == AT_OFFSET,
                              .rbp_offset = (int32_t)r->rbp.offset};
}

tide_unwind_rule tide_cfa_run(const tide_cfa_program *program) {
    /* Until an instruction defines the CFA it is unknown: rule_of then answers "other". */
    machine m = {.program = program, .now = {.is_expression = true}};
    if (!run(&m, program->common) || m.is_done) {
        return (tide_unwind_rule){.kind = TIDE_UNWIND_OTHER};
    }
    m.initial = m.now; /* CFA_RESTORE returns to this */
    if (!run(&m, program->own)) {
        return (tide_unwind_rule){.kind = TIDE_UNWIND_OTHER};
    }
    return rule_of(&m.now);
}
