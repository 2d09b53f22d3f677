#include "cli/words/snapshot_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/explain/recorder_cost.h"
#include "snapshot/analysis/user_frame.h"

enum { STACK_BYTES = 1024 };

/* The text after a comma, if there is any. */
static void say_part(tide_text *to, const char *text) {
    if (text[0] != '\0') {
        tide_text_add_item(to, ", ", "%s", text);
    }
}

void tide_words_run(const tide_snapshot *snapshot, char *ret_text, size_t n_room) {
    const tide_snapshot_run *run = &snapshot->run;
    tide_text to = tide_text_in(ret_text, n_room);
    say_part(&to, tide_implementation_words(run->implementation));
    if (run->model.size != NULL) {
        say_part(&to, run->model.size);
    }
    say_part(&to, run->mode);
    say_part(&to, run->precision);
    say_part(&to, run->attention);
    if (strcmp(run->recompute, "none") != 0 && run->recompute[0] != '\0') {
        tide_text_add(&to, ", recompute %s", run->recompute);
    }
    say_part(&to, run->cuda_graph ? "CUDA graph" : "");
    if (run->batch_size >= 0) {
        tide_text_add_item(&to, ", ", "batch %" PRId64, run->batch_size);
    }
    if (run->context_length >= 0) {
        tide_text_add_item(&to, ", ", "context %" PRId64, run->context_length);
    }
    if (snapshot->n_devices > 0) {
        const tide_snapshot_device *device = &snapshot->devices[0];
        char total[TIDE_BYTES_TEXT];
        bool sized = device->total_bytes >= 0;
        tide_text_add_item(&to, ", ", "on %s", device->kind);
        if (device->name[0] != '\0' || sized) {
            /* The cpu device has no size of its own: its capacity is the host's free memory. */
            bool is_cpu = strcmp(device->kind, "cpu") == 0;
            tide_text_add(&to, " (%s%s%s%s)", device->name,
                          device->name[0] != '\0' && sized ? ", " : "",
                          sized ? tide_bytes_format(device->total_bytes, total) : "",
                          sized && is_cpu ? " free at the start" : "");
        }
        if (snapshot->n_devices > 1) {
            tide_text_add(&to, " and %zu more", snapshot->n_devices - 1);
        }
    }
    if (run->memory_limit_bytes >= 0) {
        char limit[TIDE_BYTES_TEXT];
        tide_text_add(&to, ", limited to %s", tide_bytes_format(run->memory_limit_bytes, limit));
    }
}

void tide_words_peak_place(const tide_summary_peak *peak, char *ret_text, size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    if (peak->step_name[0] != '\0') {
        tide_text_add(&to, "%s", peak->step_name);
        if (peak->step >= 0) {
            tide_text_add(&to, " %" PRId64, peak->step);
        }
    }
    say_part(&to, peak->scope_path);
}

const char *tide_words_scope(const char *path) {
    return path[0] != '\0' ? path : "(outside every scope)";
}

void tide_words_categories(const tide_summary_peak *peak, char *ret_text, size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    bool said[TIDE_MAX_CATEGORIES] = {false};
    for (;;) {
        const tide_share *next = NULL;
        for (size_t i = 0; i < peak->by_category.n_shares; i++) {
            const tide_share *share = &peak->by_category.shares[i];
            if (!said[share->key] && share->bytes > (next == NULL ? 0 : next->bytes)) {
                next = share;
            }
        }
        if (next == NULL) {
            return;
        }
        said[next->key] = true;
        tide_text_add_item(&to, ", ", "%.1f %% %s",
                           100.0 * (double)next->bytes / (double)peak->totals.allocated_bytes,
                           next->label);
    }
}

/* The nearest node, from this one outwards, that is shown, or TIDE_NONE. */
static uint32_t shown_node(const tide_snapshot *snapshot, uint32_t stack, bool users_only) {
    while (users_only && stack != TIDE_NONE &&
           !tide_frame_is_user(snapshot, snapshot->stacks[stack].frame)) {
        stack = snapshot->stacks[stack].parent;
    }
    return stack;
}

/* Whether the innermost frame is a template of CUDA's header, such as cudaMalloc<float>, which
 * calls the runtime. */
static bool is_wrapper(const tide_snapshot *snapshot, uint32_t stack) {
    if (stack == TIDE_NONE) {
        return false;
    }
    const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[stack].frame];
    return strstr(tide_snapshot_text(snapshot, frame->file), "/cuda_runtime.h") != NULL &&
           snapshot->stacks[stack].parent != TIDE_NONE;
}

