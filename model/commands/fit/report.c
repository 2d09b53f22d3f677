/* The output of `tidemark fit`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/report_options.h"
#include "model/commands/fit/internal.h"
#include "cli/beside.h"
#include "cli/words/spill_words.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "snapshot/document/implementation.h"

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
static const char *value_text(tide_report *report, const tide_fit_row *row, uint64_t value) {
    if (row->question.quantity == TIDE_RUN_QUANTITY_PRESET) {
        const char *name = tide_model_preset_name((size_t)value - 1);
        return name != NULL ? name : "?";
    }
    return tide_report_text(report, "%" PRIu64, value);
}

/* "batch 24", "24 layers", "model medium". */
static const char *value_phrase(tide_report *report, const tide_fit_row *row, uint64_t value) {
    const char *number = value_text(report, row, value);
    return row->question.quantity == TIDE_RUN_QUANTITY_LAYERS
               ? tide_report_text(report, "%s layer%s", number, tide_plural(value, "", "s"))
               : tide_report_text(report, "%s %s", tide_fit_quantity_name(row->question.quantity),
                                  number);
}

static bool is_plural(const tide_fit_row *row, uint64_t value) {
    return row->question.quantity == TIDE_RUN_QUANTITY_LAYERS && value != 1;
}

/* Reports the limits of each device once. */
static void say_limits(const tide_fit_row *row, tide_report *report) {
    const tide_device_info *device = &row->device;
    uint64_t limit_bytes = row->question.config.limits.memory_limit_bytes;
    const char *limited = "";
    const char *usable =
        tide_report_bytes(report, countable(tide_fit_deciding(row)->answer.usable_bytes));
    if (limit_bytes != TIDE_RUN_UNLIMITED) {
        limited = tide_report_text(report, ", within a memory limit of %s",
                                   tide_report_bytes(report, countable(limit_bytes)));
    }
    if (device->total_bytes < 0) {
        tide_report_say(report, "limits", "%s: %s usable%s", device->spec, usable, limited);
        return;
    }
    const char *total = tide_report_bytes(report, device->total_bytes);
    if (device->context_bytes < 0) {
        tide_report_say(report, "limits",
                        "%s (%s): %s usable of %s%s; what context and libraries take is not "
                        "measured, a real run has less",
                        device->spec, device->name, usable, total, limited);
        return;
    }
    uint64_t spill_bytes = row->question.config.limits.spill_bytes;
    const char *more = spill_bytes == 0
                           ? ""
                           : tide_report_text(report, " and %s of the host's memory",
                                              tide_report_bytes(report, countable(spill_bytes)));
    tide_report_say(report, "limits",
                    "%s (%s): %s usable of %s%s, %s less for context and libraries%s", device->spec,
                    device->name, usable, total, more,
                    tide_report_bytes(report, device->context_bytes), limited);
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

/* Whether --attention chooses an operator of the row's runs. */
static bool has_attention(const tide_fit_row *row) {
    return tide_run_workload_model(&row->question.config.workload)->architecture ==
           TIDE_TRANSFORMER;
}

/* "2.7B-train-c512-fp32, PyTorch, eager, naive attention". */
static const char *name_reply(tide_report *report, const tide_fit_row *row,
                              const tide_fit_reply *reply) {
    if (!has_attention(row)) {
        return tide_report_text(report, "%s, %s", row->name, name_of(reply));
    }
    return tide_report_text(
        report, "%s, %s, %s attention", row->name, name_of(reply),
        tide_attention_name(
            (int)tide_run_workload_model(&reply->question.config.workload)->attention));
}

/* "batch 12 does not fit: 7.06 MiB more are needed, ..."; "" if everything fits. */
static const char *describe_next(tide_report *report, const tide_fit_row *row,
                                 const tide_fit_answer *answer) {
    if (answer->next_value == 0) {
        return "";
    }
    return tide_report_text(
        report, "; %s do%s not fit: %s more are needed, %s in all (%s where nothing is short)",
        value_phrase(report, row, answer->next_value),
        is_plural(row, answer->next_value) ? "" : "es",
        tide_report_bytes(report, countable(answer->needed_bytes - answer->usable_bytes)),
        tide_report_bytes(report, countable(answer->needed_bytes)),
        tide_report_bytes(report, answer->next_memory.reserved_peak_bytes));
}

static void say_value(const tide_fit_row *row, const tide_fit_reply *reply, tide_report *report) {
    const tide_fit_answer *answer = &reply->answer;
    const char *name = name_reply(report, row, reply);
    const char *next = describe_next(report, row, answer);
    if (answer->value == 0) {
        tide_report_say(report, "answer", "%s: nothing fits%s", name, next);
        return;
    }
    tide_report_say(
        report, "answer", "%s: %s fit%s%s: %s allocated and %s reserved at most, which leaves %s%s",
        name, value_phrase(report, row, answer->value), is_plural(row, answer->value) ? "" : "s",
        answer->next_value == 0 ? ", the largest that a run may have" : "",
        tide_report_bytes(report, answer->memory.allocated_peak_bytes),
        tide_report_bytes(report, answer->memory.reserved_peak_bytes),
        tide_report_bytes(
            report, countable(answer->usable_bytes - (uint64_t)answer->memory.reserved_peak_bytes)),
        next);
}

/* Adds caveats about the value. */
static void say_doubts(const tide_fit_row *row, const tide_fit_reply *reply, tide_report *report) {
    const tide_fit_answer *answer = &reply->answer;
    const char *name = name_reply(report, row, reply);
    if (answer->value != 0 && answer->memory.n_retries > 0) {
        tide_report_say(report, "retries",
                        "%s: at %s the cache has to give all that it holds back to the device "
                        "%" PRIu64 " time%s in %zu %s, and allocates it again, which costs time",
                        name, value_phrase(report, row, answer->value),
                        (uint64_t)answer->memory.n_retries,
                        tide_plural((uint64_t)answer->memory.n_retries, "", "s"),
                        tide_run_workload_model(&row->question.config.workload)->steps,
                        tide_plural(tide_run_workload_model(&row->question.config.workload)->steps,
                                    "step", "steps"));
    }
    if (answer->lowest_unfit != 0 && answer->lowest_unfit < answer->value) {
        tide_report_say(report, "gap",
                        "%s: %s, though less, does not fit: the cache breaks its segments up in "
                        "another way",
                        name, value_phrase(report, row, answer->lowest_unfit));
    }
    if (!answer->is_every_one_seen) {
        tide_report_say(report, "search",
                        "%s: found by bisection and %d tries above: one between them may fit all "
                        "the same",
                        name, (int)TIDE_FIT_MAX_ABOVE);
    }
}

/* With several questions, reports only the values that fit nowhere or are unknown: the table has
 * the others. */
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
        if (reply->answer.value != 0) {
            const char *name = tide_report_text(report, "%s at %s", name_reply(report, row, reply),
                                                value_phrase(report, row, reply->answer.value));
            tide_say_spill(report, name, &reply->question.config.limits, &reply->answer.memory,
                           NULL);
        }
    }
}

