/* What `tidemark fit` prints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fit/internal.h"
#include "cli/peak_tensors.h"
#include "common/bytes.h"
#include "common/plural.h"
#include "snapshot/implementation.h"

enum { VALUE_BYTES = 48, PHRASE_BYTES = 96, SENTENCE_BYTES = 512 };

const tide_fit_reply *tide_fit_deciding(const tide_fit_row *row) {
    return row->replies[0].unknown == NULL ? &row->replies[0] : &row->replies[row->n_replies - 1];
}

static const char *name_of(const tide_fit_reply *reply) {
    return reply->is_pytorch ? TIDE_WORDS_PYTORCH : TIDE_WORDS_OWN;
}

static int64_t countable(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
}

/* "24", "medium". */
static const char *value_text(const tide_fit_row *row, uint64_t value, char text[VALUE_BYTES]) {
    if (row->question.quantity == TIDE_RUN_QUANTITY_PRESET) {
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
    if (row->question.quantity == TIDE_RUN_QUANTITY_LAYERS) {
        snprintf(text, PHRASE_BYTES, "%s layer%s", number, tide_plural(value, "", "s"));
    } else {
        snprintf(text, PHRASE_BYTES, "%s %s", tide_fit_quantity_name(row->question.quantity),
                 number);
    }
    return text;
}

static bool is_plural(const tide_fit_row *row, uint64_t value) {
    return row->question.quantity == TIDE_RUN_QUANTITY_LAYERS && value != 1;
}

/* Says once for each device what limits it sets. */
static void say_limits(const tide_fit_row *row, tide_report *report) {
    const tide_device_info *device = &row->device;
    uint64_t limit_bytes = row->question.config.limits.memory_limit_bytes;
    char usable[TIDE_BYTES_TEXT];
    char total[TIDE_BYTES_TEXT];
    char context[TIDE_BYTES_TEXT];
    char limit[TIDE_BYTES_TEXT];
    char limited[TIDE_BYTES_TEXT + 64] = "";
    tide_bytes_format(countable(tide_fit_deciding(row)->answer.usable_bytes), usable);
    if (limit_bytes != TIDE_RUN_UNLIMITED) {
        snprintf(limited, sizeof(limited), ", within a memory limit of %s",
                 tide_bytes_format(countable(limit_bytes), limit));
    }
    if (device->total_bytes < 0) {
        tide_report_say(report, "limits", "%s: %s usable%s", device->spec, usable, limited);
        return;
    }
    tide_bytes_format(device->total_bytes, total);
    if (device->context_bytes < 0) {
        tide_report_say(report, "limits",
                        "%s (%s): %s usable of %s%s; what context and libraries take is not "
                        "measured, a real run has less",
                        device->spec, device->name, usable, total, limited);
        return;
    }
    tide_report_say(report, "limits",
                    "%s (%s): %s usable of %s, %s less for context and libraries%s", device->spec,
                    device->name, usable, total, tide_bytes_format(device->context_bytes, context),
                    limited);
}

static void say_all_limits(const tide_fit_row *rows, size_t n_rows, tide_report *report) {
    for (size_t i = 0; i < n_rows; i++) {
        bool is_said = false;
        for (size_t k = 0; k < i; k++) {
            is_said = is_said || strcmp(rows[k].device.spec, rows[i].device.spec) == 0;
        }
        if (!is_said) {
            say_limits(&rows[i], report);
        }
    }
}

/* ---- the answers in words ---- */

/* "2.7B-train-c512-fp32, PyTorch, eager, naive attention". */
static const char *name_reply(const tide_fit_row *row, const tide_fit_reply *reply,
                              char text[SENTENCE_BYTES]) {
    snprintf(text, SENTENCE_BYTES, "%s, %s, %s attention", row->name, name_of(reply),
             tide_attention_name((int)reply->question.config.workload.of.model.attention));
    return text;
}

/* "batch 12 does not fit: 7.06 MiB more are needed, ..."; "" where everything fits. */
static void describe_next(const tide_fit_row *row, const tide_fit_answer *answer,
                          char text[SENTENCE_BYTES]) {
    char phrase[PHRASE_BYTES];
    char needed[TIDE_BYTES_TEXT];
    char more[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    text[0] = '\0';
    if (answer->next_value == 0) {
        return;
    }
    snprintf(text, SENTENCE_BYTES,
             "; %s do%s not fit: %s more are needed, %s in all (%s where nothing is short)",
             value_phrase(row, answer->next_value, phrase),
             is_plural(row, answer->next_value) ? "" : "es",
             tide_bytes_format(countable(answer->needed_bytes - answer->usable_bytes), more),
             tide_bytes_format(countable(answer->needed_bytes), needed),
             tide_bytes_format(answer->next_memory.reserved_peak_bytes, reserved));
}

static void say_value(const tide_fit_row *row, const tide_fit_reply *reply, tide_report *report) {
    const tide_fit_answer *answer = &reply->answer;
    char name[SENTENCE_BYTES];
    char next[SENTENCE_BYTES];
    char phrase[PHRASE_BYTES];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char margin[TIDE_BYTES_TEXT];
    name_reply(row, reply, name);
    describe_next(row, answer, next);
    if (answer->value == 0) {
        tide_report_say(report, "answer", "%s: nothing fits%s", name, next);
        return;
    }
    tide_report_say(
        report, "answer", "%s: %s fit%s%s: %s allocated and %s reserved at most, which leaves %s%s",
        name, value_phrase(row, answer->value, phrase), is_plural(row, answer->value) ? "" : "s",
        answer->next_value == 0 ? ", the largest that a run may have" : "",
        tide_bytes_format(answer->memory.allocated_peak_bytes, allocated),
        tide_bytes_format(answer->memory.reserved_peak_bytes, reserved),
        tide_bytes_format(
            countable(answer->usable_bytes - (uint64_t)answer->memory.reserved_peak_bytes), margin),
        next);
}

/* What the reader should know before trusting the value. */
static void say_doubts(const tide_fit_row *row, const tide_fit_reply *reply, tide_report *report) {
    const tide_fit_answer *answer = &reply->answer;
    char name[SENTENCE_BYTES];
    char phrase[PHRASE_BYTES];
    name_reply(row, reply, name);
    if (answer->value != 0 && answer->memory.n_retries > 0) {
        tide_report_say(report, "retries",
                        "%s: at %s the cache has to give all that it holds back to the device "
                        "%" PRIu64 " time%s in %zu %s, and buys again, which costs time",
                        name, value_phrase(row, answer->value, phrase),
                        (uint64_t)answer->memory.n_retries,
                        tide_plural((uint64_t)answer->memory.n_retries, "", "s"),
                        row->question.config.workload.of.model.steps,
                        tide_plural(row->question.config.workload.of.model.steps, "step", "steps"));
    }
    if (answer->lowest_unfit != 0 && answer->lowest_unfit < answer->value) {
        tide_report_say(report, "gap",
                        "%s: %s, though less, does not fit: the cache breaks its segments up in "
                        "another way",
                        name, value_phrase(row, answer->lowest_unfit, phrase));
    }
    if (!answer->is_every_one_seen) {
        tide_report_say(report, "search",
                        "%s: found by bisection and %d tries above: one between them may fit all "
                        "the same",
                        name, (int)TIDE_FIT_MAX_ABOVE);
    }
}

/* With several questions, says only what fits nowhere and what is unknown: the table has the rest.
 */
static void say_reply(const tide_fit_row *row, const tide_fit_reply *reply, bool is_only,
                      tide_report *report) {
    if (reply->unknown != NULL) {
        tide_report_say(report, "unknown",
                        "%s, %s: no forecast is possible: %s; the exit status "
                        "goes by the answer of %s",
                        row->name, name_of(reply), reply->unknown, TIDE_WORDS_OWN);
        return;
    }
    if (is_only || reply->answer.value == 0) {
        say_value(row, reply, report);
    }
    if (is_only) {
        say_doubts(row, reply, report);
    }
}

/* ---- the table ---- */

static void add_columns(const tide_fit_row *row, tide_table *table) {
    char title[64];
    bool is_number = row->question.quantity != TIDE_RUN_QUANTITY_PRESET;
    snprintf(title, sizeof(title), "largest %s", tide_fit_quantity_name(row->question.quantity));
    tide_table_column(table, "run_by", "run by", false);
    tide_table_column(table, "attention", "attention", false);
    tide_table_column(table, "run", "run", false);
    tide_table_column(table, "device", "device", false);
    tide_table_column(table, "largest", title, is_number);
    tide_table_column(table, "allocated_peak_bytes", "allocated", true);
    tide_table_column(table, "reserved_peak_bytes", "reserved", true);
    tide_table_column(table, "usable_bytes", "usable", true);
    tide_table_column(table, "margin_bytes", "margin", true);
    tide_table_column(table, "retries", "retries", true);
    tide_table_column(table, "next", "next", is_number);
    tide_table_column(table, "next_needs_bytes", "needs", true);
}

static void cell_value(const tide_fit_row *row, uint64_t value, tide_table *table) {
    char text[VALUE_BYTES];
    if (value == 0) {
        tide_cell_none(table);
    } else if (row->question.quantity == TIDE_RUN_QUANTITY_PRESET) {
        tide_cell_text(table, value_text(row, value, text));
    } else {
        tide_cell_count(table, countable(value));
    }
}

static void add_row(const tide_fit_row *row, const tide_fit_reply *reply, tide_table *table) {
    const tide_fit_answer *answer = &reply->answer;
    bool fits = answer->value != 0;
    tide_table_row_begin(table);
    tide_cell_text(table, name_of(reply));
    tide_cell_text(
        table, reply->unknown != NULL
                   ? "not known"
                   : tide_attention_name((int)reply->question.config.workload.of.model.attention));
    tide_cell_text(table, row->name);
    tide_cell_text(table, row->device.spec);
    if (reply->unknown != NULL) {
        return; /* the other cells stay empty */
    }
    cell_value(row, answer->value, table);
    tide_cell_bytes(table, fits ? answer->memory.allocated_peak_bytes : -1);
    tide_cell_bytes(table, fits ? answer->memory.reserved_peak_bytes : -1);
    tide_cell_bytes(table, countable(answer->usable_bytes));
    tide_cell_bytes(
        table,
        fits ? countable(answer->usable_bytes - (uint64_t)answer->memory.reserved_peak_bytes) : -1);
    if (fits) {
        tide_cell_count(table, answer->memory.n_retries);
    } else {
        tide_cell_none(table);
    }
    cell_value(row, answer->next_value, table);
    tide_cell_bytes(table, answer->next_value != 0 ? countable(answer->needed_bytes) : -1);
}

/* PyTorch's run with the attention of our own run, so that the two differ in nothing else. If that
 * was not asked, the first one. */
static const tide_fit_reply *like_own(const tide_fit_row *row, const tide_fit_reply *own) {
    for (size_t i = 0; i + 1 < row->n_replies; i++) {
        const tide_fit_reply *reply = &row->replies[i];
        if (reply->unknown == NULL && reply->question.config.workload.of.model.attention ==
                                          own->question.config.workload.of.model.attention) {
            return reply;
        }
    }
    return &row->replies[0];
}

/* Says where PyTorch's extra bytes come from, at the value that fits for our own model. */
static tide_status say_difference(const tide_fit_row *row, tide_report *report) {
    enum { N_TENSORS = 8 };
    tide_run_config ours;
    tide_run_config pytorch;
    char phrase[PHRASE_BYTES];
    char label[SENTENCE_BYTES];
    const tide_fit_reply *own = &row->replies[row->n_replies - 1];
    const tide_fit_reply *other = like_own(row, own);
    uint64_t value = own->answer.value;
    if (value == 0 || other->unknown != NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_fit_apply(&own->question, value, &ours, NULL));
    TIDE_TRY(tide_fit_apply(&other->question, value, &pytorch, NULL));
    snprintf(label, sizeof(label), "%s (PyTorch with %s attention, our own with %s)",
             value_phrase(row, value, phrase),
             tide_attention_name((int)pytorch.workload.of.model.attention),
             tide_attention_name((int)ours.workload.of.model.attention));
    ours.workload.of.model.steps = TIDE_RUN_FIT_STEPS;
    pytorch.workload.of.model.steps = TIDE_RUN_FIT_STEPS;
    return tide_beside_run(report, label, &ours, &pytorch, N_TENSORS, NULL);
}

/* Of the first question: the reply that the exit status goes by. */
static void add_figures(const tide_fit_row *row, tide_report *report) {
    const tide_fit_reply *reply = tide_fit_deciding(row);
    const tide_fit_answer *answer = &reply->answer;
    bool is_known = reply->unknown == NULL;
    bool has_next = is_known && answer->next_value > 0;
    tide_report_figure_text(report, "run_by", reply->is_pytorch ? "pytorch" : "tidemark");
    tide_report_figure_bytes(report, "usable_bytes",
                             is_known ? countable(answer->usable_bytes) : -1);
    tide_report_figure_count(report, "largest", is_known ? countable(answer->value) : -1);
    tide_report_figure_count(report, "next", has_next ? countable(answer->next_value) : -1);
    tide_report_figure_bytes(report, "next_needed_bytes",
                             has_next ? countable(answer->needed_bytes) : -1);
    if (is_known && answer->value > 0) {
        tide_report_figure_bytes(report, "allocated_peak_bytes",
                                 answer->memory.allocated_peak_bytes);
        tide_report_figure_bytes(report, "reserved_peak_bytes", answer->memory.reserved_peak_bytes);
    }
}

tide_status tide_fit_print(const tide_fit_row *rows, size_t n_rows, tide_format format,
                           tide_error *error) {
    tide_report report;
    tide_status status = TIDE_OK;
    tide_report_init(&report, "fit");
    if (n_rows > 0) {
        add_figures(&rows[0], &report);
    }
    say_all_limits(rows, n_rows, &report);
    tide_table *table = n_rows > 0 ? tide_report_table(&report, "fits", "what fits") : NULL;
    for (size_t i = 0; i < n_rows; i++) {
        if (i == 0) {
            add_columns(&rows[0], table);
        }
        for (size_t k = 0; k < rows[i].n_replies; k++) {
            add_row(&rows[i], &rows[i].replies[k], table);
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t k = 0; k < rows[i].n_replies; k++) {
            say_reply(&rows[i], &rows[i].replies[k], n_rows == 1, &report);
        }
    }
    if (n_rows == 1) {
        status = say_difference(&rows[0], &report);
    }
    if (status == TIDE_OK) {
        status = tide_report_print(&report, format, stdout, stderr, error);
    }
    tide_report_fini(&report);
    return status;
}
