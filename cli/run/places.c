/* Places in the program, in words. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/plural.h"
#include "snapshot/document/implementation.h"
#include "snapshot/explain/retries.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/words/user_line.h"

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

bool tide_run_has_pytorch(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        if (of->list->processes[i].torch[0] != '\0') {
            return true;
        }
    }
    return false;
}

void tide_run_say_where(const tide_snapshot *snapshot, int64_t event, tide_text *to) {
    if (event < 0) {
        return;
    }
    const tide_event row = tide_event_at(snapshot, (size_t)event);
    const char *phase = NULL;
    const char *separator = " ";
    for (uint32_t at = row.scope; at != TIDE_NONE; at = snapshot->scopes[at].parent) {
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
    uint32_t frame = tide_user_frame(snapshot, row.stack);
    if (frame != TIDE_NONE) {
        tide_text_add(to, "%sat ", separator);
        tide_user_line_add(snapshot, row.stack, to);
    } else if (phase == NULL) { /* PyTorch has no Python stack in its own threads */
        bool is_pytorch = strcmp(tide_run_who(snapshot), "PyTorch") == 0;
        tide_text_add(to, "%s%s", separator,
                      is_pytorch ? "in a thread of PyTorch's, such as a backward pass"
                                 : "at an unknown line");
    }
}

void tide_run_tell_retries(const tide_run_answer *of, tide_run_place at) {
    const tide_run_saved *process = &of->processes[at.process];
    int64_t n = process->snapshot != NULL ? tide_retries_count(process->snapshot, at.device) : 0;
    if (at.device < process->left->n_devices) {
        /* PyTorch's own count also includes failed requests, and needs no call stacks. */
        const tide_left_peak *peak = &process->left->peaks[at.device];
        n = peak->n_retries - peak->n_oom > n ? peak->n_retries - peak->n_oom : n;
    }
    if (n > 0) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "at the card's limit, %" PRId64 " %s: the device refused a request at first, "
                      "and the allocator freed its cache and asked again, which is slow",
                      n, tide_plural((uint64_t)n, "retry", "retries"));
    }
}
