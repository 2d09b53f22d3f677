/* document_internal.h - the parts of a document, one file each.
 *
 * A document that PyTorch's history was read into is changed in place: its tables of events and
 * blocks lie in memory of its own, and nobody else has seen it yet.
 */
#ifndef TIDE_LAUNCH_DOCUMENT_INTERNAL_H
#define TIDE_LAUNCH_DOCUMENT_INTERNAL_H

#include "common/strings.h"
#include "launch/document.h"

typedef struct tide_document {
    tide_snapshot *snapshot; /* borrowed */
    const tide_left *left;   /* borrowed */
    tide_event *events;      /* the snapshot's, which may be changed */
    tide_block_row *end_blocks;
    tide_strings added; /* texts that come behind the snapshot's strings */
} tide_document;

/* The number of a text among the snapshot's strings. */
TIDE_NODISCARD tide_status tide_document_string(tide_document *document, const char *text,
                                                uint32_t *ret_string);

/* The row of the device's history before its first event that is kept. */
int64_t tide_document_first_row(const tide_document *document, size_t device);

/* Whether the event is one row of the history as statistics count them. */
bool tide_document_is_row(const tide_event *event);

/* document_calls.c: a document of the calls that PID.calls holds; without steps, names, software.
 * *ret_beyond_bytes: what the pools held at most beyond the blocks. */
TIDE_NODISCARD tide_status tide_document_from_calls(const char *path, tide_snapshot **ret_snapshot,
                                                    int64_t *ret_beyond_bytes, tide_error *error);

/* document_steps.c: steps and phases, from the marks. */
TIDE_NODISCARD tide_status tide_document_add_steps(tide_document *document);

/* document_tensors.c: names and categories. */
TIDE_NODISCARD tide_status tide_document_add_tensors(tide_document *document);

#endif
