/* python_frames.c - walks the frames of one's own thread. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "live/python_frames.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "live/python_lines.h"
#include "live/python_text.h"
#include "live/python_versions.h"

enum {
    TYPE_AT = 8,        /* in every object */
    SIZE_AT = 16,       /* in objects of variable size */
    BYTES_DATA_AT = 32, /* in a bytes object */
    UNIT_BYTES = 2,     /* of an instruction */
    MAX_DEPTH = 4096,   /* frames, those of C code included */
    MAX_CODE_UNITS = 1 << 24,
    MAX_LINE_BYTES = 1 << 24
};

/* What is known of the interpreter. */
static struct {
    _Atomic(const tide_python_version *) version; /* NULL: frames cannot be read */
    _Atomic(const void *) code_type;              /* PyCode_Type */
    void *(*thread_state)(void);
} interpreter;

static bool find(const char *name, void *ret_function) {
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &found, sizeof(found));
    return found != NULL;
}

bool tide_python_frames_begin(const char **ret_why) {
    const char *(*get_version)(void) = NULL;
    void *(*thread_state)(void) = NULL;
    const void *code_type = NULL;
    *ret_why = NULL;
    if (atomic_load(&interpreter.version) != NULL) {
        return true;
    }
    if (!find("Py_GetVersion", &get_version) ||
        !find("PyGILState_GetThisThreadState", &thread_state) || !find("PyCode_Type", &code_type)) {
        return false;
    }
    const tide_python_version *version =
        tide_python_version_of(get_version(), dlsym(RTLD_DEFAULT, "_PyRuntime"), ret_why);
    if (version == NULL) {
        return false;
    }
    interpreter.thread_state = thread_state; /* every thread finds the same */
    atomic_store(&interpreter.code_type, code_type);
    atomic_store(&interpreter.version, version);
    return true;
}

/* ---- reading ---- */

static const void *pointer_at(const void *object, size_t offset) {
    const void *pointer = NULL;
    memcpy(&pointer, (const char *)object + offset, sizeof(pointer));
    return pointer;
}

static int int_at(const void *object, size_t offset) {
    int value = 0;
    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

static int64_t size_at(const void *object, size_t offset) {
    int64_t value = 0;
    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

/* Whether it can be an object: objects are aligned, and none lies in the first page. */
static bool is_object(const void *pointer) {
    return (uintptr_t)pointer >= 4096 && (uintptr_t)pointer % sizeof(void *) == 0 &&
           (uintptr_t)pointer >> 47 == 0;
}

static bool is_code(const void *object) {
    return is_object(object) &&
           pointer_at(object, TYPE_AT) ==
               atomic_load_explicit(&interpreter.code_type, memory_order_relaxed);
}

/* The first instruction of the code; *ret_n_bytes: of all of them. NULL: it cannot be. */
static const char *instructions(const tide_python_version *v, const void *code,
                                size_t *ret_n_bytes) {
    const char *begin = (const char *)code + v->code_begin;
    int64_t n = size_at(code, SIZE_AT) * UNIT_BYTES;
    if (v->is_old) {
        const void *bytes = pointer_at(code, v->code_begin);
        if (!is_object(bytes)) {
            return NULL;
        }
        begin = (const char *)bytes + BYTES_DATA_AT;
        n = size_at(bytes, SIZE_AT);
    }
    if (n <= 0 || n > MAX_CODE_UNITS) {
        return NULL;
    }
    *ret_n_bytes = (size_t)n;
    return begin;
}

/* False: it is no frame. */
static bool read_frame(const tide_python_version *v, const void *frame, tide_python_frame *ret) {
    size_t n_bytes = 0;
    ret->code = pointer_at(frame, v->frame_code);
    if (!is_code(ret->code)) {
        return false;
    }
    const char *begin = instructions(v, ret->code, &n_bytes);
    if (begin == NULL) {
        return false;
    }
    if (v->is_old) {
        ret->at = begin + (ptrdiff_t)int_at(frame, v->frame_instruction) * UNIT_BYTES;
    } else {
        ret->at = pointer_at(frame, v->frame_instruction);
    }
    /* A frame that has not begun stands before its first instruction. */
    ptrdiff_t offset = (const char *)ret->at - begin;
    if (offset < -(ptrdiff_t)UNIT_BYTES || offset >= (ptrdiff_t)n_bytes) {
        return false;
    }
    ret->local0 = pointer_at(frame, v->frame_locals);
    ret->local0 = is_object(ret->local0) ? ret->local0 : NULL;
    return true;
}

static const void *innermost(const tide_python_version *v) {
    const void *state = interpreter.thread_state();
    if (state == NULL) {
        return NULL;
    }
    if (v->thread_c_frame != TIDE_PYTHON_ABSENT) {
        state = pointer_at(state, v->thread_c_frame);
    }
    return is_object(state) ? pointer_at(state, v->thread_frame) : NULL;
}

static bool is_of_c(const tide_python_version *v, const void *frame) {
    return v->owner_c_stack >= 0 &&
           ((const unsigned char *)frame)[v->frame_owner] == (unsigned char)v->owner_c_stack;
}

size_t tide_python_frames_walk(tide_python_frame *frames, size_t max) {
    const tide_python_version *v = atomic_load_explicit(&interpreter.version, memory_order_acquire);
    size_t n = 0;
    const void *frame = v != NULL ? innermost(v) : NULL;
    for (int depth = 0; is_object(frame) && n < max && depth < MAX_DEPTH; depth++) {
        if (!is_of_c(v, frame) && !read_frame(v, frame, &frames[n++])) {
            return n - 1;
        }
        frame = pointer_at(frame, v->frame_previous);
    }
    return n;
}

const void *tide_python_frames_top(void) {
    tide_python_frame frame;
    return tide_python_frames_walk(&frame, 1) == 1 ? frame.at : NULL;
}

/* ---- names ---- */

void tide_python_frames_identify(const void *code, tide_python_identity *ret_identity) {
    const tide_python_version *v = atomic_load_explicit(&interpreter.version, memory_order_acquire);
    *ret_identity =
        (tide_python_identity){.file = pointer_at(code, v->code_file),
                               .name = pointer_at(code, v->code_name),
                               .first_line = (uint64_t)int_at(code, v->code_first_line)};
}

static int line_of(const tide_python_version *v, const tide_python_frame *frame) {
    size_t n_code = 0;
    const char *begin = instructions(v, frame->code, &n_code);
    const void *table = pointer_at(frame->code, v->code_lines);
    int first_line = int_at(frame->code, v->code_first_line);
    if (begin == NULL || !is_object(table)) {
        return 0;
    }
    ptrdiff_t offset = (const char *)frame->at - begin;
    int64_t n_bytes = size_at(table, SIZE_AT);
    if (offset < 0) {
        return first_line;
    }
    if (n_bytes < 0 || n_bytes > MAX_LINE_BYTES) {
        return 0;
    }
    const unsigned char *bytes = (const unsigned char *)table + BYTES_DATA_AT;
    return v->is_old ? tide_python_line_310(bytes, (size_t)n_bytes, first_line, (size_t)offset)
                     : tide_python_line(bytes, (size_t)n_bytes, first_line, (size_t)offset);
}

int tide_python_frames_describe(const tide_python_frame *frame, char *file, size_t n_file,
                                char *function, size_t n_function) {
    const tide_python_version *v = atomic_load_explicit(&interpreter.version, memory_order_acquire);
    tide_python_text(v, pointer_at(frame->code, v->code_file), file, n_file);
    tide_python_text(v, pointer_at(frame->code, v->code_name), function, n_function);
    return line_of(v, frame);
}
