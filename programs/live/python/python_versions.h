/* python_versions.h - where each version of CPython keeps the data that the frame walker reads.
 *
 * tests/live/python_offsets.c prints the table's rows from a version's internal headers. From 3.13
 * on the interpreter exports most of these numbers (_Py_DebugOffsets, at the start of the exported
 * _PyRuntime), and these are used. The sizes that every interpreter writes into its types are
 * compared with the row first, so a build with other structures (debug builds that trace
 * references, for one) is refused rather than misread.
 */
#ifndef TIDE_LIVE_PYTHON_VERSIONS_H
#define TIDE_LIVE_PYTHON_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Offsets are in bytes from the start of the structure. */
typedef struct tide_python_layout {
    uint16_t minor; /* of 3.minor */

    uint16_t thread_top;   /* in the thread's state: the innermost frame, or a pointer to it */
    bool top_in_cframe;    /* thread_top points to a cframe, which has the frame */
    uint16_t cframe_frame; /* in the cframe: the innermost frame */

    bool frame_is_object;    /* 3.10: frames are objects, instructions numbers */
    uint16_t frame_previous; /* in the frame: its caller */
    uint16_t frame_code;     /* code object */
    uint16_t frame_at;       /* instruction: address (3.11 and later), or number */
    uint16_t frame_locals;   /* first local variable */
    uint16_t frame_owner;    /* the frame's owner: a byte; absent if frame_is_object */

    uint8_t owner_generator;  /* values of the owner: a generator, whose frame is always complete */
    uint8_t owner_last_shown; /* above it: the interpreter's own frames, which are hidden */
    uint8_t owner_last;       /* above it: not a frame */
    uint8_t reference_tags;   /* bits of a frame's reference outside the address (3.14) */

    uint16_t code_file;            /* in the code object: text of the file's name */
    uint16_t code_name;            /* text of the qualified name, or the plain name */
    uint16_t code_first_traceable; /* number of the first instruction of a complete frame, an int */
    uint16_t code_instructions;    /* the instructions; if frame_is_object, their bytes object */
    uint16_t code_lines;           /* bytes object: table of lines */
    uint16_t code_first_line;      /* an int */
    uint16_t code_n_arguments;     /* an int: positional arguments */

    uint16_t text_length;       /* in a text object: characters */
    uint16_t text_state;        /* 32 bits: kind (3 bits), compact, ascii */
    uint16_t text_kind_shift;   /* where the kind begins in the state */
    uint16_t text_ascii_data;   /* characters of compact ASCII text */
    uint16_t text_compact_data; /* characters of other compact text; for non-compact text, the
                                 * pointer to its characters */
    uint16_t bytes_data;        /* in a bytes object: the bytes */

    uint16_t code_basic;  /* tp_basicsize of the type of code objects */
    uint16_t frame_basic; /* of frame objects */
    uint16_t text_basic;  /* of text */
} tide_python_layout;

enum {
    /* The same in every known version, without free threading. */
    TIDE_PYTHON_TYPE = 8,        /* in an object: its type */
    TIDE_PYTHON_SIZE = 16,       /* in an object of variable length: number of items */
    TIDE_PYTHON_BASIC_SIZE = 32, /* in a type: tp_basicsize */
    TIDE_PYTHON_TYPE_FLAGS = 168 /* in a type: tp_flags */
};

/* The row of Python 3.minor; NULL if it is unknown. */
const tide_python_layout *tide_python_layout_of(unsigned minor);

/* Applies the numbers that 3.13 and later export; `runtime` is its _PyRuntime. NULL: done;
 * otherwise the reason why it cannot be read. */
const char *tide_python_layout_refine(tide_python_layout *layout, const void *runtime);

#ifdef __cplusplus
}
#endif

#endif
