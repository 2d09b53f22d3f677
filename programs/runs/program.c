#include "programs/runs/program.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/hostmem.h"
#include "common/text/text.h"

/* Bytes of one argument: the limit of Linux. */
enum { ARGUMENT_BYTES = 1 << 17 };

static const char NAME_CHARACTERS[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* ---- the command ---- */

bool tide_run_program_uses(char *const *arguments, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        for (const char *at = strchr(arguments[i], '{'); at != NULL; at = strchr(at + 1, '{')) {
            if (strncmp(at + 1, name, n) == 0 && at[1 + n] == '}') {
                return true;
            }
        }
    }
    return false;
}

char *tide_run_program_command(char *const *arguments) {
    cJSON *array = cJSON_CreateArray();
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && arguments[i] != NULL; i++) {
        is_complete = cJSON_AddItemToArray(array, cJSON_CreateString(arguments[i])) != 0;
    }
    char *text = is_complete ? cJSON_PrintUnformatted(array) : NULL;
    cJSON_Delete(array);
    return text;
}

/* ---- its values ---- */

static const char *value_of(const char *values, const char *name, size_t n_name,
                            size_t *ret_n_bytes) {
    for (const char *at = values; *at != '\0';) {
        size_t n = strcspn(at, ",");
        if (n > n_name && strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            *ret_n_bytes = n - n_name - 1;
            return at + n_name + 1;
        }
        at += at[n] == ',' ? n + 1 : n;
    }
    return NULL;
}

const char *tide_run_program_value(const char *values, const char *name, size_t *ret_n_bytes) {
    return value_of(values, name, strlen(name), ret_n_bytes);
}

static tide_status replace(const char *values, const char *argument, char **ret,
                           tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    char *text = tide_hostmem_zeroed(mem, ARGUMENT_BYTES, 1);
    if (text == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for an argument");
    }
    size_t n_used = 0;
    for (const char *at = argument; *at != '\0' && n_used < ARGUMENT_BYTES;) {
        size_t n_taken = 1;
        size_t n = 1;
        const char *piece = at;
        size_t n_name = *at == '{' ? strcspn(at + 1, "{}") : 0;
        const char *value =
            n_name > 0 && at[1 + n_name] == '}' ? value_of(values, at + 1, n_name, &n) : NULL;
        if (value != NULL) {
            piece = value;
            n_taken = n_name + 2;
        }
        if (n < ARGUMENT_BYTES - n_used) {
            memcpy(text + n_used, piece, n);
        }
        n_used += n;
        at += n_taken;
    }
    if (n_used >= ARGUMENT_BYTES) {
        mem->release(mem->ctx, text);
        return tide_fail(error, TIDE_LIMIT, "an argument is longer than %d bytes",
                         (int)ARGUMENT_BYTES);
    }
    *ret = text;
    return TIDE_OK;
}

void tide_run_program_release(char **arguments) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
        mem->release(mem->ctx, arguments[i]);
    }
    mem->release(mem->ctx, arguments);
}

static tide_status make_arguments(const tide_run_program *program, const cJSON *array,
                                  char **arguments, tide_error *error) {
    const cJSON *item = NULL;
    size_t n = 0;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsString(item)) {
            return tide_fail(error, TIDE_FORMAT, "an argument of the command is no text");
        }
        TIDE_TRY(replace(program->values, item->valuestring, &arguments[n], error));
        n++;
    }
    return TIDE_OK;
}

tide_status tide_run_program_arguments(const tide_run_program *program, char ***ret_arguments,
                                       tide_error *error) {
    cJSON *array = program->command != NULL ? cJSON_Parse(program->command) : NULL;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) == 0) {
        cJSON_Delete(array);
        return tide_fail(error, TIDE_FORMAT, "the command is no list of arguments");
    }
    char **arguments = tide_hostmem_zeroed(
        tide_hostmem_default(), (size_t)cJSON_GetArraySize(array) + 1, sizeof(*arguments));
    tide_status status =
        arguments != NULL ? make_arguments(program, array, arguments, error) : TIDE_NO_MEMORY;
    cJSON_Delete(array);
    if (status != TIDE_OK) {
        tide_run_program_release(arguments);
        return status;
    }
    *ret_arguments = arguments;
    return TIDE_OK;
}

/* ---- as a workload ---- */

tide_status tide_run_program_check(const tide_run_program *program, tide_error *error) {
    char **arguments = NULL;
    TIDE_TRY(tide_run_program_arguments(program, &arguments, error));
    tide_run_program_release(arguments);
    return TIDE_OK;
}

/* Characters that a file's name should not have become "_". */
void tide_run_program_name(const tide_run_program *program, char ret_name[TIDE_RUN_NAME_BYTES]) {
    tide_text to = tide_text_in(ret_name, TIDE_RUN_NAME_BYTES);
    tide_text_add(&to, "%s%s", program->card,
                  program->card[0] != '\0' && program->values[0] != '\0' ? "-" : "");
    for (const char *at = program->values; *at != '\0'; at++) {
        if (*at != '=') {
            tide_text_add(&to, "%c", *at == ',' ? '-' : *at);
        }
    }
    if (ret_name[0] == '\0') {
        tide_text_add(&to, "run");
    }
    for (char *at = ret_name; *at != '\0'; at++) {
        if (strchr(NAME_CHARACTERS, *at) == NULL) {
            *at = '_';
        }
    }
}
