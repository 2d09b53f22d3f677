#include "snapshot/user_line.h"

#include <string.h>

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

void tide_user_line_add(const tide_snapshot *snapshot, uint32_t stack, tide_text *to) {
    uint32_t frame = tide_user_frame(snapshot, stack);
    uint32_t own = TIDE_NONE;
    if (frame == TIDE_NONE) {
        return;
    }
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
