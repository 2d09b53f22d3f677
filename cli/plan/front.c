/* The picture of a plan: each run without a limit as a point, memory against time. */
#include <stdio.h>

#include "cli/plan/internal.h"
#include "picture/scatter.h"

bool tide_plan_is_point(const tide_plan_run *run) {
    return run->is_done && run->is_complete && run->limit == TIDE_PLAN_WITHOUT_LIMIT;
}

tide_status tide_plan_save_front(const tide_plan_report_input *input, tide_error *error) {
    tide_scatter_point points[TIDE_PLAN_ROWS];
    char path[TIDE_PATH_BYTES + sizeof(TIDE_PLAN_FRONT) + 1];
    char title[TIDE_PLAN_TITLE_BYTES];
    const tide_plan *plan = input->plan;
    size_t n = 0;
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        if (tide_plan_is_point(run)) {
            bool needs_setting = run->fitting_setting[0] != '\0';
            points[n++] =
                (tide_scatter_point){.bytes = needs_setting ? run->fitting_reserved_bytes
                                                            : run->memory.reserved_peak_bytes,
                                     .ms = run->gpu_ms,
                                     .name = run->changes[0] != '\0' ? run->changes : "unchanged",
                                     .fits = tide_plan_fits(plan, run)};
        }
    }
    (void)snprintf(title, sizeof(title), "%s on %s", input->program, input->card);
    const tide_scatter scatter = {.title = title,
                                  .x_title = "reserved by PyTorch at the peak, with the setting of "
                                             "the allocator where one is needed",
                                  .y_title = "forecast time of the card in a step",
                                  .limit_name = "there for PyTorch",
                                  .limit_bytes = plan->room_bytes,
                                  .points = points,
                                  .n_points = n};
    (void)snprintf(path, sizeof(path), "%s/" TIDE_PLAN_FRONT, input->folder);
    return tide_scatter_save(&scatter, path, error);
}
