/* step_phases.h - the timed phases of a step, in the order in which samples and results have
 * them.
 */
#ifndef TIDE_PROGRAMS_WIRE_STEP_PHASES_H
#define TIDE_PROGRAMS_WIRE_STEP_PHASES_H

enum {
    TIDE_TIMED_FORWARD = 0,
    TIDE_TIMED_BACKWARD,
    TIDE_TIMED_OPTIMIZER,
    TIDE_TIMED_STEP,
    TIDE_N_TIMED
};

#endif
