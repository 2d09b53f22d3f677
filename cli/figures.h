/* figures.h - columns of tables that show figures of run results: times, rates, bytes.
 *
 * A command lists the figures it shows, and which of them the results have; profile, study and
 * sweep show a figure by the same field (report/table.h), so it looks the same in all of them.
 */
#ifndef TIDE_CLI_FIGURES_H
#define TIDE_CLI_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/table.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_figure {
    tide_field field; /* of tide_run_result */
    size_t
        known_by; /* offset of the member of the same type that must be known for it to be shown */
} tide_figure;

#define TIDE_FIGURE(kind, key, title, member, known)                                               \
    {                                                                                              \
        {(key), (title), TIDE_FIELD_##kind, offsetof(tide_run_result, member)},                    \
            offsetof(tide_run_result, known)                                                       \
    }

/* Mean and sample standard deviation of each phase and of the step: eight rows of such a list. */
#define TIDE_FIGURE_TIMES                                                                          \
    TIDE_FIGURE_TIME("forward", TIDE_TIMED_FORWARD),                                               \
        TIDE_FIGURE_TIME("backward", TIDE_TIMED_BACKWARD),                                         \
        TIDE_FIGURE_TIME("optimizer", TIDE_TIMED_OPTIMIZER),                                       \
        TIDE_FIGURE_TIME("step", TIDE_TIMED_STEP)
#define TIDE_FIGURE_TIME(name, phase)                                                              \
    TIDE_FIGURE(MS, name "_ms", name, ms[phase].mean, ms[phase].mean),                             \
        TIDE_FIGURE(MS, name "_std_ms", "± sample std", ms[phase].std, ms[phase].mean)

/* Notes for each figure whether the result has the member that makes it known: call it for each
 * result. */
void tide_figures_note(const tide_figure *figures, size_t n, const tide_run_result *result,
                       bool *is_shown);

/* The columns of the figures that are shown, or the cells of a result. */
void tide_figures_columns(const tide_figure *figures, size_t n, const bool *is_shown,
                          tide_table *table);
void tide_figures_cells(const tide_figure *figures, size_t n, const bool *is_shown,
                        const tide_run_result *result, tide_table *table);

#ifdef __cplusplus
}
#endif

#endif
