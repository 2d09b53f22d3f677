/* internal.h - shared by the files of `tidemark ranks`.
 */
#ifndef TIDE_CLI_RANKS_INTERNAL_H
#define TIDE_CLI_RANKS_INTERNAL_H

#include "report/table.h"
#include "snapshot/ranks/rank_words.h"
#include "snapshot/ranks/ranks.h"

/* The files that the operands name, in the arena: a folder means its digests, or its snapshots and
 * pickles if it has none; @LIST means the lines of a file. */
typedef struct tide_rank_files {
    const char **paths; /* owned */
    size_t n;
    size_t capacity; /* of paths */
} tide_rank_files;

TIDE_NODISCARD tide_status tide_rank_files_add(tide_rank_files *files, const char *operand,
                                               tide_arena *arena, tide_error *error);
void tide_rank_files_fini(tide_rank_files *files);

/* The digest of a file, which may be a snapshot or a pickle. */
TIDE_NODISCARD tide_status tide_rank_file_read(const char *path, tide_arena *arena,
                                               tide_digest **ret_digest, tide_error *error);

typedef struct tide_ranks_shown {
    size_t top;           /* differences of a fold */
    bool is_for_programs; /* with tables that are too wide for a terminal */
} tide_ranks_shown;

/* Sentences and tables. */
TIDE_NODISCARD tide_status tide_ranks_report(tide_report *report, const tide_ranks *ranks,
                                             const tide_ranks_shown *shown);

#endif
