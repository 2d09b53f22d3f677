/* remedy_words.h - the sentence about a setting of the allocator that would have helped.
 */
#ifndef TIDE_CLI_REMEDY_WORDS_H
#define TIDE_CLI_REMEDY_WORDS_H

#include <stdbool.h>

#include "common/text/text.h"
#include "replay/remedy.h"

/* Adds "It would help to set ..", after a failed request, or "To reserve less, set ..". `variable`:
 * what precedes the setting, "PYTORCH_CUDA_ALLOC_CONF=". Nothing if none helps. */
void tide_remedy_words_add(const tide_remedy *remedy, bool has_failed, const char *variable,
                           tide_text *to);

#endif
