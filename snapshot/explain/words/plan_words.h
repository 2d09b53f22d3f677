/* plan_words.h - how `tidemark plan` would try the cure of a cause on the program of a recording.
 */
#ifndef TIDE_SNAPSHOT_PLAN_WORDS_H
#define TIDE_SNAPSHOT_PLAN_WORDS_H

#include "common/text/text.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the command, and what it would try: of the first cause with such a cure among those that are
 * printed. Adds nothing unless a plan can start the recorded program: it trained with PyTorch on
 * one GPU, by a command that is in the recording and can be pasted as it is. Without the facts of
 * an observed run, a change is named only if the call stacks show that it is possible. */
void tide_plan_words_add(const tide_facts *facts, const tide_causes *causes, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
