/* Where in the program something happened, in words. */
#include <string.h>

#include "cli/run/internal.h"
#include "common/bytes.h"
#include "snapshot/implementation.h"
#include "snapshot/user_frame.h"

enum { PLACE_BYTES = 256 };

/* "gpt.py:15 (forward)"; a function of PyTorch's has no line. */
static void say_frame(const tide_snapshot *snapshot, uint32_t frame, tide_text *to) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *file = tide_snapshot_text(snapshot, row->file);
    const char *function = tide_snapshot_text(snapshot, row->function);
    const char *slash = strrchr(file, '/');
    if (row->line <= 0 || file[0] == '\0') {
        char text[PLACE_BYTES];
        tide_frame_text(snapshot, frame, text, sizeof(text));
        tide_text_add(to, "%s", text);
        return;
    }
    tide_text_add(to, "%s:%d", slash != NULL ? slash + 1 : file, (int)row->line);
    if (function[0] != '\0' && function[0] != '<') { /* "<module>" says nothing */
        tide_text_add(to, " (%s)", function);
    }
}

/* Whether the frame is in a file of the program's own, and not of a package that it uses. */
static bool is_own(const tide_snapshot *snapshot, uint32_t frame) {
    const char *file = tide_snapshot_text(snapshot, snapshot->frames[frame].file);
    return tide_frame_is_user(snapshot, frame) && strstr(file, "-packages/") == NULL;
}

/* The line of a stack. In a library's own code it is the line of the program from which that was
 * called, with the library's line behind it: "at run.py:8 (main), in model.py:104 (forward)". */
static void say_line(const tide_snapshot *snapshot, uint32_t stack, uint32_t frame, tide_text *to) {
    uint32_t own = TIDE_NONE;
    for (uint32_t at = stack; at != TIDE_NONE && own == TIDE_NONE;
         at = snapshot->stacks[at].parent) {
        own = is_own(snapshot, snapshot->stacks[at].frame) ? snapshot->stacks[at].frame : TIDE_NONE;
    }
    if (own != TIDE_NONE && own != frame && !is_own(snapshot, frame)) {
        say_frame(snapshot, own, to);
        tide_text_add(to, ", in ");
    }
    say_frame(snapshot, frame, to);
}

static const char *phase_text(const char *phase) {
    return strcmp(phase, "forward") == 0     ? "in the forward pass"
           : strcmp(phase, "backward") == 0  ? "in the backward pass"
           : strcmp(phase, "optimizer") == 0 ? "in the optimizer"
                                             : phase;
}

const char *tide_run_who(const tide_snapshot *snapshot) {
    return snapshot == NULL ||
                   strcmp(snapshot->run.implementation, TIDE_IMPLEMENTATION_RECORDED) == 0
               ? "PyTorch"
               : "the program";
}

void tide_run_say_where(const tide_snapshot *snapshot, int64_t event, tide_text *to) {
    if (event < 0) {
        return;
    }
    const tide_event *row = &snapshot->events[event];
    const char *phase = NULL;
    const char *separator = " ";
    for (uint32_t at = row->scope; at != TIDE_NONE; at = snapshot->scopes[at].parent) {
        const tide_scope_row *scope = &snapshot->scopes[at];
        if (scope->kind == TIDE_SCOPE_PHASE) {
            phase = tide_snapshot_text(snapshot, scope->name);
        } else if (scope->kind == TIDE_SCOPE_STEP) {
            tide_text_add(to, " in step %d", (int)scope->index);
            separator = ", ";
        }
    }
    if (phase != NULL) {
        tide_text_add(to, "%s%s", separator, phase_text(phase));
        separator = ", ";
    }
    uint32_t frame = tide_user_frame(snapshot, row->stack);
    if (frame != TIDE_NONE) {
        tide_text_add(to, "%sat ", separator);
        say_line(snapshot, row->stack, frame, to);
    } else if (phase == NULL) { /* PyTorch has no Python stack in its own threads */
        tide_text_add(to, "%sin a thread of PyTorch's, such as a backward pass", separator);
    }
}

void tide_run_say_largest(const tide_snapshot *snapshot, const tide_split *by_stack,
                          tide_text *to) {
    for (size_t i = 0; i < by_stack->n_shares; i++) {
        uint32_t frame = tide_user_frame(snapshot, by_stack->shares[i].key);
        if (frame != TIDE_NONE) {
            char bytes[TIDE_BYTES_TEXT];
            tide_text_add(to, "; the line that holds the most is ");
            say_line(snapshot, by_stack->shares[i].key, frame, to);
            tide_text_add(to, ", with %s", tide_bytes_format(by_stack->shares[i].bytes, bytes));
            return;
        }
    }
}
