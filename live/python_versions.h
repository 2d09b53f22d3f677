/* python_versions.h - where the fields of CPython's objects lie, by version.
 */
#ifndef TIDE_LIVE_PYTHON_VERSIONS_H
#define TIDE_LIVE_PYTHON_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets in bytes. TIDE_PYTHON_ABSENT: this version has no such field. */
#define TIDE_PYTHON_ABSENT UINT16_MAX

typedef struct tide_python_version {
    int minor; /* of 3.x */
    /* The thread's state leads to the innermost frame, directly or through the C frame. */
    uint16_t thread_c_frame; /* PyThreadState.cframe; ABSENT: */
    uint16_t thread_frame;   /* current_frame in the C frame, or else in PyThreadState */
    /* A frame: _PyInterpreterFrame, or PyFrameObject before 3.11. */
    uint16_t frame_previous, frame_code, frame_locals;
    uint16_t frame_instruction; /* a pointer; before 3.11 an int that counts instructions */
    uint16_t frame_owner;       /* a char */
    int owner_c_stack;          /* the owner of frames that stand for C code; -1: there are none */
    /* PyCodeObject. */
    uint16_t code_first_line, code_file, code_name, code_lines;
    uint16_t code_begin; /* of the instructions; before 3.11 a pointer to a bytes object */
    bool is_old;         /* before 3.11: frames are objects, and the table of lines is another */
    /* PyUnicodeObject: the bytes behind the head. */
    uint16_t ascii_head, compact_head;
} tide_python_version;

/* The layout of the interpreter in this process. NULL: *ret_why says what is not known; a text that
 * stays. */
const tide_python_version *tide_python_version_of(const char *version, const void *runtime,
                                                  const char **ret_why);

#endif
