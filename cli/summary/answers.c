#include "cli/answers.h"

#include "cli/summary/verdict.h"
#include "report/table.h"

/* Adds all sentences; sets whether a replay added one. */
static tide_status say_all(const tide_summary_view *of, bool *ret_is_replayed) {
    tide_error ignored = {""};
    tide_verdict verdict;
    tide_status status = tide_verdict_init(&verdict, of);
    if (status == TIDE_OK) {
        status = tide_say_verdict(of, &verdict);
    }
    if (status == TIDE_OK) {
        status = tide_say_help(of, &verdict, &ignored);
        *ret_is_replayed = tide_report_sentence(of->report, "help", 0) != NULL;
    }
    if (status == TIDE_OK) {
        tide_say_rest(of, &verdict);
        status = of->report->no_memory ? TIDE_NO_MEMORY : TIDE_OK;
    }
    tide_verdict_fini(&verdict);
    return status;
}

/* [[key, text], ...]; NULL without memory. */
static cJSON *list_sentences(const tide_report *report) {
    const char *key = NULL;
    const char *text = NULL;
    cJSON *list = cJSON_CreateArray();
    bool complete = list != NULL;
    for (size_t i = 0; complete && (text = tide_report_sentence_at(report, i, &key)) != NULL; i++) {
        const char *const pair[] = {key, text};
        cJSON *item = cJSON_CreateStringArray(pair, 2);
        complete = item != NULL && cJSON_AddItemToArray(list, item) != 0;
    }
    if (!complete) {
        cJSON_Delete(list);
        return NULL;
    }
    return list;
}

/* NULL: no replay adds a sentence, or the answer fails. */
static cJSON *answer_about(const tide_snapshot *snapshot, size_t device) {
    tide_report report;
    tide_summary_view view;
    tide_error ignored = {""};
    bool is_replayed = false;
    cJSON *answer = NULL;
    const tide_summary_choice choice = {.device = device};
    tide_report_init(&report, "explain");
    tide_status status = tide_summary_view_init(&view, &report, snapshot, &choice, &ignored);
    if (status == TIDE_OK && view.device->counts[TIDE_ACTION_ALLOC] > 0) {
        status = say_all(&view, &is_replayed);
    }
    if (status == TIDE_OK && is_replayed) {
        answer = list_sentences(&report);
    }
    tide_report_fini(&report);
    tide_summary_view_fini(&view);
    return answer;
}

cJSON *tide_replayed_answers(const tide_snapshot *snapshot) {
    cJSON *all = cJSON_CreateArray();
    bool has_any = false;
    bool complete = all != NULL && !tide_snapshot_lacks_peak(snapshot);
    for (size_t i = 0; complete && i < snapshot->n_devices; i++) {
        cJSON *answer = answer_about(snapshot, i);
        has_any = has_any || answer != NULL;
        answer = answer != NULL ? answer : cJSON_CreateNull();
        complete = answer != NULL && cJSON_AddItemToArray(all, answer) != 0;
    }
    if (!complete || !has_any) {
        cJSON_Delete(all);
        return NULL;
    }
    return all;
}
