/* figures.h - columns of tables that show figures of run results: times, rates, bytes.
 *
 * A command lists the figures it shows; the tables of profile, study and sweep fill their cells by
 * the same function, so that a figure looks the same in all of them.
 */
#ifndef TIDE_CLI_FIGURES_H
#define TIDE_CLI_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/table.h"
#include "run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_figure_kind {
    TIDE_FIGURE_MS = 0, /* double */
    TIDE_FIGURE_RATE,   /* double, in whole numbers; below 0: none */
    TIDE_FIGURE_TERA,   /* double, in units of 10^12; below 0: none */
    TIDE_FIGURE_SHARE,  /* double, as percent; below 0: none */
    TIDE_FIGURE_BYTES   /* int64_t; below 0: none */
} tide_figure_kind;

typedef struct tide_figure {
    const char *key;
    const char *title;
    tide_figure_kind kind;
    size_t offset;   /* of the figure, in tide_run_result */
    size_t known_by; /* of the member of the same type that must be known for it to be shown */
} tide_figure;

#define TIDE_FIGURE(of_kind, named, titled, member, known)                                         \
    {                                                                                              \
        .key = (named), .title = (titled), .kind = (of_kind),                                      \
        .offset = offsetof(tide_run_result, member), .known_by = offsetof(tide_run_result, known)  \
    }

/* Mean and sample standard deviation of each phase and of the step: eight rows of such a list. */
#define TIDE_FIGURE_TIMES                                                                          \
    TIDE_FIGURE_TIME("forward", TIDE_TIMED_FORWARD),                                               \
        TIDE_FIGURE_TIME("backward", TIDE_TIMED_BACKWARD),                                         \
        TIDE_FIGURE_TIME("optimizer", TIDE_TIMED_OPTIMIZER),                                       \
        TIDE_FIGURE_TIME("step", TIDE_TIMED_STEP)
#define TIDE_FIGURE_TIME(name, phase)                                                              \
    TIDE_FIGURE(TIDE_FIGURE_MS, name "_ms", name, ms[phase].mean, ms[phase].mean),                 \
        TIDE_FIGURE(TIDE_FIGURE_MS, name "_std_ms", "± sample std", ms[phase].std, ms[phase].mean)

/* Whether a result has what the figure is known by. */
bool tide_figure_is_known(const tide_figure *figure, const tide_run_result *result);

/* One column of a table, or one cell. */
void tide_figure_column(const tide_figure *figure, tide_table *table);
void tide_figure_cell(const tide_figure *figure, const tide_run_result *result, tide_table *table);

#ifdef __cplusplus
}
#endif

#endif
