/* python_walk.c - follows the frames of one thread, and classifies each.
 *
 * The frames are the interpreter's own structures, read by offset. Nothing is written.
 */
#include "programs/live/python/python_frames_internal.h"

#include "programs/live/python/python_lines.h"

/* The bits of 3.10's `at` that hold the instruction's number: 4 below an object's address, 15 above
 * it. */
enum { LOW_BITS = 4, HIGH_BITS = 15, HIGH_SHIFT = 48, UNIT_BYTES = 2 };
#define UNIT_UNKNOWN (((uint32_t)1 << (LOW_BITS + HIGH_BITS)) - 1)

typedef enum verdict { SHOWN, HIDDEN, REFUSED } verdict;

/* `unit` is -1 before the first instruction. */
static const void *pack(const void *code, int32_t unit) {
    uint32_t number = (uint32_t)(unit + 1) < UNIT_UNKNOWN ? (uint32_t)(unit + 1) : UNIT_UNKNOWN;
    uintptr_t low = number & ((1u << LOW_BITS) - 1), high = number >> LOW_BITS;
    return tide_python_address((uintptr_t)code | low | high << HIGH_SHIFT);
}

/* False: the function has too many instructions for the bits. */
static bool unpack(const void *code, const void *at, int32_t *ret_unit) {
    uintptr_t bits = (uintptr_t)at ^ (uintptr_t)code;
    uint32_t number = (uint32_t)((bits & ((1u << LOW_BITS) - 1)) | bits >> HIGH_SHIFT << LOW_BITS);
    if (number == UNIT_UNKNOWN) {
        return false;
    }
    *ret_unit = (int32_t)number - 1;
    return true;
}

/* A frame object, 3.10. */
static verdict read_object(const tide_python_view *view, const void *frame, const void *code,
                           tide_python_frame *ret) {
    const tide_python_layout *layout = &view->layout;
    const void *bytes = tide_python_pointer(code, layout->code_instructions);
    int32_t unit = tide_python_int(frame, layout->frame_at);
    if (!tide_python_is(frame, view->frame_type) || !tide_python_is(bytes, view->bytes_type) ||
        unit < -1 || ((uintptr_t)code & ((1u << LOW_BITS) - 1)) != 0 ||
        (int64_t)unit * UNIT_BYTES >= tide_python_size(bytes, TIDE_PYTHON_SIZE)) {
        return REFUSED;
    }
    ret->at = pack(code, unit);
    return SHOWN;
}

/* A frame of 3.11 and later. A complete frame is past the instructions that prepare it. */
static verdict read_internal(const tide_python_view *view, const void *frame, const void *code,
                             uint8_t owner, tide_python_frame *ret) {
    const tide_python_layout *layout = &view->layout;
    const void *at = tide_python_pointer(frame, layout->frame_at);
    int64_t offset = (int64_t)((uintptr_t)at - (uintptr_t)code) - layout->code_instructions;
    int64_t first = tide_python_int(code, layout->code_first_traceable) * (int64_t)UNIT_BYTES;
    int64_t n_bytes = tide_python_size(code, TIDE_PYTHON_SIZE);
    n_bytes = n_bytes > 0 && n_bytes <= INT32_MAX ? n_bytes * UNIT_BYTES : 0;
    /* In 3.11 and 3.12, a frame that has not begun is one unit before its first. */
    if (offset < -UNIT_BYTES || offset >= n_bytes || offset % UNIT_BYTES != 0) {
        return REFUSED;
    }
    if (offset < first && owner != layout->owner_generator) {
        return HIDDEN;
    }
    ret->at = at;
    return SHOWN;
}