void tide_words_stack(const tide_snapshot *snapshot, uint32_t stack, size_t max_frames,
                      char *ret_text, size_t n_room) {
    tide_text to = tide_text_in(ret_text, n_room);
    if (stack == TIDE_NONE) {
        tide_text_add(&to, "(none recorded)");
    }
    /* Of a stack that passes through an interpreter, only the user's frames are shown, if there are
     * any; otherwise the frames from the representative one on. */
    bool is_foreign = snapshot->origin.format[0] != '\0';
    bool users_only = is_foreign && shown_node(snapshot, stack, true) != TIDE_NONE;
    uint32_t told_by = is_foreign ? tide_user_frame(snapshot, stack) : TIDE_NONE;
    while (told_by != TIDE_NONE && snapshot->stacks[stack].frame != told_by) {
        stack = snapshot->stacks[stack].parent;
    }
    while (is_wrapper(snapshot, stack)) {
        stack = snapshot->stacks[stack].parent;
    }
    for (size_t i = 0; i < max_frames && stack != TIDE_NONE; i++) {
        const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[stack].frame];
        const char *function = tide_snapshot_text(snapshot, frame->function);
        const char *file = tide_snapshot_text(snapshot, frame->file);
        tide_text_add(&to, "%s%s", i > 0 ? " < " : "", function[0] != '\0' ? function : "?");
        if (file[0] != '\0') {
            tide_text_add(&to, " (%s:%d)", file, (int)frame->line);
        }
        stack = shown_node(snapshot, snapshot->stacks[stack].parent, users_only);
    }
    if (stack != TIDE_NONE) {
        tide_text_add(&to, " < ...");
    }
}

const char *tide_report_stack(tide_report *report, const tide_snapshot *snapshot, uint32_t stack,
                              size_t max_frames) {
    char words[STACK_BYTES];
    tide_words_stack(snapshot, stack, max_frames, words, sizeof(words));
    return tide_report_text(report, "%s", words);
}

/* Two significant digits: "12", "0.012". */
static void say_percent(tide_text *to, double share) {
    double percent = 100.0 * share;
    double size = fabs(percent);
    if (size > 0.0 && size < 0.001) {
        tide_text_add(to, "%s0.001 %%", percent < 0.0 ? "above -" : "below ");
    } else {
        int n_decimals = size >= 9.95 ? 0 : size >= 0.995 ? 1 : size >= 0.0995 ? 2 : 3;
        tide_text_add(to, "%.*f %%", n_decimals, percent);
    }
}

static void say_pairs(tide_text *to, const tide_recorder_cost *cost) {
    bool shows = tide_recorder_cost_shows(cost);
    tide_text_add(to, "recording on and off: ");
    if (cost->low_share <= 0.0) {
        tide_text_add(to, "not distinguishable from 0 within ± ");
        say_percent(to, fmax(fabs(cost->low_share), fabs(cost->high_share)));
    } else {
        if (shows) {
            say_percent(to, cost->pair_share);
            tide_text_add(to, " of a step, ");
        }
        say_percent(to, cost->low_share);
        tide_text_add(to, " to ");
        say_percent(to, cost->high_share);
        tide_text_add(to, shows ? " with 95 %% confidence"
                                : " of a step, which so few cannot distinguish from chance");
    }
    tide_text_add(to, " (%zu pair%s of steps)", cost->n_pairs, tide_plural(cost->n_pairs, "", "s"));
}

void tide_words_recorder(const tide_snapshot *snapshot, char *ret_text, size_t n_room) {
    tide_recorder_cost cost = tide_recorder_cost_of(snapshot);
    tide_text to = tide_text_in(ret_text, n_room);
    if (cost.event_share < 0.0 && cost.n_pairs == 0) {
        return;
    }
    tide_text_add(&to, "recorder: ");
    if (cost.event_share >= 0.0) {
        say_percent(&to, cost.event_share);
        tide_text_add(&to, " of a step by its cost per event (%" PRId64 " %s of %.0f ns)%s",
                      cost.n_events, tide_plural((uint64_t)cost.n_events, "event", "events"),
                      cost.ns_per_event, cost.n_pairs > 0 ? "; " : "");
    }
    if (cost.n_pairs > 0) {
        say_pairs(&to, &cost);
    }
}

