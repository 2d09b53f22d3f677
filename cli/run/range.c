/* The part of the peak that depends on when work on streams completes, and the lines that hold
 * it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/explain/words/user_line.h"

static tide_run_line *find_line(tide_run_figures *in, const char *text) {
    for (size_t i = 0; i < in->n_lines; i++) {
        if (strcmp(in->lines[i].text, text) == 0) {
            return &in->lines[i];
        }
    }
    return NULL;
}

/* Stacks of one line are added. Lines without room hold less than each of the others. */
void tide_run_note_lines(const tide_snapshot *snapshot, const tide_split *by_stack,
                         tide_run_figures *to) {
    for (size_t i = 0; i < by_stack->n_shares; i++) {
        char text[TIDE_RUN_LINE_BYTES];
        tide_text builder = tide_text_in(text, sizeof(text));
        tide_user_line_add(snapshot, by_stack->shares[i].key, &builder);
        tide_run_line *line = find_line(to, text);
        if (line == NULL && to->n_lines < TIDE_RUN_MAX_LINES) {
            line = &to->lines[to->n_lines++];
            (void)snprintf(line->text, sizeof(line->text), "%s", text);
        }
        if (line != NULL) {
            line->bytes += by_stack->shares[i].bytes;
        }
    }
}

/* The line whose bytes differ most. */
static void add_difference(tide_run_figures *now, tide_run_figures *late, tide_text *to) {
    const tide_run_line *most = NULL;
    int64_t from = 0;
    int64_t most_bytes = 0;
    char texts[2][TIDE_BYTES_TEXT];
    for (size_t i = 0; i < late->n_lines; i++) {
        const tide_run_line *other = find_line(now, late->lines[i].text);
        int64_t before = other != NULL ? other->bytes : 0;
        int64_t more = late->lines[i].bytes - before;
        if (more > most_bytes) {
            most = &late->lines[i];
            most_bytes = more;
            from = before;
        }
    }
    if (most != NULL) {
        tide_text_add(to, "; what differs most at the two peaks is held by %s: %s instead of %s",
                      most->text[0] != '\0' ? most->text : "PyTorch's threads",
                      tide_bytes_format(most->bytes, texts[0]), tide_bytes_format(from, texts[1]));
    }
}

void tide_run_tell_range(tide_run_figures *now, tide_run_figures *late) {
    char texts[4][TIDE_BYTES_TEXT];
    char difference[512];
    tide_text to = tide_text_in(difference, sizeof(difference));
    if (now->allocated_bytes == late->allocated_bytes &&
        now->reserved_bytes == late->reserved_bytes) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "the peaks are the same when work on streams completes late");
        return;
    }
    add_difference(now, late, &to);
    tide_cli_note(
        TIDE_COMMAND_RUN,
        "the peaks depend on when work on streams completes: allocated %s to %s, reserved "
        "%s to %s; the first figure is for work that completes immediately, the second for "
        "work that completes when the host waits%s%s",
        tide_bytes_format(now->allocated_bytes, texts[0]),
        tide_bytes_format(late->allocated_bytes, texts[1]),
        tide_bytes_format(now->reserved_bytes, texts[2]),
        tide_bytes_format(late->reserved_bytes, texts[3]), difference,
        late->fits ? "" : "; it does not fit then");
}
