/* The kinds of blocks that torch.nn.Module._apply moves: parameters, their gradients, buffers.
 *
 * One function moves all three, on three lines in this order; the line numbers differ between
 * versions. A gradient is moved right after its parameter and has its size. Buffers come after all
 * parameters of a module.
 */
#include <stdint.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/category_rules_internal.h"
#include "snapshot/analysis/path_text_friend.h"

/* The allocations of a line of _apply. */
typedef struct line_count {
    uint32_t n_allocations;
    uint32_t n_after_parameter; /* of these: right after one of the same size by an earlier line */
    bool is_apply;              /* the frame is of Module._apply */
} line_count;

static bool is_apply(const tide_snapshot *snapshot, const tide_frame_row *row) {
    char file[TIDE_PATH_TEXT];
    if (strcmp(tide_last_name(tide_snapshot_text(snapshot, row->function)), "_apply") != 0) {
        return false;
    }
    tide_path_text(tide_snapshot_text(snapshot, row->file), file);
    return strstr(file, "torch/nn/modules/") != NULL;
}

/* The innermost frame of _apply of each stack; TIDE_NONE. */
static void find_innermost(const tide_snapshot *snapshot, const line_count *lines, uint32_t *ret) {
    for (size_t i = 0; i < snapshot->n_stacks; i++) { /* callers come first */
        const tide_stack_row *row = &snapshot->stacks[i];
        ret[i] = lines[row->frame].is_apply ? row->frame
                 : row->parent != TIDE_NONE ? ret[row->parent]
                                            : TIDE_NONE;
    }
}

/* Counts the allocations of each line, and finds the first allocating line of each file. */
static void count_lines(const tide_snapshot *snapshot, const uint32_t *innermost, line_count *lines,
                        int32_t *first_line) {
    size_t last = SIZE_MAX; /* row of the last allocation by such a line; SIZE_MAX: none */
    const tide_event_table *events = &snapshot->events;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (events->action[i] != TIDE_ACTION_ALLOC) {
            continue;
        }
        uint32_t stack = tide_index_at(&events->stack, i);
        uint32_t frame = stack != TIDE_NONE ? innermost[stack] : TIDE_NONE;
        if (frame == TIDE_NONE) {
            last = SIZE_MAX;
            continue;
        }
        const tide_frame_row *row = &snapshot->frames[frame];
        lines[frame].n_allocations++;
        if (last != SIZE_MAX && events->device[last] == events->device[i] &&
            tide_bytes_at(&events->requested_bytes, last) ==
                tide_bytes_at(&events->requested_bytes, i)) {
            const tide_frame_row *before =
                &snapshot->frames[innermost[tide_index_at(&events->stack, last)]];
            lines[frame].n_after_parameter += before->file == row->file && before->line < row->line;
        }
        if (row->file < snapshot->n_strings && row->line < first_line[row->file]) {
            first_line[row->file] = row->line;
        }
        last = i;
    }
}

static uint8_t rule_of_line(const tide_frame_row *row, const line_count *line,
                            const int32_t *first_line, size_t n_files) {
    if (row->file >= n_files || row->line <= first_line[row->file]) {
        return TIDE_RULE_PARAMETER;
    }
    TIDE_ASSERT(line->n_after_parameter <= line->n_allocations);
    return line->n_after_parameter == line->n_allocations ? TIDE_RULE_MOVED_GRADIENT
                                                          : TIDE_RULE_MOVED_BUFFER;
}

static void set_rules(const tide_snapshot *snapshot, const uint32_t *innermost,
                      const line_count *lines, const int32_t *first_line, uint8_t *ret) {
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        uint32_t frame = innermost[i];
        ret[i] = frame == TIDE_NONE ? TIDE_RULE_PARAMETER
                                    : rule_of_line(&snapshot->frames[frame], &lines[frame],
                                                   first_line, snapshot->n_strings);
    }
}

uint8_t *tide_rule_moved(const tide_snapshot *snapshot, const tide_hostmem *mem) {
    uint8_t *rules = tide_hostmem_zeroed(mem, snapshot->n_stacks, sizeof(*rules));
    line_count *lines = tide_hostmem_zeroed(mem, snapshot->n_frames, sizeof(*lines));
    uint32_t *innermost = tide_hostmem_zeroed(mem, snapshot->n_stacks, sizeof(*innermost));
    int32_t *first_line = tide_hostmem_zeroed(mem, snapshot->n_strings, sizeof(*first_line));
    if (rules != NULL && lines != NULL && innermost != NULL && first_line != NULL) {
        for (size_t i = 0; i < snapshot->n_frames; i++) {
            lines[i].is_apply = is_apply(snapshot, &snapshot->frames[i]);
        }
        for (size_t i = 0; i < snapshot->n_strings; i++) {
            first_line[i] = INT32_MAX;
        }
        find_innermost(snapshot, lines, innermost);
        count_lines(snapshot, innermost, lines, first_line);
        set_rules(snapshot, innermost, lines, first_line, rules);
    } else {
        mem->release(mem->ctx, rules);
        rules = NULL;
    }
    mem->release(mem->ctx, first_line);
    mem->release(mem->ctx, innermost);
    mem->release(mem->ctx, lines);
    return rules;
}
