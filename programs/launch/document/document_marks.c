/* document_marks.c - selects the marks of a log that count, by the rules of
 * python/tidemark/steps.py for PyTorch's own history: steps are those that the program reports;
 * otherwise they end with an optimizer's step, or begin with calls if nothing is optimised. */
#include <string.h>

#include "programs/launch/document/document_internal.h"

static bool has(const tide_left_mark *marks, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(marks[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Uses the program's own steps: ends of the optimizer's steps do not end steps then. */
static size_t choose_own(const tide_left_mark *marks, size_t n_marks, tide_left_mark *ret_marks) {
    size_t n = 0;
    bool is_open = false;
    for (size_t i = 0; i < n_marks; i++) {
        tide_left_mark mark = marks[i];
        bool is_begin = strcmp(mark.name, "step begins") == 0;
        if (strcmp(mark.name, TIDE_DOCUMENT_OWN_STEP) == 0) {
            if (is_open) {
                ret_marks[n++] =
                    (tide_left_mark){.name = "step ends", .rows = mark.rows, .number = mark.number};
            }
            mark.name = "step begins";
            mark.number++; /* it ends the step of its own number */
            is_begin = true;
        } else if ((is_begin && is_open) || strcmp(mark.name, "call begins") == 0) {
            continue;
        } else if (strcmp(mark.name, "step ends") == 0) {
            mark.name = "optimizer ends";
        }
        is_open = is_open || is_begin;
        ret_marks[n++] = mark;
    }
    return n;
}

size_t tide_document_choose_marks(const tide_left_mark *marks, size_t n_marks,
                                  tide_left_mark *ret_marks) {
    size_t n = 0;
    if (has(marks, n_marks, TIDE_DOCUMENT_OWN_STEP)) {
        return choose_own(marks, n_marks, ret_marks);
    }
    const char *other = has(marks, n_marks, "optimizer begins") ? "call begins" : "step begins";
    for (size_t i = 0; i < n_marks; i++) {
        if (strcmp(marks[i].name, other) != 0) {
            ret_marks[n++] = marks[i];
        }
    }
    return n;
}
