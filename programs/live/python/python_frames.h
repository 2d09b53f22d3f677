/* python_frames.h - the Python frames of the calling thread, read without taking the interpreter's
 * lock (the GIL).
 *
 * A thread's own frames stand still while the thread is in C code, and they keep their code objects
 * alive. So they may be read wherever the thread is, under any lock: nothing here waits, allocates,
 * or touches a reference count. CPython 3.10 to 3.14 are known (python_versions.h); others are
 * refused with a sentence.
 *
 * What is checked: every pointer must be aligned and in the user's part of the address space, the
 * object that a frame calls its code must have the type of code objects, the instruction must lie
 * inside that code, and the owner of a frame must be one that the version knows. Frames that were
 * overwritten with other values end the stack there. What is not checked is that an address which
 * looks right is mapped: a frame whose pointer was replaced with such an address crashes the
 * reader, as it would crash the interpreter.
 *
 * Not seen: a thread that the interpreter does not know, an interpreter whose symbols are not
 * global (an embedded one that was opened with RTLD_LOCAL), and, where a thread runs several
 * interpreters in turn, all but the one that PyGILState_GetThisThreadState tells.
 */
#ifndef TIDE_LIVE_PYTHON_FRAMES_H
#define TIDE_LIVE_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_python_frame {
    const void *code; /* the code object, which lives as long as the frame does */
    /* Names the instruction, for comparing only. From 3.11 on it is the address, which lies inside
     * the code object. 3.10 may share one sequence of bytes among code objects, so there it is the
     * code object's address with the instruction's number in the bits that such an address leaves
     * free. Bit 63 is clear. */
    const void *at;
    /* First positional argument ("self" of a method), borrowed; NULL: none, or deleted. From 3.11
     * on it is a cell if an inner function uses the argument. */
    const void *local0;
} tide_python_frame;

/* Prepares for the interpreter of this process. False: its frames cannot be read, and *ret_why says
 * why in a sentence that stays valid, or there is none (yet), and *ret_why is NULL, as it is after
 * true. ret_why may be NULL. An interpreter that was refused stays refused, one that is absent is
 * looked for again at the next call. Thread-safe; may be called often, and costs one load once an
 * interpreter was found. */
bool tide_python_frames_begin(const char **ret_why);

/* The calling thread's frames, innermost first, at most max: what sys._getframe() and f_back show.
 * 0: nothing was prepared, the interpreter does not know this thread, there is no frame, or the
 * innermost cannot be one. */
size_t tide_python_frames_walk(tide_python_frame *frames, size_t max);

/* `at` of the innermost frame; NULL: none. */
const void *tide_python_frames_top(void);

/* Differs when another code object took the address of one that is gone. All zero: unknown. */
typedef struct tide_python_identity {
    const void *file;    /* the text object of the file's name */
    const void *name;    /* the text object of the function's name */
    uint64_t first_line; /* line of `def` or of its first decorator */
} tide_python_identity;

/* `code` comes from a frame that is still there. */
void tide_python_frames_identify(const void *code, tide_python_identity *ret);

/* File and function of a frame that is still there, as UTF-8, cut at a character's boundary and
 * ended with a zero; "?" if unknown. The function is the qualified name, in 3.10 the plain name. A
 * lone surrogate or a zero in a name becomes U+FFFD. Either room may be 0 bytes. Returns the line;
 * 0: the instruction has none, or it is unknown. */
int tide_python_frames_describe(const tide_python_frame *frame, char *file, size_t n_file,
                                char *function, size_t n_function);

/* Walks that ended at something that cannot be a frame, in all threads since the start: 0 unless
 * memory was overwritten. */
uint64_t tide_python_frames_n_refused(void);

#ifdef __cplusplus
}
#endif

#endif
