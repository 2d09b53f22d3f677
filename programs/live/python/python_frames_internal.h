/* python_frames_internal.h - the walker with an explicit interpreter description, for the walker
 * itself and for tests that make frames by hand. */
#ifndef TIDE_LIVE_PYTHON_FRAMES_INTERNAL_H
#define TIDE_LIVE_PYTHON_FRAMES_INTERNAL_H

#include <string.h>

#include "programs/live/python/python_frames.h"
#include "programs/live/python/python_versions.h"

/* The interpreter data that the walker reads. */
typedef struct tide_python_view {
    tide_python_layout layout;
    const void *code_type;  /* PyCode_Type */
    const void *frame_type; /* PyFrame_Type */
    const void *text_type;  /* PyUnicode_Type */
    const void *bytes_type; /* PyBytes_Type */
} tide_python_view;

/* Limits on the reader's work if memory was overwritten. */
enum {
    TIDE_PYTHON_MAX_HIDDEN = 1 << 16,     /* hidden frames of one stack */
    TIDE_PYTHON_MAX_LINE_BYTES = 1 << 28, /* of a line table */
    TIDE_PYTHON_TEXT_SUBCLASS = 1 << 28   /* flag of a type that derives from str */
};

/* As tide_python_frames_walk, for the given thread's state. *ret_refused: it ended at an invalid
 * frame. */
size_t tide_python_view_walk(const tide_python_view *view, const void *thread,
                             tide_python_frame *frames, size_t max, bool *ret_refused);

void tide_python_view_identify(const tide_python_view *view, const void *code,
                               tide_python_identity *ret);
int tide_python_view_describe(const tide_python_view *view, const tide_python_frame *frame,
                              char *file, size_t n_file, char *function, size_t n_function);

/* NULL: the view's types have the sizes that its layout states; otherwise the reason. */
const char *tide_python_view_check(const tide_python_view *view);

/* Writes "?" if there is room. */
static inline void tide_python_unknown_text(char *ret, size_t n_ret) {
    if (n_ret > 0) {
        ret[0] = n_ret > 1 ? '?' : '\0';
        ret[n_ret > 1 ? 1 : 0] = '\0';
    }
}

/* As the public function; the text object may be anything. */
void tide_python_view_text(const tide_python_view *view, const void *text, char *ret, size_t n_ret);

/* Whether a Python object can be at the address: it is aligned, and in a program's part of
 * memory. */
static inline bool tide_python_plausible(const void *address) {
    const uintptr_t lowest = 65536, end = (uintptr_t)1 << 47;
    return ((uintptr_t)address & 7) == 0 && (uintptr_t)address >= lowest &&
           (uintptr_t)address < end;
}

/* For words that hold more than an address. */
static inline const void *tide_python_address(uintptr_t address) {
    return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static inline const void *tide_python_pointer(const void *base, size_t offset) {
    const void *pointer;
    memcpy(&pointer, (const char *)base + offset, sizeof(pointer));
    return pointer;
}

static inline int32_t tide_python_int(const void *base, size_t offset) {
    int32_t value;
    memcpy(&value, (const char *)base + offset, sizeof(value));
    return value;
}

static inline int64_t tide_python_size(const void *base, size_t offset) {
    int64_t value;
    memcpy(&value, (const char *)base + offset, sizeof(value));
    return value;
}

static inline bool tide_python_is(const void *object, const void *type) {
    return tide_python_plausible(object) && tide_python_pointer(object, TIDE_PYTHON_TYPE) == type;
}

#endif
