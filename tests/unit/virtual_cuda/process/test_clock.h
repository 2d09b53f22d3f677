/* test_clock.h - for a test that sees the forecast's clock.
 *
 * Each piece of work takes 10 s on the card and almost none on this machine, which distinguishes
 * the forecast from real time on a busy machine.
 */
#ifndef TIDE_TESTS_TEST_CLOCK_H
#define TIDE_TESTS_TEST_CLOCK_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "programs/wire/run_launches.h"
#include "programs/step_time/pace.h"

#define WORK_S 10.0
/* Work for some hours: confusing the program's clock with the real one gives an error longer than
 * any test on a busy machine. */
enum { N_AHEAD = 1000 };
#define AHEAD_S (N_AHEAD * WORK_S)
#ifndef HOST     /* a test may have defined another */
#define HOST 0.5 /* the host's factor */
#endif
#define LAUNCH_S 1.0 /* of the host for each launch, before its factor */

enum { CLOCK_FOLDER = 64 }; /* bytes of the run's folder */

static const tide_time_pace PACE = {
    .host = HOST,
    .constants = {.kernel_us = WORK_S * 1e6, .vectorised_share = 1.0, .launch_us = LAUNCH_S * 1e6}};

/* The program's reading of a clock; NAN if the clock does not exist. */
static inline double seconds(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) != 0 ? (double)NAN
                                           : (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double real_seconds(void) {
    return 1e-9 * (double)tide_clock_now_ns();
}

/* The clock is chosen before main: the program starts itself again with it, and with a folder for
 * its launch log, which the caller removes. False on failure. */
static inline bool clock_begin(char **argv, char ret_folder[CLOCK_FOLDER]) {
    char text[TIDE_TIME_PACE_TEXT];
    char made[] = "/tmp/tidemark-clock-XXXXXX";
    if (getenv(TIDE_RUN_CLOCK_VARIABLE) != NULL) {
        (void)snprintf(ret_folder, CLOCK_FOLDER, "%s", getenv("TIDEMARK_RUN_FOLDER"));
        return true;
    }
    tide_time_pace_write(&PACE, text);
    if (mkdtemp(made) != NULL && setenv("TIDEMARK_RUN_FOLDER", made, 1) == 0 &&
        setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1) == 0 &&
        setenv(TIDE_RUN_LAUNCHES_VARIABLE, "1", 1) == 0 &&
        setenv(TIDE_RUN_CLOCK_VARIABLE, text, 1) == 0) {
        (void)execv("/proc/self/exe", argv);
    }
    return false;
}

#endif
