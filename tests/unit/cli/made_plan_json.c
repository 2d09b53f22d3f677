/* made_plan_json.c - prints the JSON of a made plan: the names of `tidemark plan` without PyTorch.
 */
#include <stdio.h>

#include "made_plan.h"

int main(void) {
    static made_plan plan;
    tide_report report;
    made_plan_init(&plan);
    tide_report_init(&report, "plan");
    tide_plan_report(&plan.input, true, &report);
    tide_status status =
        tide_report_print(&report, (tide_format){.kind = TIDE_FORMAT_JSON}, stdout, stderr, NULL);
    tide_report_fini(&report);
    return status == TIDE_OK ? 0 : 1;
}
