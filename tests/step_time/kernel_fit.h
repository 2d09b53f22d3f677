/* kernel_fit.h - fits the constants of variants of kernels, of memories, convolutions and products
 * by chip to published times. The constants that published steps determine (fit_step_time) stay.
 */
#ifndef TESTS_STEP_TIME_KERNEL_FIT_H
#define TESTS_STEP_TIME_KERNEL_FIT_H

#include "step_time/kernel_cases.h"

/* Where every fit begins: the constants of before any of these times was seen. */
extern const kernel_parameters KERNEL_START;
/* The constants of the program, and those of do_bench that were fitted with them. */
kernel_parameters kernel_parameters_of_program(void);

/* Changes `at` until the cases that are not left out fit best. */
void kernel_fit(kernel_cases *cases, kernel_parameters *at);

/* Prints what is fitted. */
void kernel_fit_say(const kernel_parameters *of);

#endif
