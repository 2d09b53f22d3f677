/* report.h - writes reports: one self-contained HTML file that holds the viewer and the snapshots
 * it shows.
 *
 * A report opens from disk, without a network and without this program. Snapshots are embedded as
 * they are, compressed, in base64: nothing in them can end a script element or become markup.
 */
#ifndef TIDE_VIEWER_REPORT_H
#define TIDE_VIEWER_REPORT_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a report. */
typedef struct tide_report_input {
    const char *label; /* borrowed; what the run is called on the page; NULL: its file's name */
    const char *path;  /* borrowed; a snapshot, gzip-compressed or plain JSON */
} tide_report_input;

/* Writes the page to PATH: to a temporary name beside it first, renamed when complete, so that a
 * failure leaves an older file as it was. If PATH is a link, its target is replaced. The first
 * input is the base of the comparison. Without inputs it is the empty viewer, on which files can be
 * dropped. `comparison_json` is a JSON object with the text "sentence", shown above several runs,
 * and the list "names" of one text per input, which distinguishes its run from the others, and
 * the list "answers" of cli/answers.h per input; NULL:
 * none. TIDE_IO names the file and the system's reason; TIDE_FORMAT an input that is no snapshot by
 * its first bytes. */
TIDE_NODISCARD tide_status tide_report_write(const char *path, const tide_report_input *inputs,
                                             size_t n_inputs, const char *comparison_json,
                                             tide_error *error);

/* A digest (docs/reference/digest.md): the text of its JSON, uncompressed; borrowed. */
typedef struct tide_report_digest {
    const char *text;
    size_t n_bytes;
} tide_report_digest;

/* Writes the page of many ranks to PATH, as above: {"format":"tidemark-ranks","version":1,
 * "digests":[...]}, compressed, with the texts as they are. They are read by the page, which
 * refuses what is no digest. TIDE_FORMAT where a text does not begin as an object, or `n` is 0. */
TIDE_NODISCARD tide_status tide_report_write_ranks(const char *path,
                                                   const tide_report_digest *digests, size_t n,
                                                   tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
