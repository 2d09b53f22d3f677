#include "programs/runs/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a member, by its kind. Bytes are copied, because casting their address to another
 * type would break C's aliasing rules. */
typedef union value {
    const char *borrowed;
    int integer;
    int64_t wide;
    uint64_t count;
    double real;
    bool flag;
} value;

static value value_of(const tide_json_field *field, const void *from) {
    value ret = {.count = 0};
    if (field->kind != TIDE_JSON_FIELD_TEXT) {
        memcpy(&ret, (const char *)from + field->offset, field->n_bytes);
    }
    return ret;
}

static const char *text_of(const tide_json_field *field, const void *from) {
    return (const char *)from + field->offset;
}

bool tide_field_is_known(const tide_json_field *field, const void *from) {
    const value is = value_of(field, from);
    switch (field->kind) {
    case TIDE_JSON_FIELD_TEXT:
        return text_of(field, from)[0] != '\0';
    case TIDE_JSON_FIELD_BORROWED:
        return is.borrowed != NULL;
    case TIDE_JSON_FIELD_INT:
        return is.integer != -1;
    case TIDE_JSON_FIELD_INT64:
        return is.wide != -1;
    case TIDE_JSON_FIELD_REAL:
        return isfinite(is.real) != 0;
    case TIDE_JSON_FIELD_COUNT:
    case TIDE_JSON_FIELD_FLAG:
        break;
    }
    return true;
}

bool tide_field_is_equal(const tide_json_field *field, const void *a, const void *b) {
    if (field->kind == TIDE_JSON_FIELD_TEXT) {
        return strcmp(text_of(field, a), text_of(field, b)) == 0;
    }
    return memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                  field->n_bytes) == 0;
}

/* ---- writing ---- */

static bool write_field(cJSON *json, const tide_json_field *field, const void *from) {
    const value is = value_of(field, from);
    char digits[32];
    switch (field->kind) {
    case TIDE_JSON_FIELD_TEXT:
        return cJSON_AddStringToObject(json, field->key, text_of(field, from)) != NULL;
    case TIDE_JSON_FIELD_BORROWED:
        return is.borrowed == NULL ||
               cJSON_AddStringToObject(json, field->key, is.borrowed) != NULL;
    case TIDE_JSON_FIELD_COUNT:
        snprintf(digits, sizeof(digits), "%" PRIu64, is.count);
        return cJSON_AddStringToObject(json, field->key, digits) != NULL;
    case TIDE_JSON_FIELD_FLAG:
        return cJSON_AddBoolToObject(json, field->key, is.flag) != NULL;
    case TIDE_JSON_FIELD_INT:
        return cJSON_AddNumberToObject(json, field->key, (double)is.integer) != NULL;
    case TIDE_JSON_FIELD_INT64:
        return cJSON_AddNumberToObject(json, field->key, (double)is.wide) != NULL;
    case TIDE_JSON_FIELD_REAL:
        break;
    }
    return cJSON_AddNumberToObject(json, field->key, is.real) != NULL;
}

bool tide_json_fields_write(cJSON *json, const tide_json_field *fields, size_t n,
                            const void *from) {
    for (size_t i = 0; i < n; i++) {
        bool is_left_out = fields[i].is_optional && !tide_field_is_known(&fields[i], from);
        if (!is_left_out && !write_field(json, &fields[i], from)) {
            return false;
        }
    }
    return true;
}

/* ---- reading ---- */

static tide_status read_number(const tide_json_field *field, const cJSON *item, value *ret,
                               tide_error *error) {
    double limit = field->kind == TIDE_JSON_FIELD_INT ? 2147483647.0 : 9007199254740992.0;
    if (item == NULL || !cJSON_IsNumber(item)) {
        return tide_fail(error, TIDE_FORMAT, "%s is missing or no number", field->key);
    }
    double number = item->valuedouble;
    if (field->kind == TIDE_JSON_FIELD_REAL) {
        ret->real = number;
        return TIDE_OK;
    }
    if (!(fabs(number) <= limit) || floor(number) != number) {
        return tide_fail(error, TIDE_FORMAT, "%s is not a whole number within its limit",
                         field->key);
    }
    if (field->n_values > 0 && (number < 0.0 || number >= (double)field->n_values)) {
        return tide_fail(error, TIDE_FORMAT, "%s is beyond its list", field->key);
    }
    if (field->kind == TIDE_JSON_FIELD_INT) {
        ret->integer = (int)number;
    } else {
        ret->wide = (int64_t)number;
    }
    return TIDE_OK;
}

static tide_status read_count(const tide_json_field *field, const char *digits, value *ret,
                              tide_error *error) {
    char *end = NULL;
    errno = 0;
    unsigned long long count = strtoull(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0) {
        return tide_fail(error, TIDE_FORMAT, "%s is no count", field->key);
    }
    ret->count = count;
    return TIDE_OK;
}

static tide_status read_text(const tide_json_field *field, const cJSON *item, void *to,
                             tide_error *error) {
    char *member = (char *)to + field->offset;
    value is = {.count = 0};
    if (field->kind == TIDE_JSON_FIELD_BORROWED && item == NULL) {
        return TIDE_OK;
    }
    if (item == NULL || !cJSON_IsString(item)) {
        return tide_fail(error, TIDE_FORMAT, "%s is missing or no text", field->key);
    }
    if (field->kind == TIDE_JSON_FIELD_TEXT) {
        (void)snprintf(member, field->n_bytes, "%s", item->valuestring);
        return TIDE_OK;
    }
    is.borrowed = item->valuestring;
    if (field->kind == TIDE_JSON_FIELD_COUNT) {
        TIDE_TRY(read_count(field, item->valuestring, &is, error));
    }
    memcpy(member, &is, field->n_bytes);
    return TIDE_OK;
}

static tide_status read_field(const cJSON *json, const tide_json_field *field, void *to,
                              tide_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field->key);
    value is = {.count = 0};
    if (item == NULL && field->is_optional) {
        return TIDE_OK;
    }
    switch (field->kind) {
    case TIDE_JSON_FIELD_TEXT:
    case TIDE_JSON_FIELD_BORROWED:
    case TIDE_JSON_FIELD_COUNT:
        return read_text(field, item, to, error);
    case TIDE_JSON_FIELD_FLAG:
        if (!cJSON_IsBool(item)) {
            return tide_fail(error, TIDE_FORMAT, "%s is missing or neither true nor false",
                             field->key);
        }
        is.flag = cJSON_IsTrue(item) != 0;
        break;
    case TIDE_JSON_FIELD_INT:
    case TIDE_JSON_FIELD_INT64:
    case TIDE_JSON_FIELD_REAL:
        TIDE_TRY(read_number(field, item, &is, error));
        break;
    }
    memcpy((char *)to + field->offset, &is, field->n_bytes);
    return TIDE_OK;
}

tide_status tide_json_fields_read(const cJSON *json, const tide_json_field *fields, size_t n,
                                  void *to, tide_error *error) {
    for (size_t i = 0; i < n; i++) {
        TIDE_TRY(read_field(json, &fields[i], to, error));
    }
    return TIDE_OK;
}
