/* Parts of the document that follow from other parts. The file has them for small tools. The reader
 * checks their form and drops them, so they cannot contradict their sources. */
#include "snapshot/format/reader_keys_internal.h"

void tide_read_document_summary(tide_reader *reader, void *snapshot) {
    static const tide_readable NO_KEYS = {NULL, 0};
    tide_json *json = &reader->json;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        tide_read_object(reader, &NO_KEYS, snapshot);
    }
}

void tide_read_document_oom(tide_reader *reader, void *snapshot) {
    tide_json *json = &reader->json;
    tide_oom_part row;
    (void)snapshot;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        tide_read_object(reader, &tide_readable_oom, &row);
    }
}
