/* What `tidemark fit` prints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fit_internal.h"
#include "cli/peak_tensors.h"
#include "common/bytes.h"
#include "common/plural.h"

enum { VALUE_BYTES = 48, PHRASE_BYTES = 96 };

static int64_t countable(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
}

/* "24", "medium". */
static const char *value_text(const tide_fit_row *row, uint64_t value, char text[VALUE_BYTES]) {
    if (row->question.what == TIDE_FIT_MODEL) {
        const char *name = tide_model_preset_name((size_t)value - 1);
        snprintf(text, VALUE_BYTES, "%s", name != NULL ? name : "?");
    } else {
        snprintf(text, VALUE_BYTES, "%" PRIu64, value);
    }
    return text;
}

/* "batch 24", "24 layers", "model medium". */
static const char *value_phrase(const tide_fit_row *row, uint64_t value, char text[PHRASE_BYTES]) {
    char number[VALUE_BYTES];
    value_text(row, value, number);
    if (row->question.what == TIDE_FIT_LAYERS) {
        snprintf(text, PHRASE_BYTES, "%s layer%s", number, tide_plural(value, "", "s"));
    } else {
        snprintf(text, PHRASE_BYTES, "%s %s", tide_fit_what_name(row->question.what), number);
    }
    return text;
}

static bool is_plural(const tide_fit_row *row, uint64_t value) {
    return row->question.what == TIDE_FIT_LAYERS && value != 1;
}

/* What the room is made of: of each device once. */
static void say_room(const tide_fit_row *row, tide_report *report) {
    const tide_device_info *device = &row->device;
    size_t limit_bytes = row->question.room.cache.memory_limit_bytes;
    char usable[TIDE_BYTES_TEXT];
    char total[TIDE_BYTES_TEXT];
    char context[TIDE_BYTES_TEXT];
    char limit[TIDE_BYTES_TEXT];
    char limited[TIDE_BYTES_TEXT + 64] = "";
    tide_bytes_format(countable(row->answer.usable_bytes), usable);
    if (limit_bytes != TIDE_UNLIMITED) {
        snprintf(limited, sizeof(limited), ", within a memory limit of %s",
                 tide_bytes_format(countable(limit_bytes), limit));
    }
    if (device->total_bytes < 0) {
        tide_report_say(report, "room", "%s: %s usable%s", device->spec, usable, limited);
        return;
    }
    tide_bytes_format(device->total_bytes, total);
    if (device->context_bytes < 0) {
        tide_report_say(report, "room",
                        "%s (%s): %s usable of %s%s; what context and libraries take is not "
                        "measured, a real run has less",
                        device->spec, device->name, usable, total, limited);
        return;
    }
    tide_report_say(report, "room", "%s (%s): %s usable of %s, %s less for context and libraries%s",
                    device->spec, device->name, usable, total,
                    tide_bytes_format(device->context_bytes, context), limited);
}

static void say_rooms(const tide_fit_row *rows, size_t n_rows, tide_report *report) {
    for (size_t i = 0; i < n_rows; i++) {
        bool is_said = false;
        for (size_t k = 0; k < i; k++) {
            is_said = is_said || strcmp(rows[k].device.spec, rows[i].device.spec) == 0;
        }
        if (!is_said) {
            say_room(&rows[i], report);
        }
    }
}

/* ---- the answer in words ---- */

static void say_value(const tide_fit_row *row, tide_report *report) {
    const tide_fit_answer *answer = &row->answer;
    char phrase[PHRASE_BYTES];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char margin[TIDE_BYTES_TEXT];
    if (answer->value == 0) {
        tide_report_say(report, "answer", "%s: nothing fits, not even %s", row->name,
                        value_phrase(row, answer->next_value, phrase));
        return;
    }
    tide_report_say(
        report, "answer", "%s: %s fit%s%s: %s allocated and %s reserved at most, which leaves %s",
        row->name, value_phrase(row, answer->value, phrase),
        is_plural(row, answer->value) ? "" : "s",
        answer->next_value == 0 ? ", the largest that a run may have" : "",
        tide_bytes_format(countable(answer->run.allocated_bytes), allocated),
        tide_bytes_format(countable(answer->run.reserved_bytes), reserved),
        tide_bytes_format(countable(answer->usable_bytes - answer->run.reserved_bytes), margin));
}

