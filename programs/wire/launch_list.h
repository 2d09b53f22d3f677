/* launch_list.h - a launch log in memory: what our own operators would launch on a card, in the
 * rows of programs/wire/run_launches.h.
 *
 * Nothing runs, so the clock of the rows is stated, not measured: the caller that adds a row states
 * the host's time for it. Not thread-safe.
 */
#ifndef TIDE_WIRE_LAUNCH_LIST_H
#define TIDE_WIRE_LAUNCH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "programs/wire/run_launches.h"
#include "common/status.h"
#include "common/text/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_launch_list {
    const tide_hostmem *mem; /* borrowed; outlives the list */
    tide_run_launch *rows;   /* owned; in order, without rows of texts */
    size_t n_rows;
    size_t room;        /* of rows */
    tide_strings texts; /* numbered as in `name` of the rows */
    int64_t clock_ns;   /* of the host, from 0 on: the sum of the host time of the rows */
    size_t n_steps;     /* begun so far (tide_launch_list_begin_step) */
    bool is_quiet;      /* no rows are added: a capture launches nothing */
    bool is_free;       /* rows cost the host nothing: a graph launches them */
    bool is_full;       /* no rows are added: the list is long enough */
} tide_launch_list;

void tide_launch_list_init(tide_launch_list *list, const tide_hostmem *mem);
void tide_launch_list_fini(tide_launch_list *list);

/* Appends the row and sets its text and times: the host works for host_ns and then makes the call.
 * `name` is copied; NULL: none. */
TIDE_NODISCARD tide_status tide_launch_list_add(tide_launch_list *list, const char *name,
                                                int64_t host_ns, tide_run_launch row);

/* Marks the begin of a step. After 1,000 steps or 262,144 rows nothing more is appended: every step
 * after the first launches the same, and the list of a long run would need gigabytes. Does nothing
 * if the list is NULL. */
TIDE_NODISCARD tide_status tide_launch_list_begin_step(tide_launch_list *list);

/* Adds the message to the result of these functions, which fail only without memory. */
static inline tide_status tide_launch_list_noted(tide_status status, tide_error *error) {
    return status == TIDE_OK
               ? TIDE_OK
               : tide_fail(error, status, "the host has no memory left for the log of launches");
}

/* Appends a mark, such as "step begins" (programs/step_time/ranges.h). Does nothing if the list is
 * NULL. */
TIDE_NODISCARD tide_status tide_launch_list_mark(tide_launch_list *list, const char *name);

#ifdef __cplusplus
}
#endif

#endif
