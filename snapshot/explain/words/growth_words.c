#include "snapshot/explain/words/growth_words.h"

#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/explain/words/user_line.h"

/* Named steps in an iteration, if they are a whole number above 1; else 0. */
static size_t steps_of(const tide_facts *facts, const tide_growth_fact *fact) {
    const tide_loop *loop = fact->loop;
    const int64_t *times = facts->snapshot->events.time_ns;
    int64_t from = times[loop->starts[0]];
    int64_t to = times[loop->starts[loop->n_starts - 1]];
    size_t n = 0;
    for (size_t i = 0; i < facts->snapshot->n_scopes; i++) {
        const tide_scope_row *row = &facts->snapshot->scopes[i];
        n += row->kind == TIDE_SCOPE_STEP && row->begin_ns >= from && row->begin_ns < to;
    }
    double each = (double)n / (double)(loop->n_starts - 1);
    size_t whole = (size_t)(each + 0.5);
    double away = each > (double)whole ? each - (double)whole : (double)whole - each;
    return each >= 1.8 && away < 0.45 ? whole : 0;
}

const char *tide_growth_round(const tide_growth_fact *fact) {
    return fact->loop->is_steps ? "step" : fact->loop->is_one_line ? "pass" : "iteration";
}

static void add_rhythm(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to) {
    const char *round = tide_growth_round(fact);
    size_t n_steps = fact->has_backward && !fact->loop->is_one_line ? steps_of(facts, fact) : 0;
    const char *ending = fact->every == 2 ? "nd" : fact->every == 3 ? "rd" : "th";
    if (n_steps > 1 && fact->every == 1) {
        tide_text_add(to, "about once in %zu steps", n_steps);
    } else if (fact->every > 1) {
        tide_text_add(to, "on every %zu%s %s", fact->every, ending, round);
    } else {
        tide_text_add(to, "on each %s", round);
    }
}

void tide_growth_add_loop(const tide_facts *facts, const tide_loop *loop, tide_text *to) {
    const char *function = tide_snapshot_text(facts->snapshot, loop->function);
    const char *file = tide_snapshot_text(facts->snapshot, loop->file);
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    bool has_function = function[0] != '\0' && function[0] != '<';
    if (has_function) {
        tide_text_add(to, "%s (", function);
    }
    tide_text_add(to, "%s:%d", name, (int)loop->first_line);
    if (loop->last_line > loop->first_line) {
        tide_text_add(to, "-%d", (int)loop->last_line);
    }
    tide_text_add(to, "%s", has_function ? ")" : "");
}

void tide_growth_add_kept(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to) {
    char rate[TIDE_BYTES_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    if (fact->loop->is_steps) {
        tide_text_add(to, "The program");
    } else {
        tide_text_add(to, "The loop at ");
        tide_growth_add_loop(facts, fact->loop, to);
    }
    tide_text_add(to, " keeps %s ", tide_bytes_format(fact->rate_bytes, rate));
    add_rhythm(facts, fact, to);
    tide_text_add(to, ", %s in %zu so far", tide_bytes_format(fact->bytes, bytes), fact->n_keeping);
}

void tide_growth_add_line(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to) {
    if (fact->line == TIDE_NONE) {
        return;
    }
    if (fact->line_share > 0.995) {
        tide_text_add(to, ", allocated at ");
    } else {
        tide_text_add(to, ", %.0f %% of it allocated at ", 100 * fact->line_share);
    }
    uint32_t frame = facts->snapshot->stacks[fact->line].frame;
    tide_user_line_add_frame(facts->snapshot, frame, to);
    tide_user_line_add_quote(facts->snapshot, frame, ", ", "", to);
}

int64_t tide_growth_each(const tide_growth_fact *fact) {
    return fact->rate_bytes / (int64_t)fact->every;
}

void tide_growth_add_words(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to) {
    char rate[TIDE_BYTES_TEXT];
    tide_text_add(to, "by %s ", tide_bytes_format(fact->rate_bytes, rate));
    add_rhythm(facts, fact, to);
    if (!fact->loop->is_steps) {
        tide_text_add(to, " of the loop at ");
        tide_growth_add_loop(facts, fact->loop, to);
    }
    tide_text_add(to, ", in %zu so far", fact->n_keeping);
    tide_growth_add_line(facts, fact, to);
}
