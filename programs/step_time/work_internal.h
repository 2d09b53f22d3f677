/* work_internal.h - the parts of the model of time, one file for each kind of work. */
#ifndef TIDE_STEP_TIME_WORK_INTERNAL_H
#define TIDE_STEP_TIME_WORK_INTERNAL_H

#include "programs/step_time/log.h"
#include "programs/step_time/work.h"

/* Bytes a microsecond that the card's memory delivers at a share of 1. */
double tide_time_bandwidth(const tide_time_constants *constants, const tide_time_card *card);

/* Microseconds for the bytes at that share of the bandwidth; data that fit in half of the L2 cache
 * are faster. */
double tide_time_memory_us(const tide_time_constants *constants, const tide_time_card *card,
                           double bytes, double share);

/* product.c: the share of the stated rate that large products of the row's type reach. */
double tide_time_share_of_peak(const tide_time_constants *constants, const tide_time_card *card,
                               const tide_run_launch *row);

/* kernel.c: rows of kernels. */
tide_work_time tide_time_kernel_work(const tide_time_constants *constants,
                                     const tide_time_card *card, const tide_run_launch *row);

/* attention.c: rows of attention. */
tide_work_time tide_time_attention(const tide_time_constants *constants, const tide_time_card *card,
                                   const tide_run_launch *row);
/* convolution.c */
tide_work_time tide_time_convolution(const tide_time_constants *constants,
                                     const tide_time_card *card, const tide_run_launch *row);

/* link.c: collectives between cards, and copies between a card and something else. */
tide_work_time tide_time_collective(const tide_time_constants *constants,
                                    const tide_time_card *card, const tide_run_launch *row);
/* If a communicator has more than a node's ranks but not all, the nodes of its ranks are unknown:
 * its rows become guesses. `work`: by row. */
void tide_time_collectives_place(const tide_time_log *log, tide_work_time *work);
tide_work_time tide_time_link_copy(const tide_time_constants *constants, const tide_time_card *card,
                                   const tide_run_launch *row);

#endif
