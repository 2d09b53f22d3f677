/* answer.c - what `tidemark explain` prints about a file, by the code of that command, for each
 * device: the sentences that follow only from the recording. Those of a replay are missing.
 */
#include "cli/summary/verdict.h"
#include "snapshot/wasm/engine_internal.h"

/* Whether the page can show the device: the first, and those with events or blocks. */
static bool is_shown(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                     size_t device) {
    bool is_used = device == 0;
    for (int action = 0; action < TIDE_N_ACTIONS; action++) {
        is_used = is_used || lifetimes->devices[device].counts[action] > 0;
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        is_used = is_used || (segment->device == device && segment->n_blocks > 0);
    }
    return is_used;
}

static tide_status say_all(const tide_summary_view *of) {
    tide_verdict verdict;
    tide_status status = tide_verdict_init(&verdict, of);
    if (status == TIDE_OK) {
        status = tide_say_verdict(of, &verdict);
    }
    if (status == TIDE_OK) {
        tide_say_rest(of, &verdict);
        status = of->report->no_memory ? TIDE_NO_MEMORY : TIDE_OK;
    }
    tide_verdict_fini(&verdict);
    return status;
}

/* [[key, text], ...] */
static void write_sentences(tide_json_writer *json, const tide_report *report) {
    const char *key = NULL;
    const char *text = NULL;
    for (size_t i = 0; (text = tide_report_sentence_at(report, i, &key)) != NULL; i++) {
        tide_json_begin_array(json);
        tide_json_text(json, key);
        tide_json_text(json, text);
        tide_json_end_array(json);
    }
}

static tide_status write_device(tide_json_writer *json, tide_engine *engine, size_t device) {
    tide_report report;
    tide_summary_view view;
    tide_status status = TIDE_OK;
    tide_report_init(&report, "explain");
    tide_json_begin_array(json);
    if (is_shown(engine->snapshot, &engine->lifetimes, device)) {
        status = tide_summary_view_init_from(&view, &report, engine->snapshot, &engine->lifetimes,
                                             device, &engine->error);
        status = status == TIDE_OK ? say_all(&view) : status;
        if (status == TIDE_OK) {
            write_sentences(json, &report);
        }
        tide_summary_view_fini(&view);
    }
    tide_json_end_array(json);
    tide_report_fini(&report);
    return status;
}

typedef struct answer {
    tide_engine *engine; /* borrowed */
    tide_status status;  /* of the sentences */
} answer;

static void write_answer(tide_json_writer *json, void *ctx) {
    answer *of = ctx;
    tide_engine *engine = of->engine;
    tide_json_begin_object(json);
    tide_json_key(json, "sentences");
    tide_json_begin_array(json);
    for (size_t i = 0; i < engine->snapshot->n_devices && of->status == TIDE_OK; i++) {
        of->status = write_device(json, engine, i);
    }
    tide_json_end_array(json);
    tide_engine_write_rules(json, engine);
    tide_json_end_object(json);
}

bool tide_engine_answer(tide_engine *engine) {
    answer of = {.engine = engine};
    tide_subjects_fini(&engine->subjects); /* the page has the columns that need them */
    tide_status status = tide_engine_prepare_lifetimes(engine);
    if (status == TIDE_OK) {
        status = tide_engine_write(engine, write_answer, &of);
    }
    return tide_engine_end(engine, status == TIDE_OK ? of.status : status);
}
