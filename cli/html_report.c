#include "cli/html_report.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "cli/answers.h"
#include "common/hostmem.h"
#include "snapshot/compare/compare.h"
#include "viewer/report.h"

/* Adds the sentence that compares the runs, and their names. False without memory. */
static bool add_comparison(cJSON *document, const tide_compare *comparison) {
    cJSON *names = cJSON_AddArrayToObject(document, "names");
    bool complete = names != NULL &&
                    cJSON_AddStringToObject(document, "sentence", comparison->sentence) != NULL;
    for (size_t i = 0; complete && i < comparison->n_runs; i++) {
        cJSON *name = cJSON_CreateString(comparison->runs[i].name);
        complete = cJSON_AddItemToArray(names, name) != 0;
    }
    return complete;
}

static bool compare(cJSON *document, const tide_html_run *runs, size_t n) {
    tide_compare_input inputs[TIDE_COMPARE_MAX_RUNS];
    tide_compare *comparison = NULL;
    if (n < 2 || n > TIDE_COMPARE_MAX_RUNS) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] =
            (tide_compare_input){.label = runs[i].label != NULL ? runs[i].label : runs[i].path,
                                 .snapshot = runs[i].snapshot};
    }
    if (tide_compare_create(inputs, n, &comparison, NULL) != TIDE_OK) {
        return true;
    }
    bool complete = add_comparison(document, comparison);
    tide_compare_destroy(comparison);
    return complete;
}

/* Adds the list "answers", of each run; nothing if no answer needs a replay. */
static bool add_answers(cJSON *document, const tide_html_run *runs, size_t n) {
    cJSON *answers = cJSON_AddArrayToObject(document, "answers");
    bool complete = answers != NULL;
    bool has_any = false;
    for (size_t i = 0; complete && i < n; i++) {
        cJSON *answer = tide_replayed_answers(runs[i].snapshot);
        has_any = has_any || answer != NULL;
        answer = answer != NULL ? answer : cJSON_CreateNull();
        complete = answer != NULL && cJSON_AddItemToArray(answers, answer) != 0;
    }
    if (complete && !has_any) {
        cJSON_DeleteItemFromObject(document, "answers");
    }
    return complete;
}

/* What the page cannot compute, as {"sentence": "...", "names": ["..."], "answers": [...]}. NULL if
 * there is nothing of that, or no memory: a report without it is better than none. The caller
 * releases it with cJSON_free. */
static char *print_facts(const tide_html_run *runs, size_t n) {
    char *text = NULL;
    cJSON *document = cJSON_CreateObject();
    if (document != NULL && compare(document, runs, n) && add_answers(document, runs, n) &&
        document->child != NULL) {
        text = cJSON_PrintUnformatted(document);
    }
    cJSON_Delete(document);
    return text;
}

tide_status tide_html_report_write(const char *path, const tide_html_run *runs, size_t n,
                                   tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_report_input *inputs = tide_hostmem_zeroed(mem, n, sizeof(*inputs));
    if (inputs == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "there is no host memory for the report");
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] = (tide_report_input){.label = runs[i].label, .path = runs[i].path};
    }
    char *facts = print_facts(runs, n);
    tide_status status = tide_report_write(path, inputs, n, facts, error);
    cJSON_free(facts);
    mem->release(mem->ctx, inputs);
    return status;
}
