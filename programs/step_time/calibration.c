#define _POSIX_C_SOURCE 200809L
#include "programs/step_time/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/hostmem.h"
#include "common/files/output_file.h"
#include "common/files/text_file.h"

#define FORMAT "tidemark calibration"

enum { VERSION = 1, MOST_BYTES = 1 << 16, PLACE_BYTES = 64 };

/* Far beyond any machine, and far from the ends of a double. */
#define MOST_US 1e9
#define MOST_NUMBER 1e15
#define MOST_ROWS 1048576.0

const char *tide_calibration_type_name(tide_run_type type) {
    static const char *const NAMES[TIDE_CALIBRATION_TYPES] = {[TIDE_RUN_FP32] = "fp32",
                                                              [TIDE_RUN_TF32] = "tf32",
                                                              [TIDE_RUN_BF16] = "bf16",
                                                              [TIDE_RUN_FP16] = "fp16"};
    return (size_t)type < TIDE_CALIBRATION_TYPES ? NAMES[type] : "?";
}

/* ---- reading: after the first failure, which is kept, all functions do nothing ---- */

typedef struct reader {
    tide_status status;
    tide_error *error;
} reader;

static void fail(reader *of, const char *place, const char *key, const char *what) {
    if (of->status == TIDE_OK) {
        of->status = tide_fail(of->error, TIDE_FORMAT, "%s%s%s %s", place,
                               place[0] != '\0' ? "." : "", key, what);
    }
}

static const cJSON *part_of(reader *of, const cJSON *parent, const char *place, const char *key) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(parent, key);
    if (!cJSON_IsObject(part)) {
        fail(of, place, key, "is missing, or no object");
        return NULL;
    }
    return part;
}

/* A number above 0. */
static double number_of(reader *of, const cJSON *parent, const char *place, const char *key,
                        double most) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);
    double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (!(number > 0.0 && number <= most)) {
        char what[PLACE_BYTES];
        snprintf(what, sizeof(what), "is missing, or no number above 0 and up to %g", most);
        fail(of, place, key, what);
        return 1.0;
    }
    return number;
}

/* A printable text: non-ASCII bytes and controls become question marks. */
static void text_of(reader *of, const cJSON *parent, const char *place, const char *key,
                    char ret[TIDE_CALIBRATION_TEXT]) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0' ||
        strlen(item->valuestring) >= TIDE_CALIBRATION_TEXT) {
        fail(of, place, key, "is missing, or no text of 1 to 95 bytes");
        return;
    }
    snprintf(ret, TIDE_CALIBRATION_TEXT, "%s", item->valuestring);
    for (char *c = ret; *c != '\0'; c++) {
        *c = (char)(*c >= ' ' && *c <= '~' ? *c : '?');
    }
}

static tide_calibration_copy copy_of(reader *of, const cJSON *copies, const char *key) {
    char place[PLACE_BYTES];
    snprintf(place, sizeof(place), "gpu.copies.%s", key);
    const cJSON *copy = part_of(of, copies, "gpu.copies", key);
    return (tide_calibration_copy){.bytes = number_of(of, copy, place, "bytes", MOST_NUMBER),
                                   .elements = number_of(of, copy, place, "elements", MOST_NUMBER),
                                   .us = number_of(of, copy, place, "us", MOST_US)};
}

static void read_gpu(reader *of, const cJSON *gpu, tide_calibration *to) {
    tide_calibration_gpu *at = &to->gpu;
    const cJSON *products = part_of(of, gpu, "gpu", "products");
    const cJSON *copies = part_of(of, gpu, "gpu", "copies");
    text_of(of, gpu, "gpu", "name", at->name);
    at->forward_us = number_of(of, gpu, "gpu", "forward_us", MOST_US);
    at->backward_us = number_of(of, gpu, "gpu", "backward_us", MOST_US);
    at->rows = floor(number_of(of, products, "gpu.products", "rows", MOST_ROWS));
    for (size_t i = 0; i < TIDE_CALIBRATION_TYPES; i++) {
        char key[PLACE_BYTES];
        snprintf(key, sizeof(key), "%s_us", tide_calibration_type_name((tide_run_type)i));
        at->product_us[i] = cJSON_HasObjectItem(products, key)
                                ? number_of(of, products, "gpu.products", key, MOST_US)
                                : -1.0;
    }
    at->contiguous = copy_of(of, copies, "contiguous");
    at->strided = copy_of(of, copies, "strided");
    to->has_gpu = true;
}

static void read_all(reader *of, const cJSON *root, tide_calibration *to) {
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT) != 0) {
        fail(of, "", "format", "is not \"" FORMAT "\"");
    }
    if (!cJSON_IsNumber(version) || version->valuedouble != (double)VERSION) {
        fail(of, "", "version", "is not 1: this tidemark reads no other");
    }
    text_of(of, root, "", "made", to->made);
    text_of(of, root, "", "cpu", to->cpu);
    text_of(of, root, "", "torch", to->torch);
    const cJSON *host = part_of(of, root, "", "host");
    to->forward_us = number_of(of, host, "host", "forward_us", MOST_US);
    to->backward_us = number_of(of, host, "host", "backward_us", MOST_US);
    if (cJSON_HasObjectItem(root, "gpu")) {
        read_gpu(of, part_of(of, root, "", "gpu"), to);
    }
}

