/* python_versions.c - tests/live/python_offsets.c prints a row from a version's headers. From 3.13
 * on, the interpreter itself says where its fields lie. */
#include "live/python_versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECT_BYTES = 16, NOT_C = -1 };

static const tide_python_version VERSIONS[] = {
    {.minor = 10,
     .thread_c_frame = TIDE_PYTHON_ABSENT,
     .thread_frame = 24,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_locals = 352,
     .frame_instruction = 96,
     .frame_owner = TIDE_PYTHON_ABSENT,
     .owner_c_stack = NOT_C,
     .code_first_line = 40,
     .code_file = 104,
     .code_name = 112,
     .code_lines = 120,
     .code_begin = 48,
     .is_old = true,
     .ascii_head = 48,
     .compact_head = 72},
    {.minor = 11,
     .thread_c_frame = 56,
     .thread_frame = 8,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_locals = 72,
     .frame_instruction = 56,
     .frame_owner = 69,
     .owner_c_stack = NOT_C,
     .code_first_line = 72,
     .code_file = 112,
     .code_name = 128,
     .code_lines = 136,
     .code_begin = 184,
     .ascii_head = 48,
     .compact_head = 72},
    {.minor = 12,
     .thread_c_frame = 56,
     .thread_frame = 0,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_locals = 72,
     .frame_instruction = 56,
     .frame_owner = 70,
     .owner_c_stack = 3,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 128,
     .code_lines = 136,
     .code_begin = 200,
     .ascii_head = 40,
     .compact_head = 56},
};

/* ---- what the interpreter says of itself ---- */

#define COOKIE "xdebugpy"

/* The beginning of _Py_DebugOffsets in 3.13, which lies at the beginning of _PyRuntime. Every field
 * is a number of 64 bits. */
typedef struct debug_offsets {
    char cookie[8];
    uint64_t version; /* PY_VERSION_HEX */
    uint64_t is_free_threaded;
    uint64_t runtime_state[3];
    uint64_t interpreter_state[13];
    uint64_t thread_state[9]; /* size, prev, next, interp, current_frame, ... */
    uint64_t frame[6];        /* size, previous, executable, instr_ptr, localsplus, owner */
    uint64_t code[10];        /* size, filename, name, qualname, linetable, firstlineno, argcount,
                                 localsplusnames, localspluskinds, co_code_adaptive */
    uint64_t object[2];
    uint64_t type[4];
    uint64_t tuple[3];
    uint64_t list[3];
    uint64_t dict[3];
    uint64_t real[2];
    uint64_t integer[3];
    uint64_t bytes[3];
    uint64_t text[4]; /* size, state, length, asciiobject_size */
} debug_offsets;

enum { LARGEST_OFFSET = 1024, VERSION_3_13 = 0x030d };

static bool take(uint64_t from, uint16_t *to) {
    *to = (uint16_t)from;
    return from < LARGEST_OFFSET;
}

/* Fills in what the interpreter says. False: it cannot be true. */
static bool read_offsets(const debug_offsets *from, tide_python_version *to) {
    *to = (tide_python_version){
        .minor = 13, .thread_c_frame = TIDE_PYTHON_ABSENT, .owner_c_stack = 3, .compact_head = 0};
    return take(from->thread_state[4], &to->thread_frame) &&
           take(from->frame[1], &to->frame_previous) && take(from->frame[2], &to->frame_code) &&
           take(from->frame[3], &to->frame_instruction) &&
           take(from->frame[4], &to->frame_locals) && take(from->frame[5], &to->frame_owner) &&
           take(from->code[1], &to->code_file) && take(from->code[3], &to->code_name) &&
           take(from->code[4], &to->code_lines) && take(from->code[5], &to->code_first_line) &&
           take(from->code[9], &to->code_begin) && take(from->text[3], &to->ascii_head) &&
           take(from->text[3] + OBJECT_BYTES, &to->compact_head);
}

static const tide_python_version *version_of_itself(const void *runtime, const char **ret_why) {
    static tide_python_version found; /* the same values, whoever writes them */
    debug_offsets offsets;
    tide_python_version read;
    if (runtime == NULL) {
        *ret_why = "this Python does not say where its frames lie (_PyRuntime is missing)";
        return NULL;
    }
    memcpy(&offsets, runtime, sizeof(offsets));
    if (memcmp(offsets.cookie, COOKIE, sizeof(offsets.cookie)) != 0 ||
        offsets.version >> 16 != VERSION_3_13 || !read_offsets(&offsets, &read)) {
        *ret_why = "this Python does not say where its frames lie (_Py_DebugOffsets is unknown)";
        return NULL;
    }
    if (offsets.is_free_threaded != 0) {
        *ret_why = "frames of a free-threaded Python cannot be read without its locks";
        return NULL;
    }
    found = read;
    return &found;
}

const tide_python_version *tide_python_version_of(const char *version, const void *runtime,
                                                  const char **ret_why) {
    int minor = strncmp(version, "3.", 2) == 0 ? atoi(version + 2) : -1;
    if (minor == 13) {
        return version_of_itself(runtime, ret_why);
    }
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        if (VERSIONS[i].minor == minor) {
            return &VERSIONS[i];
        }
    }
    *ret_why = "frames are known of Python 3.10 to 3.13, and this is another version";
    return NULL;
}
