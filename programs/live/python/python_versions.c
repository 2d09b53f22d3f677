/* python_versions.c - the table of offsets, and the offsets that an interpreter exports. */
#include "programs/live/python/python_versions.h"

#include <string.h>

/* Printed by tests/live/python_offsets.c; so far the same in every patch release of a version. */
static const tide_python_layout LAYOUTS[] = {
    {
        .minor = 10,
        .thread_top = 24,
        .frame_is_object = 1,
        .frame_previous = 24,
        .frame_code = 32,
        .frame_at = 96,
        .frame_locals = 352,
        .frame_basic = 360,
        .code_file = 104,
        .code_name = 112,
        .code_instructions = 48,
        .code_basic = 176,
        .code_lines = 120,
        .code_first_line = 40,
        .code_n_arguments = 16,
        .text_length = 16,
        .text_state = 32,
        .text_kind_shift = 2,
        .text_ascii_data = 48,
        .text_compact_data = 72,
        .text_basic = 80,
        .bytes_data = 32,
    },
    {
        .minor = 11,
        .thread_top = 56,
        .top_in_cframe = 1,
        .cframe_frame = 8,
        .frame_previous = 48,
        .frame_code = 32,
        .frame_at = 56,
        .frame_locals = 72,
        .frame_owner = 69,
        .owner_generator = 1,
        .owner_last_shown = 2,
        .owner_last = 2,
        .frame_basic = 120,
        .code_file = 112,
        .code_name = 128,
        .code_first_traceable = 168,
        .code_instructions = 184,
        .code_basic = 184,
        .code_lines = 136,
        .code_first_line = 72,
        .code_n_arguments = 56,
        .text_length = 16,
        .text_state = 32,
        .text_kind_shift = 2,
        .text_ascii_data = 48,
        .text_compact_data = 72,
        .text_basic = 80,
        .bytes_data = 32,
    },
    {
        .minor = 12,
        .thread_top = 56,
        .top_in_cframe = 1,
        .cframe_frame = 0,
        .frame_previous = 8,
        .frame_code = 0,
        .frame_at = 56,
        .frame_locals = 72,
        .frame_owner = 70,
        .owner_generator = 1,
        .owner_last_shown = 2,
        .owner_last = 3,
        .frame_basic = 120,
        .code_file = 112,
        .code_name = 128,
        .code_first_traceable = 176,
        .code_instructions = 192,
        .code_basic = 192,
        .code_lines = 136,
        .code_first_line = 68,
        .code_n_arguments = 52,
        .text_length = 16,
        .text_state = 32,
        .text_kind_shift = 2,
        .text_ascii_data = 40,
        .text_compact_data = 56,
        .text_basic = 64,
        .bytes_data = 32,
    },
    {
        .minor = 13,
        .thread_top = 72,
        .frame_previous = 8,
        .frame_code = 0,
        .frame_at = 56,
        .frame_locals = 72,
        .frame_owner = 70,
        .owner_generator = 1,
        .owner_last_shown = 2,
        .owner_last = 3,
        .frame_basic = 136,
        .code_file = 112,
        .code_name = 128,
        .code_first_traceable = 184,
        .code_instructions = 200,
        .code_basic = 200,
        .code_lines = 136,
        .code_first_line = 68,
        .code_n_arguments = 52,
        .text_length = 16,
        .text_state = 32,
        .text_kind_shift = 2,
        .text_ascii_data = 40,
        .text_compact_data = 56,
        .text_basic = 64,
        .bytes_data = 32,
    },
    {
        .minor = 14,
        .thread_top = 72,
        .frame_previous = 8,
        .frame_code = 0,
        .frame_at = 56,
        .frame_locals = 80,
        .frame_owner = 74,
        .owner_generator = 1,
        .owner_last_shown = 2,
        .owner_last = 4,
        .reference_tags = 3,
        .frame_basic = 152,
        .code_file = 112,
        .code_name = 128,
        .code_first_traceable = 192,
        .code_instructions = 208,
        .code_basic = 208,
        .code_lines = 136,
        .code_first_line = 68,
        .code_n_arguments = 52,
        .text_length = 16,
        .text_state = 32,
        .text_kind_shift = 2,
        .text_ascii_data = 40,
        .text_compact_data = 56,
        .text_basic = 64,
        .bytes_data = 32,
    },
};

const tide_python_layout *tide_python_layout_of(unsigned minor) {
    for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++) {
        if (LAYOUTS[i].minor == minor) {
            return &LAYOUTS[i];
        }
    }
    return NULL;
}

