/* The model from a JSON file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "model/commands/options/model_options.h"
#include "common/files/text_file.h"

enum { MAX_CONFIG_BYTES = 1 << 20 };

/* The keys that are counts, and the members that they set. */
static const struct {
    const char *key;
    size_t offset; /* of a size_t in tide_model_config */
} COUNTS[] = {
    {"d_model", offsetof(tide_model_config, d_model)},
    {"n_layers", offsetof(tide_model_config, n_layers)},
    {"n_heads", offsetof(tide_model_config, n_heads)},
    {"d_ff", offsetof(tide_model_config, d_ff)},
    {"vocab_size", offsetof(tide_model_config, vocab_size)},
    {"context_length", offsetof(tide_model_config, context_length)},
    {"batch_size", offsetof(tide_model_config, batch_size)},
};

#define KEYS                                                                                       \
    "size, d_model, n_layers, n_heads, d_ff, vocab_size, context_length, batch_size, rope_theta, " \
    "no_head"

static tide_status apply_item(const char *path, const cJSON *item, tide_model_config *config,
                              bool *is_custom, tide_error *error) {
    const char *key = item->string != NULL ? item->string : "";
    if (strcmp(key, "size") == 0) {
        return TIDE_OK; /* was applied first */
    }
    if (strcmp(key, "rope_theta") == 0) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0.0)) {
            return tide_fail(error, TIDE_INVALID, "%s: rope_theta must be a number above 0", path);
        }
        config->rope_theta = item->valuedouble;
        return TIDE_OK;
    }
    if (strcmp(key, "no_head") == 0) {
        if (!cJSON_IsBool(item)) {
            return tide_fail(error, TIDE_INVALID, "%s: no_head must be true or false", path);
        }
        config->no_head = cJSON_IsTrue(item);
        return TIDE_OK;
    }
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++) {
        if (strcmp(COUNTS[i].key, key) != 0) {
            continue;
        }
        double number = item->valuedouble;
        if (!cJSON_IsNumber(item) || number < 0.0 || number > 9007199254740992.0 ||
            floor(number) != number) {
            return tide_fail(error, TIDE_INVALID, "%s: %s must be a whole number of 0 or more",
                             path, key);
        }
        memcpy((char *)config + COUNTS[i].offset, &(size_t){(size_t)number}, sizeof(size_t));
        *is_custom = *is_custom || i < 5; /* context and batch do not make the model a custom one */
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_INVALID, "%s: unknown key '%.64s' (valid: " KEYS ")", path, key);
}

static tide_status apply(const char *path, const char *text, const cJSON *document,
                         tide_model_config *config, tide_error *error) {
    if (document == NULL &&
        errno == ENOMEM) { /* cJSON does not report why it failed, but malloc does */
        return tide_fail(error, TIDE_NO_MEMORY, "%s: no host memory to read it", path);
    }
    if (document == NULL) {
        const char *at = cJSON_GetErrorPtr();
        return tide_fail(error, TIDE_INVALID, "%s is not JSON at byte %td", path,
                         at != NULL ? at - text : (ptrdiff_t)0);
    }
    if (!cJSON_IsObject(document)) {
        return tide_fail(error, TIDE_INVALID, "%s must hold one JSON object with the keys " KEYS,
                         path);
    }
    tide_model_config read = *config;
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(document, "size");
    if (size != NULL) {
        if (!cJSON_IsString(size)) {
            return tide_fail(error, TIDE_INVALID, "%s: size must be a string", path);
        }
        tide_status status = tide_model_config_preset(size->valuestring, &read, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s", path);
            return status;
        }
    }
    bool is_custom = false;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, document) {
        const char *key = item->string != NULL ? item->string : "";
        if (cJSON_GetObjectItemCaseSensitive(document, key) != item) {
            return tide_fail(error, TIDE_INVALID, "%s: the key '%.64s' occurs twice", path, key);
        }
        TIDE_TRY(apply_item(path, item, &read, &is_custom, error));
    }
    if (is_custom || read.no_head) {
        char name[TIDE_MODEL_NAME_BYTES];
        snprintf(name, sizeof(name), "%s", is_custom ? "custom" : read.size);
        tide_model_config_name(&read, name);
    }
    *config = read;
    return TIDE_OK;
}

tide_status tide_model_file_read(const char *path, tide_model_config *config, tide_error *error) {
    char *text = NULL;
    TIDE_TRY(tide_text_file_read(path, MAX_CONFIG_BYTES, &text, NULL, error));
    const char *end = NULL;
    errno = 0;
    cJSON *document = cJSON_ParseWithOpts(text, &end, true /* nothing after the document */);
    tide_status status = apply(path, text, document, config, error);
    cJSON_Delete(document);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    return status;
}

tide_status tide_model_file_name(const char *path, char ret_name[TIDE_MODEL_NAME_BYTES],
                                 tide_error *error) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *ending = strrchr(name, '.');
    size_t n = ending != NULL && ending != name ? (size_t)(ending - name) : strlen(name);
    if (n == 0 || n >= TIDE_MODEL_NAME_BYTES) {
        return tide_fail(error, TIDE_LIMIT,
                         "--config: several models are named by their files, and the name of %s "
                         "has not 1 to %d bytes before its ending: rename the file",
                         path, (int)TIDE_MODEL_NAME_BYTES - 1);
    }
    snprintf(ret_name, TIDE_MODEL_NAME_BYTES, "%.*s", (int)n, name);
    return TIDE_OK;
}