static void say_next(const tide_fit_row *row, tide_report *report) {
    const tide_fit_answer *answer = &row->answer;
    char phrase[PHRASE_BYTES];
    char needed[TIDE_BYTES_TEXT];
    char more[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    if (answer->next_value == 0) {
        return;
    }
    tide_report_say(report, "next",
                    "%s do%s not fit: %s more are needed, %s in all (%s where nothing is short)",
                    value_phrase(row, answer->next_value, phrase),
                    is_plural(row, answer->next_value) ? "" : "es",
                    tide_bytes_format(countable(answer->needed_bytes - answer->usable_bytes), more),
                    tide_bytes_format(countable(answer->needed_bytes), needed),
                    tide_bytes_format(countable(answer->next_run.reserved_bytes), reserved));
}

/* What the reader should know before trusting the value. */
static void say_doubts(const tide_fit_row *row, tide_report *report) {
    const tide_fit_answer *answer = &row->answer;
    char phrase[PHRASE_BYTES];
    if (answer->value != 0 && answer->run.n_retries > 0) {
        tide_report_say(report, "retries",
                        "at %s the cache has to give all that it holds back to the device %" PRIu64
                        " time%s in %zu %s, and buys again, which costs time",
                        value_phrase(row, answer->value, phrase), answer->run.n_retries,
                        tide_plural(answer->run.n_retries, "", "s"), row->question.workload.steps,
                        tide_plural(row->question.workload.steps, "step", "steps"));
    }
    if (answer->lowest_unfit != 0 && answer->lowest_unfit < answer->value) {
        tide_report_say(report, "gap",
                        "%s, though less, does not fit: the cache breaks its segments up in "
                        "another way",
                        value_phrase(row, answer->lowest_unfit, phrase));
    }
    if (!answer->is_every_one_seen) {
        tide_report_say(report, "search",
                        "found by bisection and %d tries above: one between them may fit all the "
                        "same",
                        (int)TIDE_FIT_MAX_ABOVE);
    }
}

/* What PyTorch would have room for, beside. */
static void say_eager(const tide_fit_row *row, tide_report *report) {
    char phrase[PHRASE_BYTES];
    char reserved[TIDE_BYTES_TEXT];
    char needed[TIDE_BYTES_TEXT];
    const tide_fit_answer *eager = &row->eager;
    if (!row->has_eager) {
        return;
    }
    if (eager->value == 0) {
        tide_report_say(report, "eager",
                        "as PyTorch runs it, eager, nothing fits: %s takes %s there",
                        value_phrase(row, eager->next_value, phrase),
                        tide_bytes_format(countable(eager->needed_bytes), needed));
        return;
    }
    tide_report_say(report, "eager", "as PyTorch runs it, eager, %s fit%s, with %s reserved",
                    value_phrase(row, eager->value, phrase),
                    is_plural(row, eager->value) ? "" : "s",
                    tide_bytes_format(countable(eager->run.reserved_bytes), reserved));
}

/* ---- the table ---- */

static void add_columns(const tide_fit_row *row, tide_table *table) {
    char title[64];
    bool is_number = row->question.what != TIDE_FIT_MODEL;
    snprintf(title, sizeof(title), "largest %s", tide_fit_what_name(row->question.what));
    tide_table_column(table, "run", "run", false);
    tide_table_column(table, "device", "device", false);
    tide_table_column(table, "largest", title, is_number);
    tide_table_column(table, "allocated_bytes", "allocated", true);
    tide_table_column(table, "reserved_bytes", "reserved", true);
    tide_table_column(table, "usable_bytes", "usable", true);
    tide_table_column(table, "margin_bytes", "margin", true);
    tide_table_column(table, "retries", "retries", true);
    tide_table_column(table, "next", "next", is_number);
    tide_table_column(table, "next_needs_bytes", "needs", true);
    tide_table_column(table, "eager_largest", "as PyTorch", is_number);
    tide_table_column(table, "eager_reserved_bytes", "PyTorch reserved", true);
}

static void cell_value(const tide_fit_row *row, uint64_t value, tide_table *table) {
    char text[VALUE_BYTES];
    if (value == 0) {
        tide_cell_none(table);
    } else if (row->question.what == TIDE_FIT_MODEL) {
        tide_cell_text(table, value_text(row, value, text));
    } else {
        tide_cell_count(table, countable(value));
    }
}

static void add_row(const tide_fit_row *row, tide_table *table) {
    const tide_fit_answer *answer = &row->answer;
    bool fits = answer->value != 0;
    tide_table_row_begin(table);
    tide_cell_text(table, row->name);
    tide_cell_text(table, row->device.spec);
    cell_value(row, answer->value, table);
    tide_cell_bytes(table, fits ? countable(answer->run.allocated_bytes) : -1);
    tide_cell_bytes(table, fits ? countable(answer->run.reserved_bytes) : -1);
    tide_cell_bytes(table, countable(answer->usable_bytes));
    tide_cell_bytes(table,
                    fits ? countable(answer->usable_bytes - answer->run.reserved_bytes) : -1);
    if (fits) {
        tide_cell_count(table, countable(answer->run.n_retries));
    } else {
        tide_cell_none(table);
    }
    cell_value(row, answer->next_value, table);
    tide_cell_bytes(table, answer->next_value != 0 ? countable(answer->needed_bytes) : -1);
    cell_value(row, row->has_eager ? row->eager.value : 0, table);
    tide_cell_bytes(table, row->has_eager && row->eager.value != 0
                               ? countable(row->eager.run.reserved_bytes)
                               : -1);
}

/* Where PyTorch's bytes come from, at the value that fits as tidemark runs it. */
static tide_status say_difference(const tide_fit_row *row, tide_report *report) {
    enum { N_TENSORS = 8 };
    tide_workload_config own;
    tide_workload_config pytorch;
    char phrase[VALUE_BYTES * 2];
    uint64_t value = row->answer.value;
    if (value == 0 || !row->has_eager || row->question.workload.residuals == TIDE_RESIDUALS_EAGER) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_fit_apply(&row->question, value, &own, NULL));
    TIDE_TRY(tide_fit_apply(&row->eager_question, value, &pytorch, NULL));
    return tide_beside_run(report, value_phrase(row, value, phrase), &row->question.room, &own,
                           &pytorch, N_TENSORS, NULL);
}

tide_status tide_fit_print(const tide_fit_row *rows, size_t n_rows, tide_format format) {
    tide_report report;
    tide_status status = TIDE_OK;
    tide_report_init(&report);
    say_rooms(rows, n_rows, &report);
    if (n_rows > 0) {
        tide_table *table = tide_report_table(&report, "fits", "what fits");
        add_columns(&rows[0], table);
        for (size_t i = 0; i < n_rows; i++) {
            add_row(&rows[i], table);
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        if (n_rows == 1 || rows[i].answer.value == 0) {
            say_value(&rows[i], &report);
        }
        if (n_rows == 1) {
            say_next(&rows[i], &report);
            say_doubts(&rows[i], &report);
            say_eager(&rows[i], &report);
            status = say_difference(&rows[i], &report);
        }
    }
    if (status == TIDE_OK) {
        status = tide_report_print(&report, format, stdout);
    }
    tide_report_fini(&report);
    return status;
}
