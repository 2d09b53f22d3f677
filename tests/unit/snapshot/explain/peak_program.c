#include "peak_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/made_snapshot.h"

static uint32_t string_of(peak_program *to, const char *text) {
    for (size_t i = 0; i < to->n_strings; i++) {
        if (strcmp(to->strings[i], text) == 0) {
            return (uint32_t)i;
        }
    }
    assert_true(to->n_strings < PEAK_ROWS);
    to->strings[to->n_strings] = text;
    return (uint32_t)to->n_strings++;
}

static uint32_t frame_of(peak_program *to, const char *function, const char *file, int line) {
    tide_frame_row row = {
        .function = string_of(to, function), .file = string_of(to, file), .line = line};
    for (size_t i = 0; i < to->n_frames; i++) {
        const tide_frame_row *at = &to->frames[i];
        if (at->function == row.function && at->file == row.file && at->line == row.line) {
            return (uint32_t)i;
        }
    }
    assert_true(to->n_frames < PEAK_ROWS);
    to->frames[to->n_frames] = row;
    return (uint32_t)to->n_frames++;
}

uint32_t peak_call(peak_program *to, uint32_t caller, const char *function, const char *file,
                   int line) {
    uint32_t frame = frame_of(to, function, file, line);
    for (size_t i = 0; i < to->n_stacks; i++) {
        if (to->stacks[i].parent == caller && to->stacks[i].frame == frame) {
            return (uint32_t)i;
        }
    }
    assert_true(to->n_stacks < PEAK_ROWS);
    to->stacks[to->n_stacks] = (tide_stack_row){.parent = caller, .frame = frame};
    return (uint32_t)to->n_stacks++;
}

uint32_t peak_module(peak_program *to, uint32_t caller, const char *function, const char *file,
                     int line) {
    uint32_t inner = peak_call(to, caller, "Module._call_impl", TORCH "nn/modules/module.py", 1776);
    return peak_call(to, inner, function, file, line);
}

uint32_t peak_scope(peak_program *to, uint32_t parent, tide_scope_kind kind, const char *name) {
    assert_true(to->n_scopes < PEAK_ROWS);
    to->scopes[to->n_scopes] = (tide_scope_row){.name = string_of(to, name),
                                                .parent = parent,
                                                .duration_ns = 1,
                                                .device_begin_ns = -1,
                                                .device_duration_ns = -1,
                                                .kind = (uint8_t)kind};
    return (uint32_t)to->n_scopes++;
}

static tide_event *add(peak_program *to, tide_action action, uint64_t address, uint64_t bytes) {
    assert_true(to->n_events < PEAK_ROWS);
    tide_event *row = &to->events[to->n_events];
    *row = made_event(action, address, bytes, bytes);
    row->time_ns = (int64_t)to->n_events;
    to->modes[to->n_events++] = action == TIDE_ACTION_ALLOC ? to->mode : TIDE_AUTOGRAD_UNKNOWN;
    return row;
}

uint64_t peak_alloc(peak_program *to, const peak_block *block) {
    uint64_t address = (uint64_t)(to->n_events + 1) << 40;
    tide_event *row = add(to, TIDE_ACTION_ALLOC, address, block->bytes);
    row->stack = block->stack;
    row->scope = block->scope;
    row->category = (uint8_t)block->category;
    row->name = block->name != NULL ? string_of(to, block->name) : TIDE_NONE;
    return address;
}

void peak_free_in(peak_program *to, uint64_t address, uint32_t scope) {
    uint64_t bytes = to->events[(address >> 40) - 1].block_bytes;
    add(to, TIDE_ACTION_FREE_REQUESTED, address, bytes)->scope = scope;
    add(to, TIDE_ACTION_FREE_COMPLETED, address, bytes)->scope = scope;
}

void peak_free(peak_program *to, uint64_t address) {
    peak_free_in(to, address, TIDE_NONE);
}

void peak_fail(peak_program *to, uint64_t bytes, uint64_t free_bytes, uint32_t stack,
               uint32_t scope) {
    tide_event *row = add(to, TIDE_ACTION_OOM, 0, bytes);
    row->block_bytes = free_bytes;
    row->stack = stack;
    row->scope = scope;
}

void peak_text(peak_program *to, int line, const char *text) {
    assert_true(to->n_source < PEAK_ROWS);
    to->source[to->n_source++] =
        (tide_source_row){string_of(to, USER), (uint64_t)line, text, false};
}

/* The facts of a program. */
typedef struct derived {
    tide_snapshot *snapshot;
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_snapshot_setting software;
} derived;

