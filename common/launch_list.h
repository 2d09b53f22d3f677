/* launch_list.h - a launch log in memory: what our own operators would launch on a card, in the
 * rows of common/run_launches.h.
 *
 * Nothing runs, so the clock of the rows is stated and not measured: whoever adds a row says how
 * long the host takes for it. Not thread-safe.
 */
#ifndef TIDE_COMMON_LAUNCH_LIST_H
#define TIDE_COMMON_LAUNCH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/run_launches.h"
#include "common/status.h"
#include "common/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_launch_list {
    const tide_hostmem *mem; /* borrowed; outlives the list */
    tide_run_launch *rows;   /* owned; in order, without rows of texts */
    size_t n_rows;
    size_t room;        /* of rows */
    tide_strings texts; /* by the numbers that `name` of the rows has */
    int64_t clock_ns;   /* of the host, from 0 on: the sum of what the rows take of it */
    size_t n_steps;     /* that were begun (tide_launch_list_begin_step) */
    bool is_quiet;      /* rows are left out: a capture launches nothing */
    bool is_free;       /* the host does nothing for a row: a graph launches it */
    bool is_full;       /* rows are left out: there are enough of them */
} tide_launch_list;

void tide_launch_list_init(tide_launch_list *list, const tide_hostmem *mem);
void tide_launch_list_fini(tide_launch_list *list);

/* Appends the row, with its text and its times set here: the host works for host_ns, and then the
 * call is made. `name` is copied; NULL: none. */
TIDE_NODISCARD tide_status tide_launch_list_add(tide_launch_list *list, const char *name,
                                                int64_t host_ns, tide_run_launch row);

/* Marks the begin of a step. Behind 1,000 steps or 262,144 rows nothing is appended any more: every
 * step behind the first launches the same, and a list of a long run would need gigabytes. NULL:
 * there is no list. */
TIDE_NODISCARD tide_status tide_launch_list_begin_step(tide_launch_list *list);

/* The result of these functions as one of a function that has an error: there was no memory. */
static inline tide_status tide_launch_list_noted(tide_status status, tide_error *error) {
    return status == TIDE_OK
               ? TIDE_OK
               : tide_fail(error, status, "the host has no memory left for the log of launches");
}

/* Appends a mark, such as "step begins" (programs/step_time/ranges.h). NULL: there is no list. */
TIDE_NODISCARD tide_status tide_launch_list_mark(tide_launch_list *list, const char *name);

#ifdef __cplusplus
}
#endif

#endif
