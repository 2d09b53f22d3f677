/* user_frame.h - finds the line of the program that a call stack comes from.
 *
 * Stacks that PyTorch records begin deep inside PyTorch and pass through it and Python's
 * interpreter many times. The useful frame is the first on the way out that belongs to neither.
 */
#ifndef TIDE_SNAPSHOT_USER_FRAME_H
#define TIDE_SNAPSHOT_USER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a source file is Python's: a .py file, or code typed in a console or a notebook
 * ("<stdin>"). The folders of `file` end in '/'. */
bool tide_file_is_python(const char *file);

/* The name of the installed package that a source file is in, as a part of `file`; NULL: in none.
 */
const char *tide_file_package(const char *file, size_t *ret_n_bytes);

/* Whether a file of Python is the program's: outside of the standard library and of every installed
 * package, and not generated. */
bool tide_file_is_program(const char *file);

/* Whether a frame is Python code of the program: outside of the standard library and of every
 * installed package (site-packages, dist-packages). All code under the snapshot's `user_path` is
 * the program's own, wherever that folder is. */
bool tide_frame_is_user(const tide_snapshot *snapshot, uint32_t frame);

/* Whether a frame is Python code of a package that a program uses for its model, such as a library
 * of layers: not of PyTorch, nor of a package around the training loop. */
bool tide_frame_is_model_library(const tide_snapshot *snapshot, uint32_t frame);

/* The frame that represents a stack: its first user frame; else its first in a library that is not
 * plumbing like PyTorch; in threads of autograd, the operation whose gradient is computed; in
 * programs without Python, the first with a source file outside of the system; else the first
 * outside of PyTorch's allocator, CUDA's headers and tidemark's own Python. TIDE_NONE: there is no
 * stack, or all of it is Python code of PyTorch, as in threads of autograd, which contain no code
 * of the program. */
uint32_t tide_user_frame(const tide_snapshot *snapshot, uint32_t stack);

/* The owner of a frame's code. In a recording with Python, only Python code can be the user's. */
typedef enum tide_frame_kind {
    TIDE_FRAME_USER = 0,
    TIDE_FRAME_LIBRARY,
    TIDE_FRAME_TOOL /* PyTorch's allocator, CUDA's headers, or tidemark */
} tide_frame_kind;

/* The kinds of all frames, computed together in much less time than one by one. */
typedef struct tide_frame_kinds {
    const tide_hostmem *mem; /* borrowed */
    uint8_t *of_frame;       /* owned; tide_frame_kind */
    uint32_t *of_stack;      /* owned; tide_user_frame */
} tide_frame_kinds;

/* The caller calls fini. */
TIDE_NODISCARD tide_status tide_frame_kinds_init(tide_frame_kinds *kinds,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);
void tide_frame_kinds_fini(tide_frame_kinds *kinds);

/* The first frame of a model library (such as a library of layers) that the user's frame called;
 * TIDE_NONE: there is none before the user's frame. */
uint32_t tide_library_frame(const tide_snapshot *snapshot, uint32_t stack);

/* Adds a function's name as its reader knows it: without the arguments of a C++ function, and
 * "main" for a comprehension in it, which Python calls "main.<locals>.<listcomp>". Nothing for code
 * outside of functions. */
void tide_function_add(const char *function, tide_text *to);

/* "forward (model.py:104)", without folders; "model.py:104" outside of functions; "?" if unknown.
 */
void tide_frame_text(const tide_snapshot *snapshot, uint32_t frame, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
