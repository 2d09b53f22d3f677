/* python_versions.c - the table of offsets, and what an interpreter tells of itself. */
#include "live/python_versions.h"

#include <string.h>

/* Printed by tests/live/python_offsets.c; the same in every patch release of a version so far. */
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
};

const tide_python_layout *tide_python_layout_of(unsigned minor) {
    for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++) {
        if (LAYOUTS[i].minor == minor) {
            return &LAYOUTS[i];
        }
    }
    return NULL;
}

/* The start of _PyRuntime in 3.13: numbers of 64 bits in this order. */
enum {
    DEBUG_COOKIE,
    DEBUG_VERSION, /* PY_VERSION_HEX */
    DEBUG_FREE_THREADED,
    DEBUG_RUNTIME,                         /* 3 */
    DEBUG_INTERPRETER = DEBUG_RUNTIME + 3, /* 13 */
    DEBUG_THREAD = DEBUG_INTERPRETER + 13, /* size, prev, next, interp, current_frame and 4 more */
    DEBUG_FRAME = DEBUG_THREAD + 9,  /* size, previous, executable, instr_ptr, localsplus, owner */
    DEBUG_CODE = DEBUG_FRAME + 6,    /* 10, of which 0 size, 1 file ... */
    DEBUG_OBJECT = DEBUG_CODE + 10,  /* size, ob_type */
    DEBUG_TYPE = DEBUG_OBJECT + 2,   /* size, tp_name, tp_repr, tp_flags */
    DEBUG_OTHERS = DEBUG_TYPE + 4,   /* tuple 3, list 3, dict 3, float 2, long 3 */
    DEBUG_BYTES = DEBUG_OTHERS + 14, /* size, ob_size, ob_sval */
    DEBUG_TEXT = DEBUG_BYTES + 3,    /* size, state, length, asciiobject_size */
    N_DEBUG = DEBUG_TEXT + 4
};

/* Which of the interpreter's numbers goes where. */
static const struct {
    uint16_t number; /* index in the interpreter's numbers */
    uint16_t field;  /* in the layout, of 16 bits */
} TOLD[] = {
    {DEBUG_THREAD + 4, offsetof(tide_python_layout, thread_top)},
    {DEBUG_FRAME + 1, offsetof(tide_python_layout, frame_previous)},
    {DEBUG_FRAME + 2, offsetof(tide_python_layout, frame_code)},
    {DEBUG_FRAME + 3, offsetof(tide_python_layout, frame_at)},
    {DEBUG_FRAME + 4, offsetof(tide_python_layout, frame_locals)},
    {DEBUG_FRAME + 5, offsetof(tide_python_layout, frame_owner)},
    {DEBUG_CODE + 1, offsetof(tide_python_layout, code_file)},
    {DEBUG_CODE + 3, offsetof(tide_python_layout, code_name)},
    {DEBUG_CODE + 4, offsetof(tide_python_layout, code_lines)},
    {DEBUG_CODE + 5, offsetof(tide_python_layout, code_first_line)},
    {DEBUG_CODE + 6, offsetof(tide_python_layout, code_n_arguments)},
    {DEBUG_CODE + 9, offsetof(tide_python_layout, code_instructions)},
    {DEBUG_BYTES + 2, offsetof(tide_python_layout, bytes_data)},
    {DEBUG_TEXT + 1, offsetof(tide_python_layout, text_state)},
    {DEBUG_TEXT + 2, offsetof(tide_python_layout, text_length)},
    {DEBUG_TEXT + 3, offsetof(tide_python_layout, text_ascii_data)},
};

const char *tide_python_layout_refine(tide_python_layout *layout, const void *runtime) {
    uint64_t told[N_DEBUG];
    tide_python_layout refined = *layout;
    /* The cookie first: there may be less than the whole behind a runtime that has none. */
    if (runtime == NULL || memcmp(runtime, "xdebugpy", 8) != 0) {
        return "this build of Python does not tell where it keeps its frames";
    }
    memcpy(told, runtime, sizeof(told));
    if (told[DEBUG_FREE_THREADED] != 0) {
        return "frames of a free-threaded Python are not read";
    }
    if (told[DEBUG_VERSION] >> 16 != (0x0300u | layout->minor)) {
        return "this build of Python tells another version of its frames than its own";
    }
    if (told[DEBUG_OBJECT + 1] != TIDE_PYTHON_TYPE || told[DEBUG_BYTES + 1] != TIDE_PYTHON_SIZE ||
        told[DEBUG_TYPE + 3] != TIDE_PYTHON_TYPE_FLAGS) {
        return "this build of Python lays its objects out in a way that is not known";
    }
    for (size_t i = 0; i < sizeof(TOLD) / sizeof(TOLD[0]); i++) {
        uint64_t number = told[TOLD[i].number];
        if (number > 4096) {
            return "this build of Python tells an offset that cannot be one";
        }
        uint16_t field = (uint16_t)number;
        memcpy((char *)&refined + TOLD[i].field, &field, sizeof(field));
    }
    /* Two that it does not tell stand beside ones that it does. */
    refined.code_first_traceable =
        (uint16_t)(refined.code_instructions -
                   (layout->code_instructions - layout->code_first_traceable));
    refined.text_compact_data =
        (uint16_t)(refined.text_ascii_data + (layout->text_compact_data - layout->text_ascii_data));
    *layout = refined;
    return NULL;
}
