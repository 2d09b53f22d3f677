/* made_python.h - structures of an interpreter, made by hand from a row of the table of versions.
 * Each is a heap block of its exact size, so that a sanitizer sees a read out of bounds.
 */
#ifndef TIDE_TESTS_MADE_PYTHON_H
#define TIDE_TESTS_MADE_PYTHON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/live/python/python_frames_internal.h"

enum { MADE_UNITS = 40, MADE_FRAMES = 3, MADE_OBJECTS = 64, MADE_TYPE_BYTES = 400 };

typedef struct made_python {
    tide_python_view view;
    void *objects[MADE_OBJECTS]; /* all that was made, to be released */
    size_t n_objects;
    char *thread;              /* the state of a thread that is in frames[0] */
    char *frames[MADE_FRAMES]; /* innermost first */
    char *codes[MADE_FRAMES];
    char *selves[MADE_FRAMES];
    size_t n_frame; /* bytes of a frame */
} made_python;

static inline void put(void *base, size_t offset, const void *value, size_t n) {
    memcpy((char *)base + offset, value, n);
}

static inline void put_pointer(void *base, size_t offset, const void *pointer) {
    put(base, offset, &pointer, sizeof(pointer));
}

static inline void put_int(void *base, size_t offset, int32_t value) {
    put(base, offset, &value, sizeof(value));
}

static inline void put_size(void *base, size_t offset, int64_t value) {
    put(base, offset, &value, sizeof(value));
}

static inline char *make(made_python *of, size_t n_bytes, const void *type) {
    char *object = calloc(1, n_bytes);
    assert_non_null(object);
    assert_true(of->n_objects < MADE_OBJECTS);
    of->objects[of->n_objects++] = object;
    if (type != NULL) {
        put_pointer(object, TIDE_PYTHON_TYPE, type);
    }
    return object;
}

static inline char *make_type(made_python *of, uint16_t n_basic) {
    char *type = make(of, MADE_TYPE_BYTES, NULL);
    put_size(type, TIDE_PYTHON_BASIC_SIZE, n_basic);
    return type;
}

/* Text of `width` bytes a character. */
static inline char *make_text(made_python *of, const void *characters, size_t n, unsigned width,
                              bool ascii) {
    const tide_python_layout *l = &of->view.layout;
    size_t head = ascii ? l->text_ascii_data : l->text_compact_data;
    char *text = make(of, head + (n + 1) * width, of->view.text_type);
    put_size(text, l->text_length, (int64_t)n);
    put_int(text, l->text_state,
            (int32_t)((width | 1u << 3 | (ascii ? 1u << 4 : 0u)) << l->text_kind_shift));
    put(text, head, characters, n * width);
    return text;
}

static inline char *make_bytes(made_python *of, const void *bytes, size_t n) {
    char *object = make(of, of->view.layout.bytes_data + n + 1, of->view.bytes_type);
    put_size(object, TIDE_PYTHON_SIZE, (int64_t)n);
    put(object, of->view.layout.bytes_data, bytes, n);
    return object;
}

/* A function of 40 instructions, each pair of which has its own line; the first two prepare the
 * frame. */
static inline char *make_code(made_python *of, const char *file, const char *name, int32_t line) {
    static const uint8_t PAIRS[] = {4, 0, 4, 1, 4, 1, 4, 1, 64, 1};
    static const uint8_t LOCATIONS[] = {0xd1, 0, 0, 0xd9, 0, 0, 0xd9, 0, 0, 0xd9, 0, 0, 0xdf, 0, 0};
    static const uint8_t NOTHING[MADE_UNITS * 2];
    const tide_python_layout *l = &of->view.layout;
    size_t inside = l->frame_is_object ? 0 : MADE_UNITS * 2u;
    char *code = make(of, l->code_basic + inside, of->view.code_type);
    put_pointer(code, l->code_file, make_text(of, file, strlen(file), 1, true));
    put_pointer(code, l->code_name, make_text(of, name, strlen(name), 1, true));
    put_int(code, l->code_first_line, line);
    put_int(code, l->code_n_arguments, 1);
    if (l->frame_is_object) {
        put_pointer(code, l->code_instructions, make_bytes(of, NOTHING, sizeof(NOTHING)));
        put_pointer(code, l->code_lines, make_bytes(of, PAIRS, sizeof(PAIRS)));
    } else {
        put_size(code, TIDE_PYTHON_SIZE, MADE_UNITS);
        put_int(code, l->code_first_traceable, 2);
        put_pointer(code, l->code_lines, make_bytes(of, LOCATIONS, sizeof(LOCATIONS)));
    }
    return code;
}

/* Sets the frame's instruction to one of its code's. */
static inline void put_at(made_python *of, size_t frame, int32_t unit) {
    const tide_python_layout *l = &of->view.layout;
    if (l->frame_is_object) {
        put_int(of->frames[frame], l->frame_at, unit);
    } else {
        put_pointer(of->frames[frame], l->frame_at,
                    of->codes[frame] + l->code_instructions + unit * 2);
    }
}

/* A thread in three frames: "f" at instruction 2, "C.m" at 4 and "<module>" at 6, in a file each.
 */
static inline made_python *make_python(unsigned minor) {
    static const char *const FILES[] = {"a.py", "dir/b.py", "c.py"};
    static const char *const NAMES[] = {"f", "C.m", "<module>"};
    made_python *of = calloc(1, sizeof(*of));
    assert_non_null(of);
    assert_non_null(tide_python_layout_of(minor));
    of->view.layout = *tide_python_layout_of(minor);
    const tide_python_layout *l = &of->view.layout;
    char *type_of_types = make_type(of, 0);
    of->view.code_type = make_type(of, l->code_basic);
    of->view.frame_type = make_type(of, l->frame_basic);
    of->view.bytes_type = make_type(of, 33);
    char *text_type = make_type(of, l->text_basic);
    put_pointer(text_type, TIDE_PYTHON_TYPE, type_of_types);
    of->view.text_type = text_type;
    of->n_frame = (l->frame_is_object ? l->frame_basic : l->frame_locals + sizeof(void *));
    of->thread = make(of, l->thread_top + sizeof(void *), NULL);
    for (size_t i = 0; i < MADE_FRAMES; i++) {
        of->codes[i] = make_code(of, FILES[i], NAMES[i], 10 * ((int32_t)i + 1));
        of->selves[i] = make(of, 16, NULL);
        of->frames[i] = make(of, of->n_frame, l->frame_is_object ? of->view.frame_type : NULL);
        uintptr_t tag = l->reference_tags != 0;
        put_pointer(of->frames[i], l->frame_code, of->codes[i] + tag);
        put_pointer(of->frames[i], l->frame_locals, of->selves[i] + tag);
        put_at(of, i, 2 * ((int32_t)i + 1));
        if (i > 0) {
            put_pointer(of->frames[i - 1], l->frame_previous, of->frames[i]);
        }
    }
    char *top = of->frames[0];
    if (l->top_in_cframe) {
        top = make(of, l->cframe_frame + sizeof(void *), NULL);
        put_pointer(top, l->cframe_frame, of->frames[0]);
    }
    put_pointer(of->thread, l->thread_top, top);
    return of;
}

static inline void release_python(made_python *of) {
    for (size_t i = 0; i < of->n_objects; i++) {
        free(of->objects[i]);
    }
    free(of);
}

#endif
