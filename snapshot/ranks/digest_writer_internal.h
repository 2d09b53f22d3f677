/* digest_writer_internal.h - what the files of the writer of digests share.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_WRITER_INTERNAL_H
#define TIDE_SNAPSHOT_DIGEST_WRITER_INTERNAL_H

#include "snapshot/ranks/digest.h"
#include "snapshot/format/json_writer.h"

/* The whole text, whose keys are those of digest.def. */
void tide_digest_write_document(tide_json_writer *json, const tide_digest *digest);

#endif
