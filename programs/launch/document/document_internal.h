/* document_internal.h - the parts of a document, one file each.
 *
 * A document that PyTorch's history was read into is changed in place: it owns its tables of events
 * and blocks and is not shared yet.
 */
#ifndef TIDE_LAUNCH_DOCUMENT_INTERNAL_H
#define TIDE_LAUNCH_DOCUMENT_INTERNAL_H

#include "capture/recover.h"
#include "common/text/strings.h"
#include "programs/launch/document/document.h"

typedef struct tide_document {
    tide_snapshot *snapshot; /* borrowed */
    const tide_left *left;   /* borrowed */
    /* Columns of the snapshot's events, writable. */
    uint32_t *scope, *name;
    uint8_t *category;
    tide_block_row *end_blocks;
    uint8_t *certainty;     /* of the events' categories */
    uint8_t *end_certainty; /* of the end blocks' */
    tide_block_row *start_blocks;
    uint8_t *start_certainty; /* of the start blocks' */
    size_t *end_rows;         /* of the end blocks: the event that allocated it + 1; 0: none */
    tide_strings added;       /* texts that follow the snapshot's strings */
} tide_document;

/* document.c. Adds steps, names and, if a log has them, places to the rows of the snapshot. `notes`
 * NULL: PyTorch's own history. */
TIDE_NODISCARD tide_status tide_document_add_history(tide_snapshot *snapshot, const tide_left *left,
                                                     const tide_recover_notes *notes);

/* The number of a text among the snapshot's strings. */
TIDE_NODISCARD tide_status tide_document_string(tide_document *document, const char *text,
                                                uint32_t *ret_string);

/* The row of the device's history before its first kept event. */
int64_t tide_document_first_row(const tide_document *document, size_t device);

/* Whether statistics count an event of that action as one row of the history. */
bool tide_document_is_row(uint8_t action);

/* document_calls.c: a document of the calls in PID.calls, without steps, names or software.
 * *ret_beyond_bytes: the most that the pools held beyond the blocks. */
TIDE_NODISCARD tide_status tide_document_from_calls(const char *path, tide_snapshot **ret_snapshot,
                                                    int64_t *ret_beyond_bytes, tide_error *error);
TIDE_NODISCARD tide_status tide_document_beyond_blocks(const char *path, int64_t *ret_beyond_bytes,
                                                       tide_error *error);

/* document_steps.c: steps and phases, from the marks. */
TIDE_NODISCARD tide_status tide_document_add_steps(tide_document *document);

/* document_tensors.c: names and categories. */
TIDE_NODISCARD tide_status tide_document_add_tensors(tide_document *document);

/* Whether the name of an allocation was read from its tensor, or is that of a module's argument; of
 * the other names, which graphs of backward passes give, a block has at most one. */
bool tide_document_is_own_name(const tide_document *document, size_t event);

/* Whether a name is one that a graph of a backward pass gave. */
static inline bool tide_document_is_kept(const tide_left_name *name) {
    return name->category[0] == '\0';
}

/* document_align.c: names of the device's blocks that a graph knows, but does not keep. */
TIDE_NODISCARD tide_status tide_document_align_kept(tide_document *document, size_t device);

/* document_kept.c: names of activations in steps whose graph was not read. */
TIDE_NODISCARD tide_status tide_document_add_kept(tide_document *document);

/* document_variables.c: the variables of the program in the names of activations. */
TIDE_NODISCARD tide_status tide_document_add_variables(tide_document *document);

/* document_tensors.c: copies the names of allocations to the rows and blocks of the same lives. */
TIDE_NODISCARD tide_status tide_document_copy_names(tide_document *document);

/* The name of the program's own steps (python/tidemark/marking.py). */
#define TIDE_DOCUMENT_OWN_STEP "own step"

/* document_marks.c. Writes the marks that count; room for 2 * n_marks. Returns their number.
 */
size_t tide_document_choose_marks(const tide_left_mark *marks, size_t n_marks,
                                  tide_left_mark *ret_marks);

/* document_places.c: modules, and autograd nodes. */
TIDE_NODISCARD tide_status tide_document_add_places(tide_document *document,
                                                    const tide_recover_extra *extras);

/* document_log.c. The log's text under a key; "" if there is none. */
const char *tide_document_text(const tide_recover_notes *notes, const char *key);

/* document_owners.c: the owners of memory at the driver's level. */
TIDE_NODISCARD tide_status tide_document_add_owners(tide_snapshot *snapshot,
                                                    const tide_recover_notes *notes);

/* document_failure.c: what the process found out at its first failed request. */
TIDE_NODISCARD tide_status tide_document_add_failure(tide_snapshot *snapshot,
                                                     const tide_left *left);

/* document_serving.c: what servers of language models and XLA report. */
TIDE_NODISCARD tide_status tide_document_add_serving(tide_snapshot *snapshot,
                                                     const tide_left_list *list, int64_t pid);

/* document_source.c: the text of the program's lines. */
TIDE_NODISCARD tide_status tide_document_add_source(tide_snapshot *snapshot,
                                                    const tide_recover_notes *notes);

/* document_plan.c: the facts for `tidemark plan`. */
TIDE_NODISCARD tide_status tide_document_add_plan(tide_snapshot *snapshot,
                                                  const tide_recover_notes *notes);

/* document_types.c: the types of parameters. */
TIDE_NODISCARD tide_status tide_document_add_types(tide_snapshot *snapshot,
                                                   const tide_recover_notes *notes);

/* document_log.c: a document of the log at process->log_path, with all of the above. *ret_rank: the
 * process' rank; -1 if it has none. */
TIDE_NODISCARD tide_status tide_document_from_log(const tide_left *process,
                                                  tide_snapshot **ret_snapshot,
                                                  tide_recover_report *ret_report,
                                                  int64_t *ret_rank, tide_error *error);

#endif
