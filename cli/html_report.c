#include "cli/html_report.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "common/hostmem.h"
#include "snapshot/compare/compare.h"
#include "viewer/report.h"

/* {"sentence": "...", "names": ["..."]} as text, or NULL without host memory. */
static char *print_comparison(const tide_compare *comparison) {
    char *text = NULL;
    cJSON *document = cJSON_CreateObject();
    cJSON *names = cJSON_AddArrayToObject(document, "names");
    bool complete = names != NULL &&
                    cJSON_AddStringToObject(document, "sentence", comparison->sentence) != NULL;
    for (size_t i = 0; complete && i < comparison->n_runs; i++) {
        cJSON *name = cJSON_CreateString(comparison->runs[i].name);
        complete = cJSON_AddItemToArray(names, name) != 0;
    }
    if (complete) {
        text = cJSON_PrintUnformatted(document);
    }
    cJSON_Delete(document);
    return text;
}

/* The comparison of several runs. NULL without memory: a report without the comparison is better
 * than none. The caller releases it with cJSON_free. */
static char *compare(const tide_html_run *runs, size_t n) {
    tide_compare_input inputs[TIDE_COMPARE_MAX_RUNS];
    tide_compare *comparison = NULL;
    if (n < 2 || n > TIDE_COMPARE_MAX_RUNS) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] =
            (tide_compare_input){.label = runs[i].label != NULL ? runs[i].label : runs[i].path,
                                 .snapshot = runs[i].snapshot};
    }
    if (tide_compare_create(inputs, n, &comparison, NULL) != TIDE_OK) {
        return NULL;
    }
    char *text = print_comparison(comparison);
    tide_compare_destroy(comparison);
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
    char *comparison = compare(runs, n);
    tide_status status = tide_report_write(path, inputs, n, comparison, error);
    cJSON_free(comparison);
    mem->release(mem->ctx, inputs);
    return status;
}
