/* Parts of the document that follow from other parts. They are in the file for small tools. The
 * reader checks their form and drops them, so that they cannot contradict what they follow from. */
#include "snapshot/format/reader_internal.h"

void tide_read_summary(tide_reader *reader) {
    tide_json *json = &reader->json;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        tide_json_enter_object(json);
        while (tide_json_next_field(json, NULL, 0, 0) >= 0) {
        }
    }
}

void tide_read_oom(tide_reader *reader) {
    static const char *const KEYS[] = {"event", "requested_bytes", "free_bytes"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]), FREE_BYTES = 2 };
    tide_json *json = &reader->json;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        int field = -1;
        tide_json_enter_object(json);
        while ((field = tide_json_next_field(json, KEYS, N_KEYS, (1U << N_KEYS) - 1)) >= 0) {
            (void)tide_json_get_integer(json, field == FREE_BYTES ? -1 : 0, INT64_MAX);
        }
    }
}
