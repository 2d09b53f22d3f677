/* The part of the peak that depends on when work on streams completes, and the lines that hold
 * it. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/explain/peak_lines.h"

static tide_run_line *find_line(tide_run_figures *in, const char *text) {
    for (size_t i = 0; i < in->n_lines; i++) {
        if (strcmp(in->lines[i].text, text) == 0) {
            return &in->lines[i];
        }
    }
    return NULL;
}

void tide_run_note_lines(const tide_facts *facts, tide_run_figures *to) {
    tide_peak_lines lines;
    size_t n = tide_peak_lines_init(&lines, facts) == TIDE_OK ? lines.n_lines : 0;
    for (; to->n_lines < n && to->n_lines < TIDE_RUN_MAX_LINES; to->n_lines++) {
        tide_run_line *line = &to->lines[to->n_lines];
        tide_text text = tide_text_in(line->text, sizeof(line->text));
        tide_place_add(facts, &lines.lines[to->n_lines].place, &text);
        line->bytes = lines.lines[to->n_lines].bytes;
    }
    tide_peak_lines_fini(&lines);
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
                      most->text, tide_bytes_format(most->bytes, texts[0]),
                      tide_bytes_format(from, texts[1]));
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
