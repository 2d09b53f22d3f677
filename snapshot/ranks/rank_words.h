/* rank_words.h - the sentences of `tidemark explain` about many ranks: each printed once, with the
 * ranks that it holds for. `tidemark ranks` and `tidemark run` print them.
 *
 * Sentences that differ in figures only are one: ranks that hold the same tensors rarely have
 * equal bytes. The figures are then those of the fullest of these ranks, which is named.
 */
#ifndef TIDE_SNAPSHOT_RANK_WORDS_H
#define TIDE_SNAPSHOT_RANK_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/ranks/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The answer about one rank. tide_rank_answer_make makes one of what is explained. */
typedef struct tide_rank_answer {
    int64_t rank;     /* -1: unknown */
    const char *name; /* of its file, used if the rank is unknown */
    int64_t peak_bytes;
    const tide_digest_sentence *sentences;
    size_t n_sentences;
} tide_rank_answer;

/* A sentence of several ranks. */
typedef struct tide_rank_sentence {
    const char *key;
    const char *who;     /* "rank 3", "ranks 1, 5 and 7", "12 of 64 ranks", "all 8 ranks" */
    const char *fullest; /* "rank 5": whose figures the text has; "": all have the same */
    const char *text;
    const size_t *ranks; /* indices of the answers, ascending */
    size_t n_ranks;
    size_t position; /* in the answer of the first of these ranks */
} tide_rank_sentence;

typedef struct tide_rank_sentences {
    tide_rank_sentence *rows; /* in the arena: failures, causes, then the peak; of one key, those of
                                 most ranks first, then as in the answer */
    size_t n_rows;
} tide_rank_sentences;

/* Of the sentences of the answer, with the causes as if each were the first. `ret`: the rank, its
 * name and its peak stay. */
TIDE_NODISCARD tide_status tide_rank_answer_make(const tide_digest_explained *explained,
                                                 tide_arena *arena, tide_rank_answer *ret);

/* `answers`: by rank; they must outlive the result. `n_all`: number of ranks, with those of which
 * nothing is known. */
TIDE_NODISCARD tide_status tide_rank_sentences_make(const tide_rank_answer *answers, size_t n,
                                                    size_t n_all, tide_arena *arena,
                                                    tide_rank_sentences *ret);

/* Adds "3 of 8 ranks: SENTENCE", "ranks 1 and 5 (figures of rank 5): SENTENCE". */
void tide_rank_sentence_add(const tide_rank_sentence *sentence, tide_text *to);

/* The place of a key in the order of the rows. */
int tide_rank_sentence_place(const char *key);

/* Adds the sentence without its figures; those of two ranks that differ in figures only become
 * equal. */
void tide_rank_sentence_add_fold(const char *sentence, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