/* The start of _PyRuntime: numbers of 64 bits, in groups that grow from version to version. */
typedef struct told_groups {
    uint16_t minor;      /* of 3.minor */
    uint8_t interpreter; /* numbers in the group */
    uint8_t thread;      /* size, prev, next, interp, current_frame, and others */
    uint8_t frame;       /* size, previous, executable, instr_ptr, localsplus, owner, and others */
    uint8_t code;   /* size, filename, name, qualname, linetable, firstlineno, argcount, names and
                       kinds of locals, co_code_adaptive, and others */
    uint8_t others; /* of tuples, lists, sets, dictionaries and numbers */
} told_groups;

static const told_groups GROUPS[] = {{13, 13, 9, 6, 10, 14}, {14, 16, 9, 8, 11, 18}};

enum {
    TOLD_VERSION = 1, /* PY_VERSION_HEX; before it, the cookie */
    TOLD_FREE_THREADED = 2,
    TOLD_INTERPRETER = 6, /* after 3 of the runtime */
    N_TOLD_OBJECT = 2,    /* size, ob_type */
    N_TOLD_TYPE = 4,      /* size, tp_name, tp_repr, tp_flags */
    N_TOLD_BYTES = 3,     /* size, ob_size, ob_sval */
    N_TOLD_TEXT = 4,      /* size, state, length, asciiobject_size */
    MAX_TOLD = 128,
    LARGEST_OFFSET = 4096
};

/* Copies one number. False: it is too large for an offset. */
static bool take(uint64_t number, uint16_t *to) {
    *to = (uint16_t)number;
    return number <= LARGEST_OFFSET;
}

/* Copies the numbers. False: they are implausible. */
static bool take_all(const uint64_t *told, const told_groups *groups, tide_python_layout *to) {
    const uint64_t *thread = told + TOLD_INTERPRETER + groups->interpreter;
    const uint64_t *frame = thread + groups->thread;
    const uint64_t *code = frame + groups->frame;
    const uint64_t *object = code + groups->code;
    const uint64_t *type = object + N_TOLD_OBJECT;
    const uint64_t *bytes = type + N_TOLD_TYPE + groups->others;
    const uint64_t *text = bytes + N_TOLD_BYTES;
    return take(thread[4], &to->thread_top) && take(frame[1], &to->frame_previous) &&
           take(frame[2], &to->frame_code) && take(frame[3], &to->frame_at) &&
           take(frame[4], &to->frame_locals) && take(frame[5], &to->frame_owner) &&
           take(code[1], &to->code_file) && take(code[3], &to->code_name) &&
           take(code[4], &to->code_lines) && take(code[5], &to->code_first_line) &&
           take(code[6], &to->code_n_arguments) && take(code[9], &to->code_instructions) &&
           take(bytes[2], &to->bytes_data) && take(text[1], &to->text_state) &&
           take(text[2], &to->text_length) && take(text[3], &to->text_ascii_data) &&
           object[1] == TIDE_PYTHON_TYPE && bytes[1] == TIDE_PYTHON_SIZE &&
           type[3] == TIDE_PYTHON_TYPE_FLAGS;
}

const char *tide_python_layout_refine(tide_python_layout *layout, const void *runtime) {
    uint64_t told[MAX_TOLD] = {0};
    tide_python_layout refined = *layout;
    const told_groups *groups = NULL;
    for (size_t i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
        groups = GROUPS[i].minor == layout->minor ? &GROUPS[i] : groups;
    }
    /* The cookie first: a runtime without one may be smaller than the whole table. */
    if (groups == NULL || runtime == NULL || memcmp(runtime, "xdebugpy", 8) != 0) {
        return "this build of Python does not show where it keeps its frames";
    }
    size_t n = (size_t)TOLD_INTERPRETER + groups->interpreter + groups->thread + groups->frame +
               groups->code + groups->others + N_TOLD_OBJECT + N_TOLD_TYPE + N_TOLD_BYTES +
               N_TOLD_TEXT;
    memcpy(told, runtime, (n < MAX_TOLD ? n : MAX_TOLD) * sizeof(told[0]));
    if (told[TOLD_FREE_THREADED] != 0) {
        return "frames of a free-threaded Python are not read";
    }
    if (told[TOLD_VERSION] >> 16 != (0x0300U | layout->minor)) {
        return "this build of Python reports another version of its frames than its own";
    }
    if (!take_all(told, groups, &refined)) {
        return "what this build of Python reports of its frames cannot be true";
    }
    /* Two offsets are not exported, but have a fixed distance from exported ones. */
    refined.code_first_traceable =
        (uint16_t)(refined.code_instructions -
                   (layout->code_instructions - layout->code_first_traceable));
    refined.text_compact_data =
        (uint16_t)(refined.text_ascii_data + (layout->text_compact_data - layout->text_ascii_data));
    *layout = refined;
    return NULL;
}
