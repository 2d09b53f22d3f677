/* python_frames.h - the Python frames of the calling thread, read without taking the interpreter's
 * lock (the GIL).
 *
 * A thread's own frames do not change while the thread is in C code, and they keep their code
 * objects alive. So they may be read anywhere, under any lock: nothing here waits, allocates, or
 * touches a reference count. CPython 3.10 to 3.14 are known (python_versions.h); others are refused
 * with a sentence.
 *
 * Checked: every pointer is aligned and in the user's part of the address space, a frame's code has
 * the type of code objects, the instruction is inside that code, and the owner of a frame is one
 * that the version knows. The stack ends at a frame that fails a check. Not checked: that a
 * plausible address is mapped. A frame whose pointer was overwritten with such an address crashes
 * the reader, as it would crash the interpreter.
 *
 * Not seen: a thread that the interpreter does not know, an interpreter whose symbols are not
 * global (an embedded one that was opened with RTLD_LOCAL), and, if a thread runs several
 * interpreters in turn, all except the one that PyGILState_GetThisThreadState returns.
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
    /* Identifies the instruction, for comparison only. From 3.11 on it is the address, inside the
     * code object. In 3.10 code objects may share their bytes, so it is the code object's address
     * with the instruction's number in the unused bits of the address. Bit 63 is clear. */
    const void *at;
    /* First positional argument ("self" of a method), borrowed; NULL: none, or deleted. From 3.11
     * on it is a cell if an inner function uses the argument. */
    const void *local0;
} tide_python_frame;

/* Prepares for the interpreter of this process. True: *ret_why is NULL. False: its frames cannot be
 * read, and *ret_why is a sentence with the reason, valid for ever; or there is no interpreter
 * (yet), and *ret_why is NULL. ret_why may be NULL. An interpreter that was refused stays refused;
 * a missing one is searched again at the next call. Thread-safe. Costs one load once an interpreter
 * was found. */
bool tide_python_frames_begin(const char **ret_why);

/* The calling thread's frames, innermost first, at most max: those of sys._getframe() and f_back.
 * 0: not prepared, the interpreter does not know this thread, there is no frame, or the innermost
 * is invalid. */
size_t tide_python_frames_walk(tide_python_frame *frames, size_t max);

/* `at` of the innermost frame; NULL if there is none. */
const void *tide_python_frames_top(void);

/* Changes if another code object gets the address of a deleted one. All zero: unknown. */
typedef struct tide_python_identity {
    const void *file;    /* the text object of the file's name */
    const void *name;    /* the text object of the function's name */
    uint64_t first_line; /* line of `def` or of its first decorator */
} tide_python_identity;

/* `code` comes from a live frame. */
void tide_python_frames_identify(const void *code, tide_python_identity *ret);

/* File and function of a live frame, as UTF-8, cut at a character's boundary and ended with a zero;
 * "?" if unknown. The function is the qualified name, in 3.10 the plain name. A lone surrogate or a
 * zero in a name becomes U+FFFD. Either buffer may have 0 bytes. Returns the line; 0: the
 * instruction has none, or it is unknown. */
int tide_python_frames_describe(const tide_python_frame *frame, char *file, size_t n_file,
                                char *function, size_t n_function);

/* The number of walks that ended at an invalid frame, in all threads since the start: 0 unless
 * memory was overwritten. */
uint64_t tide_python_frames_n_refused(void);

#ifdef __cplusplus
}
#endif

#endif
