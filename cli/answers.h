/* answers.h - answers of `tidemark explain` that need a replay, for the page, which makes none.
 */
#ifndef TIDE_CLI_ANSWERS_H
#define TIDE_CLI_ANSWERS_H

#include <cjson/cJSON.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For each device null, or, if a replay adds a sentence, the list of [key, text] of all sentences
 * that `tidemark explain` prints about it. The caller deletes it. NULL: no device has such an
 * answer, or there is no memory. */
cJSON *tide_replayed_answers(const tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