/* ---- the table ---- */

static void add_columns(tide_report *report, const tide_fit_row *row, tide_table *table) {
    bool is_number = row->question.quantity != TIDE_RUN_QUANTITY_PRESET;
    TIDE_COLUMNS(
        table, TIDE_TEXT("run_by", "run by"), TIDE_TEXT("attention", "attention"),
        TIDE_TEXT("run", "run"), TIDE_TEXT("device", "device"),
        {"largest",
         tide_report_text(report, "largest %s", tide_fit_quantity_name(row->question.quantity)),
         is_number},
        TIDE_NUMBER("allocated_peak_bytes", "allocated"),
        TIDE_NUMBER("reserved_peak_bytes", "reserved"), TIDE_NUMBER("usable_bytes", "usable"),
        TIDE_NUMBER("margin_bytes", "margin"), TIDE_NUMBER("retries", "retries"),
        {"next", "next", is_number}, TIDE_NUMBER("next_needs_bytes", "needs"));
}

static tide_cell as_value(tide_report *report, const tide_fit_row *row, uint64_t value) {
    if (value == 0) {
        return tide_as_none();
    }
    return row->question.quantity == TIDE_RUN_QUANTITY_PRESET
               ? tide_as_text(value_text(report, row, value))
               : tide_as_count(countable(value));
}

