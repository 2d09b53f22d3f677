/* python_offsets.c - prints the row of programs/live/python/python_versions.c for the Python whose
 * headers it is compiled with: cc -I PREFIX/include/python3.X -o offsets
 * tests/live/python_offsets.c && ./offsets
 *
 * It needs the internal headers, which a Python that was installed from source or from its -dev
 * package has. check_python_offsets.py compares its output with the table.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#include <internal/pycore_stackref.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif

#define WHERE(name, type, field) printf("     .%s = %zu,\n", #name, offsetof(type, field))
#define VALUE(name, value) printf("     .%s = %zu,\n", #name, (size_t)(value))

static void thread_and_frame(void) {
#if PY_VERSION_HEX >= 0x030d0000
    WHERE(thread_top, PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
    WHERE(thread_top, PyThreadState, cframe);
    VALUE(top_in_cframe, 1);
    WHERE(cframe_frame, _PyCFrame, current_frame);
#else
    WHERE(thread_top, PyThreadState, frame);
#endif
#if PY_VERSION_HEX >= 0x030b0000
    WHERE(frame_previous, struct _PyInterpreterFrame, previous);
#if PY_VERSION_HEX >= 0x030d0000
    WHERE(frame_code, struct _PyInterpreterFrame, f_executable);
    WHERE(frame_at, struct _PyInterpreterFrame, instr_ptr);
#else
    WHERE(frame_code, struct _PyInterpreterFrame, f_code);
    WHERE(frame_at, struct _PyInterpreterFrame, prev_instr);
#endif
    WHERE(frame_locals, struct _PyInterpreterFrame, localsplus);
    WHERE(frame_owner, struct _PyInterpreterFrame, owner);
    VALUE(owner_generator, FRAME_OWNED_BY_GENERATOR);
#if PY_VERSION_HEX >= 0x030e0000
    VALUE(owner_last_shown, FRAME_OWNED_BY_INTERPRETER - 1);
    VALUE(owner_last, FRAME_OWNED_BY_CSTACK);
    VALUE(reference_tags, Py_TAG_BITS);
#elif PY_VERSION_HEX >= 0x030c0000
    VALUE(owner_last_shown, FRAME_OWNED_BY_CSTACK - 1);
    VALUE(owner_last, FRAME_OWNED_BY_CSTACK);
#else
    VALUE(owner_last_shown, FRAME_OWNED_BY_FRAME_OBJECT);
    VALUE(owner_last, FRAME_OWNED_BY_FRAME_OBJECT);
#endif
    VALUE(frame_basic, offsetof(PyFrameObject, _f_frame_data) +
                           offsetof(struct _PyInterpreterFrame, localsplus));
#else
    VALUE(frame_is_object, 1);
    WHERE(frame_previous, PyFrameObject, f_back);
    WHERE(frame_code, PyFrameObject, f_code);
    WHERE(frame_at, PyFrameObject, f_lasti);
    WHERE(frame_locals, PyFrameObject, f_localsplus);
    VALUE(frame_basic, offsetof(PyFrameObject, f_localsplus) +
                           sizeof(PyObject *)); /* one local is part of the type */
#endif
}

static void code(void) {
    WHERE(code_file, PyCodeObject, co_filename);
#if PY_VERSION_HEX >= 0x030b0000
    WHERE(code_name, PyCodeObject, co_qualname);
    WHERE(code_first_traceable, PyCodeObject, _co_firsttraceable);
    WHERE(code_instructions, PyCodeObject, co_code_adaptive);
    VALUE(code_basic, offsetof(PyCodeObject, co_code_adaptive));
#else
    WHERE(code_name, PyCodeObject, co_name);
    WHERE(code_instructions, PyCodeObject, co_code);
    VALUE(code_basic, sizeof(PyCodeObject));
#endif
    WHERE(code_lines, PyCodeObject, co_linetable);
    WHERE(code_first_line, PyCodeObject, co_firstlineno);
    WHERE(code_n_arguments, PyCodeObject, co_argcount);
}

/* The compiler determines the bits of the state: a value with one field set shows them. */
static unsigned kind_shift(void) {
    union {
        PyASCIIObject text;
        unsigned char bytes[sizeof(PyASCIIObject)];
    } probe;
    memset(&probe, 0, sizeof(probe));
    probe.text.state.kind = 1;
    unsigned state, shift = 0;
    memcpy(&state, probe.bytes + offsetof(PyASCIIObject, state), sizeof(state));
    while (!(state >> shift & 1))
        shift++;
    return shift;
}

static void texts(void) {
    WHERE(text_length, PyASCIIObject, length);
    WHERE(text_state, PyASCIIObject, state);
    VALUE(text_kind_shift, kind_shift());
    VALUE(text_ascii_data, sizeof(PyASCIIObject));
    VALUE(text_compact_data, sizeof(PyCompactUnicodeObject));
    VALUE(text_basic, sizeof(PyUnicodeObject));
    WHERE(bytes_data, PyBytesObject, ob_sval);
}

int main(void) {
    printf("    {.minor = %d,\n", PY_MINOR_VERSION);
    thread_and_frame();
    code();
    texts();
    printf("    },\n");
    return 0;
}