static verdict read_frame(const tide_python_view *view, const void *frame, tide_python_frame *ret) {
    const tide_python_layout *layout = &view->layout;
    uintptr_t tags = layout->reference_tags;
    uint8_t owner = 0;
    if (!layout->frame_is_object) {
        memcpy(&owner, (const char *)frame + layout->frame_owner, sizeof(owner));
        if (owner > layout->owner_last) {
            return REFUSED;
        }
        if (owner > layout->owner_last_shown) {
            return HIDDEN;
        }
    }
    const void *code = tide_python_pointer(frame, layout->frame_code);
    code = tide_python_address((uintptr_t)code & ~tags);
    if (!tide_python_is(code, view->code_type)) {
        return REFUSED;
    }
    verdict answer = layout->frame_is_object ? read_object(view, frame, code, ret)
                                             : read_internal(view, frame, code, owner, ret);
    if (answer != SHOWN) {
        return answer;
    }
    ret->code = code;
    ret->local0 = NULL;
    if (tide_python_int(code, layout->code_n_arguments) > 0) {
        const void *local = tide_python_pointer(frame, layout->frame_locals);
        local = tide_python_address((uintptr_t)local & ~tags);
        ret->local0 = tide_python_plausible(local) ? local : NULL;
    }
    return SHOWN;
}

size_t tide_python_view_walk(const tide_python_view *view, const void *thread,
                             tide_python_frame *frames, size_t max, bool *ret_refused) {
    const tide_python_layout *layout = &view->layout;
    size_t n = 0, n_hidden = 0;
    *ret_refused = true;
    if (!tide_python_plausible(thread)) {
        return 0;
    }
    const void *frame = tide_python_pointer(thread, layout->thread_top);
    if (layout->top_in_cframe) {
        if (!tide_python_plausible(frame)) {
            return 0;
        }
        frame = tide_python_pointer(frame, layout->cframe_frame);
    }
    while (frame != NULL && n < max) {
        if (!tide_python_plausible(frame)) {
            return n;
        }
        verdict answer = read_frame(view, frame, &frames[n]);
        if (answer == REFUSED || (answer == HIDDEN && ++n_hidden > TIDE_PYTHON_MAX_HIDDEN)) {
            return n;
        }
        n += answer == SHOWN;
        frame = tide_python_pointer(frame, layout->frame_previous);
    }
    *ret_refused = false;
    return n;
}

void tide_python_view_identify(const tide_python_view *view, const void *code,
                               tide_python_identity *ret) {
    *ret = (tide_python_identity){NULL, NULL, 0};
    if (tide_python_is(code, view->code_type)) {
        ret->file = tide_python_pointer(code, view->layout.code_file);
        ret->name = tide_python_pointer(code, view->layout.code_name);
        ret->first_line = (uint64_t)tide_python_int(code, view->layout.code_first_line);
    }
}

static int line_of(const tide_python_view *view, const tide_python_frame *frame) {
    const tide_python_layout *layout = &view->layout;
    const void *lines = tide_python_pointer(frame->code, layout->code_lines);
    int32_t first_line = tide_python_int(frame->code, layout->code_first_line);
    if (!tide_python_is(lines, view->bytes_type)) {
        return 0;
    }
    int64_t n_lines = tide_python_size(lines, TIDE_PYTHON_SIZE);
    const uint8_t *table = (const uint8_t *)lines + layout->bytes_data;
    if (n_lines < 0 || n_lines > TIDE_PYTHON_MAX_LINE_BYTES) {
        return 0;
    }
    if (layout->frame_is_object) {
        int32_t unit;
        if (!unpack(frame->code, frame->at, &unit)) {
            return 0;
        }
        return unit < 0 ? first_line
                        : tide_python_line_of_pairs(table, (size_t)n_lines, first_line,
                                                    (size_t)unit * UNIT_BYTES);
    }
    uintptr_t start = (uintptr_t)frame->code + layout->code_instructions;
    return (uintptr_t)frame->at < start
               ? first_line
               : tide_python_line_of_locations(table, (size_t)n_lines, first_line,
                                               (uintptr_t)frame->at - start);
}

int tide_python_view_describe(const tide_python_view *view, const tide_python_frame *frame,
                              char *file, size_t n_file, char *function, size_t n_function) {
    const void *file_text = NULL, *name = NULL;
    bool is_code = tide_python_is(frame->code, view->code_type);
    if (is_code) {
        file_text = tide_python_pointer(frame->code, view->layout.code_file);
        name = tide_python_pointer(frame->code, view->layout.code_name);
    }
    tide_python_view_text(view, file_text, file, n_file);
    tide_python_view_text(view, name, function, n_function);
    return is_code ? line_of(view, frame) : 0;
}