static void add_row(tide_report *report, const tide_fit_row *row, const tide_fit_reply *reply,
                    tide_table *table) {
    const tide_fit_answer *answer = &reply->answer;
    const tide_run_memory *memory = &answer->memory;
    int attention = (int)tide_run_workload_model(&reply->question.config.workload)->attention;
    bool is_known = reply->unknown == NULL;
    bool fits = answer->value != 0;
    uint64_t margin = answer->usable_bytes - (uint64_t)memory->reserved_peak_bytes;
    TIDE_ROW(table, tide_as_text(name_of(reply)),
             !has_attention(row)
                 ? tide_as_none()
                 : tide_as_text(is_known ? tide_attention_name(attention) : "not known"),
             tide_as_text(row->name), tide_as_text(row->device.spec));
    if (is_known) { /* else the other cells stay empty */
        TIDE_CELLS(table, as_value(report, row, answer->value),
                   tide_as_bytes(fits ? memory->allocated_peak_bytes : -1),
                   tide_as_bytes(fits ? memory->reserved_peak_bytes : -1),
                   tide_as_bytes(countable(answer->usable_bytes)),
                   tide_as_bytes(fits ? countable(margin) : -1),
                   fits ? tide_as_count(memory->n_retries) : tide_as_none(),
                   as_value(report, row, answer->next_value),
                   tide_as_bytes(answer->next_value != 0 ? countable(answer->needed_bytes) : -1));
    }
}

/* PyTorch's run with the attention of our own run, so the two differ in nothing else. If that was
 * not requested, the first one. */
static const tide_fit_reply *like_own(const tide_fit_row *row, const tide_fit_reply *own) {
    for (size_t i = 0; i + 1 < row->n_replies; i++) {
        const tide_fit_reply *reply = &row->replies[i];
        if (reply->unknown == NULL &&
            tide_run_workload_model(&reply->question.config.workload)->attention ==
                tide_run_workload_model(&own->question.config.workload)->attention) {
            return reply;
        }
    }
    return &row->replies[0];
}

/* Explains PyTorch's extra bytes, at the value that fits for our own model. */
static tide_status say_difference(const tide_fit_row *row, tide_report *report) {
    enum { N_TENSORS = 8 };
    tide_run_config ours;
    tide_run_config pytorch;
    const tide_fit_reply *own = &row->replies[row->n_replies - 1];
    const tide_fit_reply *other = like_own(row, own);
    uint64_t value = own->answer.value;
    if (value == 0 || other == own || other->unknown != NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_fit_apply(&own->question, value, &ours, NULL));
    TIDE_TRY(tide_fit_apply(&other->question, value, &pytorch, NULL));
    const char *label = tide_report_text(
        report, "%s (PyTorch with %s attention, our own with %s)", value_phrase(report, row, value),
        tide_attention_name((int)tide_run_model_of(&pytorch.workload)->attention),
        tide_attention_name((int)tide_run_model_of(&ours.workload)->attention));
    tide_run_model_of(&ours.workload)->steps = TIDE_RUN_FIT_STEPS;
    tide_run_model_of(&pytorch.workload)->steps = TIDE_RUN_FIT_STEPS;
    return tide_beside_run(report, label, &ours, &pytorch, N_TENSORS, NULL);
}

/* The reply to the first question that decides the exit status. */
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
            add_columns(&report, &rows[0], table);
        }
        for (size_t k = 0; k < rows[i].n_replies; k++) {
            add_row(&report, &rows[i], &rows[i].replies[k], table);
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
    return tide_report_end(&report, status, format, error);
}
