/* python_frames.h - the Python frames of the calling thread, read without the GIL.
 *
 * The frames of one's own thread stand still while the thread is in C code, and they keep their
 * code objects alive. So they can be read in place: no reference is counted, nothing is called.
 * What is read is checked: every code object must be of Python's type of code objects, and every
 * instruction must lie in its code. Where a frame fails that check, the stack ends before it.
 *
 * The places of the fields come from one table (python_versions.h). Interpreters that it does not
 * have are refused with a sentence, as are free-threaded ones. All functions may be called from any
 * thread.
 */
#ifndef TIDE_LIVE_PYTHON_FRAMES_H
#define TIDE_LIVE_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_python_frame {
    const void *code;   /* its code object */
    const void *at;     /* the instruction that is being executed, within the code object */
    const void *local0; /* first local variable: "self" of a method; NULL: none, or unknown */
} tide_python_frame;

/* What tells two code objects apart that have the same address one after the other. */
typedef struct tide_python_identity {
    const void *file, *name; /* objects of the interpreter */
    uint64_t first_line;
} tide_python_identity;

/* Whether frames can be read in this process. False: there is no interpreter, or *ret_why says why
 * not; it is a text that stays, or NULL. An interpreter may appear later. */
bool tide_python_frames_begin(const char **ret_why);

/* The calling thread's frames, innermost first, `max` of them at most. 0: no interpreter, a thread
 * that it does not know, or no frame. */
size_t tide_python_frames_walk(tide_python_frame *frames, size_t max);

/* The instruction of the innermost frame; NULL: none. */
const void *tide_python_frames_top(void);

/* Of the code object of a frame that is alive. */
void tide_python_frames_identify(const void *code, tide_python_identity *ret_identity);

/* Writes the file and the qualified name of the function as UTF-8, cut off at the end of a
 * character where the room ends, and returns the line; 0: unknown. */
int tide_python_frames_describe(const tide_python_frame *frame, char *file, size_t n_file,
                                char *function, size_t n_function);

#endif
