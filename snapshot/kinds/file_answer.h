/* file_answer.h - what a file that is not a snapshot says about memory: sentences and figures.
 *
 * Every sentence follows from the file alone, and the last one names what the file does not show
 * and how to record it.
 */
#ifndef TIDE_SNAPSHOT_FILE_ANSWER_H
#define TIDE_SNAPSHOT_FILE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_FILE_ANSWER_ITEMS = 16, TIDE_SENTENCE_BYTES = 1536 };

typedef struct tide_file_answer {
    tide_arena arena; /* owned: the texts */
    struct {
        const char *key;  /* static: what the sentence is about, as in `tidemark explain` */
        const char *text; /* in the arena */
    } sentences[TIDE_FILE_ANSWER_ITEMS];
    size_t n_sentences;
    struct {
        const char *key; /* static; ends in "_bytes" if it is a number of bytes */
        int64_t value;
    } figures[TIDE_FILE_ANSWER_ITEMS];
    size_t n_figures;
    bool is_short_of_memory;
} tide_file_answer;

void tide_file_answer_init(tide_file_answer *answer, const tide_hostmem *mem);
void tide_file_answer_fini(tide_file_answer *answer);

/* Adds a sentence; further ones than TIDE_FILE_ANSWER_ITEMS are dropped. */
void tide_file_answer_say(tide_file_answer *answer, const char *key, const char *format, ...)
    TIDE_PRINTF(3, 4);
/* Adds a figure unless it is unknown, which is a negative number. */
void tide_file_answer_figure(tide_file_answer *answer, const char *key, int64_t value);

/* Reads the file at `path`. *ret_is_answered: the file is of a kind that is answered here, and the
 * answer is complete; otherwise it is a snapshot, or a file that tide_snapshot_load refuses with
 * the reason. TIDE_FORMAT: such a file, but damaged, or it says nothing about memory. */
TIDE_NODISCARD tide_status tide_file_answer_read(const char *path, tide_file_answer *answer,
                                                 bool *ret_is_answered, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
