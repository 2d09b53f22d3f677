/* The host's time for a launch, from the launch log of python/tidemark/calibrate.py. */
#include "programs/step_time/calibration_log.h"

#include <stdlib.h>
#include <string.h>

#include "programs/step_time/clock.h"

enum { WARM_UPS = 5, MOST_BURSTS = 256 }; /* WARM_UPS as in calibrate.py */

typedef struct bursts {
    const char *begin, *end; /* marks */
    double us[MOST_BURSTS];
    size_t n, n_launches; /* n_launches: of a burst */
} bursts;

static int by_size(const void *a, const void *b) {
    const double *one = a;
    const double *other = b;
    return (*one > *other) - (*one < *other);
}

static void find(const tide_time_log *log, bursts *to) {
    int64_t began_ns = -1;
    size_t n_launches = 0;
    for (size_t i = 0; i < log->n_rows && to->n < MOST_BURSTS; i++) {
        const tide_run_launch *row = &log->rows[i];
        const char *mark = row->kind == TIDE_RUN_LAUNCH_MARK ? tide_time_log_text(log, row) : "";
        if (strcmp(mark, to->begin) == 0) {
            began_ns = row->host_ns;
            n_launches = 0;
        } else if (strcmp(mark, to->end) == 0 && began_ns >= 0) {
            to->us[to->n++] = (double)(row->host_ns - began_ns) * 1e-3;
            to->n_launches = n_launches;
            began_ns = -1;
        }
        n_launches += tide_time_is_launched(row);
    }
}

/* The lower quartile: other work on a machine only ever makes the host slower. */
static tide_status take(const tide_time_log *log, bursts *from, double *ret_us,
                        size_t *ret_n_launches, tide_error *error) {
    find(log, from);
    if (from->n <= WARM_UPS || from->n_launches == 0) {
        return tide_fail(error, TIDE_FORMAT,
                         "the launch log has %zu bursts \"%s\" with %zu launches: too few to "
                         "measure the host",
                         from->n, from->begin, from->n_launches);
    }
    size_t n = from->n - WARM_UPS;
    double *us = from->us + WARM_UPS;
    qsort(us, n, sizeof(*us), by_size);
    double quartile = us[(n - 1) / 4];
    if (!(quartile > 0.0)) {
        return tide_fail(error, TIDE_FORMAT, "the launch log's clock stands still in \"%s\"",
                         from->begin);
    }
    *ret_us = quartile / (double)from->n_launches;
    *ret_n_launches = from->n_launches;
    return TIDE_OK;
}

tide_status tide_calibration_take_host(const tide_time_log *log, tide_calibration *to,
                                       size_t ret_n_launches[2], tide_error *error) {
    bursts forward = {.begin = "calibrate forward begins", .end = "calibrate forward ends"};
    bursts backward = {.begin = "calibrate backward begins", .end = "calibrate backward ends"};
    TIDE_TRY(take(log, &forward, &to->forward_us, &ret_n_launches[0], error));
    return take(log, &backward, &to->backward_us, &ret_n_launches[1], error);
}