static void derive(const peak_program *of, derived *to) {
    const made_tables tables = {.strings = of->strings,
                                .n_strings = of->n_strings,
                                .scopes = of->scopes,
                                .n_scopes = of->n_scopes,
                                .frames = of->frames,
                                .n_frames = of->n_frames,
                                .stacks = of->stacks,
                                .n_stacks = of->n_stacks,
                                .n_devices = 1};
    to->snapshot = made_snapshot(NULL, &tables, of->events, of->n_events);
    to->snapshot->origin.format = of->is_pickle ? "pytorch" : "";
    to->snapshot->event_mode = of->mode != TIDE_AUTOGRAD_UNKNOWN ? of->modes : NULL;
    to->snapshot->source = of->source;
    to->snapshot->n_source = of->n_source;
    to->software = (tide_snapshot_setting){.name = "torch", .text = of->torch};
    to->snapshot->software = &to->software;
    to->snapshot->n_software = of->torch != NULL;
    to->snapshot->plan = of->plan;
    to->snapshot->n_plan = of->n_plan;
    to->snapshot->run.command = of->command != NULL ? of->command : "";
    to->snapshot->forecast.card = of->card != NULL ? of->card : "";
    to->snapshot->rank.rank = of->rank - 1;
    assert_int_equal(
        tide_lifetimes_init(&to->lifetimes, to->snapshot, tide_hostmem_default(), NULL), TIDE_OK);
    assert_int_equal(tide_facts_init(&to->facts, to->snapshot, &to->lifetimes, 0), TIDE_OK);
}

static void end(derived *of) {
    tide_facts_fini(&of->facts);
    tide_lifetimes_fini(&of->lifetimes);
    tide_snapshot_destroy(of->snapshot);
}

/* The sentence of a cause and its cure; both "" if it does not fire. */
static void find_cause(const peak_program *of, const char *id, char words[PEAK_TEXT],
                       char cure[PEAK_TEXT]) {
    derived from;
    tide_causes causes;
    derive(of, &from);
    assert_int_equal(tide_causes_init(&causes, &from.facts), TIDE_OK);
    const tide_cause *found = tide_causes_find(&causes, id);
    (void)snprintf(words, PEAK_TEXT, "%s", found != NULL ? found->words : "");
    (void)snprintf(cure, PEAK_TEXT, "%s", found != NULL ? found->cure : "");
    assert_true(found == NULL || found->cure[0] != '\0');
    tide_causes_fini(&causes);
    end(&from);
}

static void assert_has(const char *id, const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        print_error("%s: \"%s\" has no \"%s\"\n", id, text, part);
    }
    assert_non_null(strstr(text, part));
}

uint32_t peak_at(peak_program *to, int line) {
    return peak_call(to, TIDE_NONE, "main", USER, line);
}

uint64_t peak_put(peak_program *to, uint64_t mib, uint32_t stack, uint32_t scope,
                  tide_category category) {
    const peak_block block = {mib * MIB, stack, scope, category, NULL};
    return peak_alloc(to, &block);
}

void peak_has(const peak_program *of, const char *id, const char *part) {
    char words[PEAK_TEXT];
    char cure[PEAK_TEXT];
    find_cause(of, id, words, cure);
    assert_has(id, words, part);
}

void peak_cured_by(const peak_program *of, const char *id, const char *part) {
    char words[PEAK_TEXT];
    char cure[PEAK_TEXT];
    find_cause(of, id, words, cure);
    assert_has(id, cure, part);
}

void peak_lacks(const peak_program *of, const char *id) {
    char words[PEAK_TEXT];
    char cure[PEAK_TEXT];
    find_cause(of, id, words, cure);
    assert_string_equal(words, "");
}

void peak_plan(const peak_program *of, char words[PEAK_TEXT]) {
    derived from;
    tide_causes causes;
    tide_text text = tide_text_in(words, PEAK_TEXT);
    derive(of, &from);
    assert_int_equal(tide_causes_init(&causes, &from.facts), TIDE_OK);
    tide_plan_words_add(&from.facts, &causes, &text);
    tide_causes_fini(&causes);
    end(&from);
}

void peak_sentences(const peak_program *of, char lines[PEAK_TEXT], char kinds[PEAK_TEXT]) {
    derived from;
    tide_peak_lines grouped;
    tide_text first = tide_text_in(lines, PEAK_TEXT);
    tide_text second = tide_text_in(kinds, PEAK_TEXT);
    derive(of, &from);
    assert_int_equal(tide_peak_lines_init(&grouped, &from.facts), TIDE_OK);
    tide_peak_words_add(&from.facts, &grouped, NULL, &first);
    tide_peak_words_add_kinds(&from.facts, &grouped, &second);
    tide_peak_lines_fini(&grouped);
    end(&from);
}