void tide_words_lost(const tide_snapshot *snapshot, char ret_text[TIDE_LOST_TEXT]) {
    tide_text to = tide_text_in(ret_text, TIDE_LOST_TEXT);
    if (snapshot->n_dropped == 0) {
        return;
    }
    tide_text_add(&to, "%s%" PRIu64 " %s lost", snapshot->full_policy[0] == '\0' ? "at least " : "",
                  snapshot->n_dropped, snapshot->n_dropped == 1 ? "event was" : "events were");
    if (strcmp(snapshot->origin.format, "pytorch") == 0) {
        tide_text_add(&to, ": PyTorch's history was full or was started again");
    } else if (snapshot->full_policy[0] != '\0') {
        tide_text_add(&to, " because the log was full (%s)", snapshot->full_policy);
    } else {
        tide_text_add(&to, ", damaged in the log or missing from it");
    }
}

unsigned tide_emulated_types(const char *precision) {
    return strncmp(precision, "bf16", 4) == 0   ? TIDE_EMULATED_BF16
           : strncmp(precision, "fp16", 4) == 0 ? TIDE_EMULATED_FP16
                                                : 0;
}

unsigned tide_words_emulated(const tide_snapshot *snapshot) {
    bool is_cpu = false;
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        is_cpu = is_cpu || strcmp(snapshot->devices[i].kind, "cpu") == 0;
    }
    return is_cpu ? tide_emulated_types(snapshot->run.precision) : 0;
}

void tide_report_categories(tide_report *report, const char *title, const tide_summary_peak *peak) {
    tide_table *table = tide_report_table(report, "categories", title);
    TIDE_COLUMNS(table, TIDE_TEXT("category", "category"), TIDE_NUMBER("bytes", "bytes"),
                 TIDE_NUMBER("share_percent", "share"));
    for (size_t i = 0; i < peak->by_category.n_shares; i++) {
        const tide_share *share = &peak->by_category.shares[i];
        if (share->bytes > 0) {
            TIDE_ROW(table, tide_as_text(share->label), tide_as_bytes(share->bytes),
                     tide_as_share((double)share->bytes, (double)peak->totals.allocated_bytes));
        }
    }
}

void tide_say_emulated(tide_report *report, unsigned types, const char *name) {
    static const char *const WORDS[] = {"", "bf16 is", "fp16 is", "bf16 and fp16 are"};
    const char *their = types == (TIDE_EMULATED_BF16 | TIDE_EMULATED_FP16) ? "their" : "its";
    if (types == 0) {
        return;
    }
    tide_report_say(report, "emulated",
                    "note: %s emulated on the cpu%s%s: %s bytes are real, %s times are not "
                    "representative",
                    WORDS[types], name != NULL ? " in " : "", name != NULL ? name : "", their,
                    their);
}

void tide_say_unfinished(tide_report *report, const tide_snapshot *snapshot, const char *name) {
    const struct {
        const char *outcome; /* in a snapshot */
        const char *key;     /* of the sentence */
        const char *alone;   /* the words that replace the name of the only run */
        const char *words;
    } ENDS[] = {{TIDE_SNAPSHOT_STOPPED, "stopped", "the run was ",
                 "stopped before its end, where its peak may lie"},
                {TIDE_SNAPSHOT_CRASHED, "crashed", "",
                 "recovered from the log of a program that ended without closing it: its peak may "
                 "lie later"},
                {TIDE_SNAPSHOT_RUNNING, "running", "",
                 "taken while the run went on: its peak may have come later"}};
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        if (strcmp(snapshot->run.outcome, ENDS[i].outcome) == 0) {
            tide_report_say(report, ENDS[i].key, "note: %s%s%s",
                            name != NULL ? name : ENDS[i].alone, name != NULL ? " was " : "",
                            ENDS[i].words);
        }
    }
}

const char *tide_words_steps(tide_report *report, const tide_steps *steps) {
    switch (steps->source) {
    case TIDE_STEPS_PROFILER:
        return "; the steps are those that PyTorch's profiler annotated";
    case TIDE_STEPS_OPTIMIZER:
        return "; each step ends where the optimizer's annotation does";
    case TIDE_STEPS_INFERRED:
        return tide_report_text(report,
                                "; the steps are inferred: %zu allocations repeat, which make up "
                                "%.0f %% of all",
                                steps->n_period_allocs, 100.0 * steps->period_share);
    default:
        return "";
    }
}

const char *tide_words_total(int total) {
    static const char *const NAMES[TIDE_N_MAX] = {"requested", "allocated", "active", "reserved"};
    return NAMES[total];
}

const char *tide_words_total_rule(int total) {
    static const char *const RULES[TIDE_N_MAX] = {
        [TIDE_MAX_REQUESTED] = "sizes asked for, until the release completes",
        [TIDE_MAX_ALLOCATED] = "whole blocks, until the release is requested",
        [TIDE_MAX_ACTIVE] = "whole blocks, until the release completes",
        [TIDE_MAX_RESERVED] = "segments"};
    return RULES[total];
}
