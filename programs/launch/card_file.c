#include "programs/launch/card_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/hostmem.h"
#include "common/text/nearest.h"
#include "common/text/text.h"
#include "common/files/text_file.h"
#include "device/card_text.h"

enum { MOST_BYTES = 1 << 16 };

static const char *member_at(const void *ctx, size_t i) {
    (void)ctx;
    return i == 0 ? "base" : tide_card_member(i - 1);
}

static tide_status add_member(const char *path, const cJSON *member, tide_card *card, tide_text *to,
                              tide_error *error) {
    static const tide_words MEMBERS = {.word_at = member_at};
    char text[TIDE_NEAREST_TEXT];
    size_t i = 0;
    while (member_at(NULL, i) != NULL && strcmp(member_at(NULL, i), member->string) != 0) {
        i++;
    }
    if (member_at(NULL, i) == NULL) {
        return tide_fail(error, TIDE_FORMAT, "%s: a card has no member %s", path,
                         tide_unknown_word(&MEMBERS, member->string, text));
    }
    if (i == 0) {
        return TIDE_OK; /* the base */
    }
    double value = cJSON_IsNumber(member) ? member->valuedouble : -1.0;
    if (value != (double)(int64_t)value || !tide_card_set(card, member->string, (int64_t)value)) {
        return tide_fail(
            error, TIDE_FORMAT,
            "%s: %s: no card has that value; a whole number in the unit of the name is "
            "expected",
            path, member->string);
    }
    tide_text_add(to, ":%s=%" PRId64, member->string, (int64_t)value);
    return TIDE_OK;
}

static tide_status read_card(const char *path, const cJSON *root, tide_text *to,
                             tide_error *error) {
    const char *base = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "base"));
    const tide_card *found = base != NULL ? tide_card_find(base) : NULL;
    if (found == NULL) {
        return tide_fail(
            error, TIDE_FORMAT,
            "%s: \"base\" must name a card of the table, such as \"h100-80\"; tidemark "
            "devices --cards lists them",
            path);
    }
    tide_card card = *found;
    tide_text_add(to, "%s", found->name);
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, root) {
        TIDE_TRY(add_member(path, member, &card, to, error));
    }
    return TIDE_OK;
}

tide_status tide_launch_card_file(const char *path, char *ret_text, size_t n_room,
                                  tide_error *error) {
    char *text = NULL;
    tide_status read = tide_text_file_read(path, MOST_BYTES, &text, NULL, error);
    if (read != TIDE_OK) {
        tide_error_prefix(error, "a card's file");
        return read;
    }
    cJSON *root = cJSON_Parse(text);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    tide_text to = tide_text_in(ret_text, n_room);
    tide_status status = cJSON_IsObject(root)
                             ? read_card(path, root, &to, error)
                             : tide_fail(error, TIDE_FORMAT, "%s: this is no JSON object", path);
    cJSON_Delete(root);
    return status;
}
