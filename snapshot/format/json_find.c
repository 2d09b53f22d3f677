/* For messages only: finds the offset of a value that proved wrong after the whole document was
 * read. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/format/json_reader.h"

/* Enters the object and moves to the value of a key. */
static bool go_to_key(tide_json *json, const char *key, size_t n_bytes) {
    char name[64];
    if (n_bytes >= sizeof(name)) {
        return false;
    }
    memcpy(name, key, n_bytes);
    name[n_bytes] = '\0';
    const char *const fields[1] = {name};
    tide_json_enter_object(json);
    return tide_json_next_field(json, fields, 1, 0) == 0;
}

static bool go_to_item(tide_json *json, size_t item) {
    tide_json_enter_array(json);
    for (size_t i = 0; tide_json_next_item(json); i++) {
        if (i == item) {
            return true;
        }
        tide_json_skip(json);
    }
    return false;
}

size_t tide_json_find(tide_json *json, const char *path) {
    while (*path != '\0') {
        bool there = false;
        if (*path == '[') {
            char *end = NULL;
            there = go_to_item(json, (size_t)strtoull(path + 1, &end, 10));
            path = *end == ']' ? end + 1 : end;
        } else {
            path += *path == '.';
            size_t size = strcspn(path, ".[");
            there = go_to_key(json, path, size);
            path += size;
        }
        if (!there) {
            return 0;
        }
    }
    (void)tide_json_peek(json); /* skips white space */
    return json->at;
}
