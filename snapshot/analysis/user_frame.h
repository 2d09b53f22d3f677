/* user_frame.h - finds the line of the user's own program that a call stack comes from.
 *
 * Stacks that PyTorch records begin deep inside of it and pass through it and through Python's
 * interpreter many times. People look for the first frame on the way out that belongs to neither.
 */
#ifndef TIDE_SNAPSHOT_USER_FRAME_H
#define TIDE_SNAPSHOT_USER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Python code of the program's own: outside of the standard library and of every installed package
 * (site-packages, dist-packages); all code below the snapshot's `user_path` is the program's own,
 * wherever that lies. */
bool tide_frame_is_user(const tide_snapshot *snapshot, uint32_t frame);

/* The frame that represents a stack: its first of the user's; where it has none, its first of a
 * library that is not below every program as PyTorch is; in threads of autograd that of the
 * operation whose gradient is computed; in programs without Python the first that has a source file
 * outside of the system; else the first outside of PyTorch's allocator, CUDA's headers and
 * tidemark's own Python. TIDE_NONE: there is no stack, or all of it is Python code of PyTorch, as
 * in threads of autograd, where nothing of the program is. */
uint32_t tide_user_frame(const tide_snapshot *snapshot, uint32_t stack);

/* Whose code a frame is. In a recording with Python, only Python can be the user's. */
typedef enum tide_frame_kind {
    TIDE_FRAME_USER = 0,
    TIDE_FRAME_LIBRARY,
    TIDE_FRAME_TOOL /* PyTorch's allocator, CUDA's headers, or tidemark */
} tide_frame_kind;

/* All of them at once, in much less time than one by one. */
typedef struct tide_frame_kinds {
    const tide_hostmem *mem; /* borrowed */
    uint8_t *of_frame;       /* owned; tide_frame_kind */
    uint32_t *of_stack;      /* owned; tide_user_frame */
} tide_frame_kinds;

/* The caller finishes it. */
TIDE_NODISCARD tide_status tide_frame_kinds_init(tide_frame_kinds *kinds,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);
void tide_frame_kinds_fini(tide_frame_kinds *kinds);

/* The first frame of such a library that the user's frame called, such as one of a library of
 * layers; TIDE_NONE: there is none before the user's frame. */
uint32_t tide_library_frame(const tide_snapshot *snapshot, uint32_t stack);

/* "forward (model.py:104)", without the arguments of a C++ function and without folders; "?" where
 * nothing is known. */
void tide_frame_text(const tide_snapshot *snapshot, uint32_t frame, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
