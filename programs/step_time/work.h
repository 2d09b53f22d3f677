/* work.h - how long a row of a launch log takes on a card, and what it is bound by.
 *
 * A kernel takes a fixed time, plus the time of its bytes at the share of the bandwidth that its
 * family reaches, or the time to compute the addresses of its elements if that is longer. A product
 * takes the time of its tiles on the multiprocessors (product.c), or that of its bytes.
 */
#ifndef TIDE_STEP_TIME_WORK_H
#define TIDE_STEP_TIME_WORK_H

#include "programs/wire/run_launches.h"
#include "programs/step_time/card.h"
#include "programs/step_time/constants.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a row is bound by. */
typedef enum tide_time_bound {
    TIDE_TIME_NO_BOUND = 0, /* it takes no time on the card */
    TIDE_TIME_BY_GEMM,      /* the multiprocessors' rate of products */
    TIDE_TIME_BY_MEMORY,    /* the bandwidth */
    TIDE_TIME_BY_LAUNCH,    /* the fixed time of a kernel is more than half of it */
    TIDE_TIME_BY_ADDRESSES, /* the arithmetic of its addresses */
    TIDE_TIME_BY_LINK,      /* the link to the host, or between cards */
    TIDE_TIME_N_BOUNDS
} tide_time_bound;
const char *tide_time_bound_name(tide_time_bound bound); /* "GEMM", "memory"; "" for none */

/* How certain the time of a row is. */
typedef enum tide_time_basis {
    TIDE_TIME_COMPARED = 0, /* its family was compared with published times (compared.h) */
    TIDE_TIME_UNCOMPARED,   /* its bytes and FLOP are known; its speed was never compared */
    TIDE_TIME_GUESSED,      /* its work is unknown */
    TIDE_TIME_N_BASES
} tide_time_basis;

/* The likely time, and the ends of the interval that holds 80 of 100 comparisons. */
typedef enum tide_time_end {
    TIDE_TIME_LIKELY = 0,
    TIDE_TIME_LEAST,
    TIDE_TIME_MOST,
    TIDE_TIME_N_ENDS
} tide_time_end;

typedef struct tide_work_time {
    double us;    /* on the card; 0: the row has no work for the card */
    double flops; /* of products, in FLOP; 0 if none */
    tide_time_bound bound;
    tide_time_basis basis;
    /* The time by basis: all of it has one basis, except in the launch of a CUDA graph. For a
     * captured row, which takes no time itself: the time in such a launch. */
    double us_of[TIDE_TIME_N_BASES];
    double us_at[TIDE_TIME_N_ENDS]; /* the same time at the ends of its interval */
    double error_us;                /* the median error of the part that was compared */
} tide_work_time;

/* The row's time becomes a guess. */
void tide_work_time_guess(tide_work_time *work);

tide_work_time tide_work_time_of(const tide_time_constants *constants, const tide_time_card *card,
                                 const tide_run_launch *row);

/* A product as computed in product.c: m, n, k and count as in the row. Below 0: the card states no
 * rate for the type. */
double tide_product_us(const tide_time_constants *constants, const tide_time_card *card,
                       const tide_run_launch *row);

/* The bytes of a number of that type. */
double tide_time_type_bytes(tide_run_type type);

/* The links of NVLink from a card, by its name in device/cards.h, to the others of its node. */
int tide_time_n_links(const char *card_name);
/* The source of the rates of a card's links. */
const char *tide_time_link_source(const tide_time_card *card);
/* The same for the network between nodes of 8 such cards; NULL if no source states one. */
const char *tide_time_network_source(const tide_time_card *card);

/* The name of a family in tables: "elementwise", "softmax". */
const char *tide_time_family_name(tide_run_family family);

#ifdef __cplusplus
}
#endif

#endif
