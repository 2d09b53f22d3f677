/* summary.c - the JSON of `tidemark summary`, made by the code of that command. The tests compare
 * it with the program's.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "cli/options/report_options.h"
#include "cli/summary/report.h"
#include "report/table.h"
#include "snapshot/wasm/engine_internal.h"

static tide_status print(tide_engine *engine, const tide_report *report) {
    char *bytes = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&bytes, &n_bytes);
    if (out == NULL) {
        return TIDE_NO_MEMORY;
    }
    const tide_format format = {.kind = TIDE_FORMAT_JSON};
    tide_status status = tide_report_print(report, format, out, out, &engine->error);
    /* A stream in memory fails for want of memory only. */
    if (fclose(out) != 0 && status == TIDE_OK) {
        status = TIDE_NO_MEMORY;
    }
    if (status == TIDE_OK) {
        status = tide_engine_add_text(engine, bytes, n_bytes);
    }
    free(bytes);
    return status;
}

bool tide_engine_summary(tide_engine *engine) {
    tide_report report;
    tide_summary_view view;
    const tide_summary_plan plan = {
        .path = engine->name,
        .choice = {.device = TIDE_ANY_DEVICE},
        .top = TIDE_DEFAULT_TOP,
        .is_for_programs = true,
    };
    tide_engine_begin_text(engine);
    tide_report_init(&report, "summary");
    tide_status status = tide_summary_fill(&view, &report, engine->snapshot, &plan, &engine->error);
    if (status == TIDE_OK) {
        status = print(engine, &report);
    }
    tide_report_fini(&report);
    tide_summary_view_fini(&view);
    return tide_engine_end(engine, status);
}