tide_status tide_calibration_read(const char *path, tide_calibration *ret, tide_error *error) {
    char *text = NULL;
    const char *end = NULL;
    tide_calibration read = {.has_gpu = false};
    reader of = {.status = TIDE_OK, .error = error};
    size_t n_bytes = 0;
    TIDE_TRY(tide_text_file_read(path, MOST_BYTES, &text, &n_bytes, error));
    bool is_text = strlen(text) == n_bytes;
    cJSON *root = is_text ? cJSON_ParseWithOpts(text, &end, true /* nothing after it */) : NULL;
    if (!cJSON_IsObject(root)) {
        of.status = tide_fail(error, TIDE_FORMAT, "this is no JSON object");
    } else {
        read_all(&of, root, &read);
    }
    cJSON_Delete(root);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    if (of.status == TIDE_OK) {
        *ret = read;
    } else {
        tide_error_prefix(error, "%s is no calibration of `tidemark bench calibrate`", path);
    }
    return of.status;
}

tide_status tide_calibration_take_gpu(const char *text, tide_calibration *to, tide_error *error) {
    reader of = {.status = TIDE_OK, .error = error};
    tide_calibration read = *to;
    cJSON *root = cJSON_Parse(text);
    if (!cJSON_IsObject(root)) {
        of.status = tide_fail(error, TIDE_FORMAT, "no JSON object");
    } else if (root->child != NULL) {
        read_gpu(&of, root, &read);
    }
    cJSON_Delete(root);
    if (of.status == TIDE_OK) {
        *to = read;
    }
    return of.status;
}

/* ---- writing ---- */

static bool add_number(cJSON *to, const char *key, double number) {
    return cJSON_AddNumberToObject(to, key, number) != NULL;
}

static bool add_text(cJSON *to, const char *key, const char *text) {
    return cJSON_AddStringToObject(to, key, text) != NULL;
}

static bool add_copy(cJSON *to, const char *key, const tide_calibration_copy *of) {
    cJSON *copy = cJSON_AddObjectToObject(to, key);
    return copy != NULL && add_number(copy, "bytes", of->bytes) &&
           add_number(copy, "elements", of->elements) && add_number(copy, "us", of->us);
}

static bool add_gpu(cJSON *to, const tide_calibration_gpu *of) {
    cJSON *gpu = cJSON_AddObjectToObject(to, "gpu");
    cJSON *products = cJSON_AddObjectToObject(gpu, "products");
    cJSON *copies = cJSON_AddObjectToObject(gpu, "copies");
    bool is_whole = copies != NULL && products != NULL && add_text(gpu, "name", of->name) &&
                    add_number(gpu, "forward_us", of->forward_us) &&
                    add_number(gpu, "backward_us", of->backward_us) &&
                    add_number(products, "rows", of->rows);
    for (size_t i = 0; i < TIDE_CALIBRATION_TYPES && is_whole; i++) {
        char key[PLACE_BYTES];
        snprintf(key, sizeof(key), "%s_us", tide_calibration_type_name((tide_run_type)i));
        is_whole = of->product_us[i] < 0.0 || add_number(products, key, of->product_us[i]);
    }
    return is_whole && add_copy(copies, "contiguous", &of->contiguous) &&
           add_copy(copies, "strided", &of->strided);
}

static bool add_all(cJSON *root, const tide_calibration *of) {
    cJSON *host = NULL;
    bool is_whole = add_text(root, "format", FORMAT) && add_number(root, "version", VERSION) &&
                    add_text(root, "made", of->made) && add_text(root, "cpu", of->cpu) &&
                    add_text(root, "torch", of->torch) &&
                    (host = cJSON_AddObjectToObject(root, "host")) != NULL &&
                    add_number(host, "forward_us", of->forward_us) &&
                    add_number(host, "backward_us", of->backward_us);
    return is_whole && (!of->has_gpu || add_gpu(root, &of->gpu));
}

tide_status tide_calibration_write(const tide_calibration *of, const char *path,
                                   tide_error *error) {
    tide_output_file file;
    cJSON *root = cJSON_CreateObject();
    char *text = root != NULL && add_all(root, of) ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (text == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = tide_output_file_open(path, &file, error);
    if (status == TIDE_OK) {
        (void)tide_output_file_write(&file, text, strlen(text)); /* commit reports a failure */
        (void)tide_output_file_write(&file, "\n", 1);
        status = tide_output_file_commit(&file, error);
    }
    cJSON_free(text);
    return status;
}
