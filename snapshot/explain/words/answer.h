/* answer.h - where the memory of a device goes, in a few sentences: the failure, its causes and
 * their cures, the memory of an instant by line and by kind, the figures of servers of language
 * models and of XLA, values that were assumed, the reserved memory,
 * and work areas. Every command and the page
 * print these in this order.
 */
#ifndef TIDE_SNAPSHOT_ANSWER_H
#define TIDE_SNAPSHOT_ANSWER_H

#include <stddef.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/facts.h"
#include "snapshot/explain/peak_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_answer_sentence {
    const char *key; /* "refusal", "oom", "cause", "plan", "oom_cause", "assumed_limit",
                        "assumed", "retries", "filled", "kinds", "kv_pool", "xla", "xla_arrays",
                        "xla_flags", "assumed_value", "assumed_count" (after the last value),
                        "reserved", "work_areas"; equal keys are neighbours */
    const char *text;
} tide_answer_sentence;

enum { TIDE_ANSWER_SENTENCES = 25 };

typedef struct tide_answer {
    tide_arena arena;                                      /* holds the texts */
    tide_answer_sentence sentences[TIDE_ANSWER_SENTENCES]; /* in the order of the answer */
    size_t n_sentences;
} tide_answer;

typedef struct tide_answer_input {
    const tide_facts *facts;
    const tide_causes *causes;    /* of the facts */
    const tide_peak_lines *lines; /* of the instant */
    const char *when;             /* the instant, in words; NULL: the peak */
} tide_answer_input;

/* The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_answer_init(tide_answer *answer, const tide_answer_input *input);
void tide_answer_fini(tide_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
