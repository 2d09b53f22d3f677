#include "model/reference/safetensors.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/arena.h"

/* The limits restrict a hostile header to about 160 MiB of JSON tree. */
enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 4 << 20, MAX_TENSORS = 1 << 13, MAX_NAME_BYTES = 256 };
#define METADATA "__metadata__"

/* One key of the metadata. */
typedef struct text_pair {
    const char *key;  /* in the file's arena */
    const char *text; /* in the file's arena */
} text_pair;

struct tide_safetensors {
    const tide_hostmem *mem;  /* borrowed; the heap of everything here */
    tide_arena arena;         /* names, tables */
    char *data;               /* owned; all tensors, n_data_bytes */
    size_t n_data_bytes;      /* the file's length minus its header */
    tide_safetensor *tensors; /* in the arena */
    size_t n_tensors;         /* read so far */
    text_pair *pairs;         /* in the arena */
    size_t n_pairs;           /* read so far */
};

void tide_safetensors_close(tide_safetensors *file) {
    if (file == NULL) {
        return;
    }
    const tide_hostmem *mem = file->mem;
    tide_arena_fini(&file->arena);
    mem->release(mem->ctx, file->data);
    mem->release(mem->ctx, file);
}

static tide_status no_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for this file");
}

static tide_status read_failed(FILE *stream, const char *what, tide_error *error) {
    if (ferror(stream)) {
        return tide_fail(error, TIDE_IO, "cannot be read: %s", strerror(errno));
    }
    return tide_fail(error, TIDE_FORMAT, "ends within its %s: it is truncated", what);
}

/* Reads the header's length, checks it against the file's, and sets the bytes that remain for the
 * data. */
static tide_status read_lengths(FILE *stream, size_t *ret_n_header_bytes, size_t *ret_n_data_bytes,
                                tide_error *error) {
    unsigned char raw[LENGTH_BYTES];
    if (fread(raw, 1, sizeof(raw), stream) != sizeof(raw)) {
        return read_failed(stream, "first 8 bytes", error);
    }
    uint64_t n_header_bytes = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) {
        n_header_bytes = n_header_bytes << 8 | raw[i];
    }
    long end = -1;
    if (fseek(stream, 0, SEEK_END) == 0) {
        end = ftell(stream);
    }
    if (end < LENGTH_BYTES || fseek(stream, LENGTH_BYTES, SEEK_SET) != 0) {
        return tide_fail(error, TIDE_IO, "cannot be read: it is not a regular file");
    }
    uint64_t rest = (uint64_t)end - LENGTH_BYTES;
    if (n_header_bytes > rest) {
        return tide_fail(error, TIDE_FORMAT,
                         "states a header of %llu bytes, but only %llu follow: it is truncated, or "
                         "not a .safetensors file",
                         (unsigned long long)n_header_bytes, (unsigned long long)rest);
    }
    if (n_header_bytes > MAX_HEADER_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "has a header of %llu bytes; the limit is %d",
                         (unsigned long long)n_header_bytes, MAX_HEADER_BYTES);
    }
    *ret_n_header_bytes = (size_t)n_header_bytes;
    *ret_n_data_bytes = (size_t)(rest - n_header_bytes);
    return TIDE_OK;
}

/* A whole number in 0 .. 2^53, which JSON's doubles hold exactly. */
static bool read_count(const cJSON *item, size_t *ret_count) {
    if (!cJSON_IsNumber(item)) {
        return false;
    }
    double value = item->valuedouble;
    if (!(value >= 0 && value <= 9007199254740992.0) || value != floor(value)) {
        return false;
    }
    *ret_count = (size_t)value;
    return true;
}

static tide_status read_type(const cJSON *item, tide_dtype *ret_dtype, tide_error *error) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "dtype"));
    if (name == NULL) {
        return tide_fail(error, TIDE_FORMAT, "it has no dtype");
    }
    if (strcmp(name, "F32") == 0) {
        *ret_dtype = TIDE_FP32;
    } else if (strcmp(name, "I32") == 0) {
        *ret_dtype = TIDE_INT32;
    } else {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "its dtype is '%.16s'; only F32 and I32 can be read", name);
    }
    return TIDE_OK;
}

static tide_status read_shape(const cJSON *item, tide_safetensor *tensor, tide_error *error) {
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape");
    if (!cJSON_IsArray(shape)) {
        return tide_fail(error, TIDE_FORMAT, "it has no shape");
    }
    tensor->n_elements = 1;
    const cJSON *length = NULL;
    cJSON_ArrayForEach(length, shape) {
        size_t n = 0;
        if (!read_count(length, &n)) {
            return tide_fail(error, TIDE_FORMAT, "its shape has a length that is not a count");
        }
        if (tensor->n_dims == TIDE_SAFETENSOR_DIMS) {
            return tide_fail(error, TIDE_LIMIT, "its shape has more than %d dimensions",
                             TIDE_SAFETENSOR_DIMS);
        }
        if (n != 0 && tensor->n_elements > SIZE_MAX / 8 / n) {
            return tide_fail(error, TIDE_LIMIT, "its shape has too many elements");
        }
        tensor->shape[tensor->n_dims++] = n;
        tensor->n_elements *= n;
    }
    return TIDE_OK;
}

/* Sets the tensor's data after checking its offsets against the file and the shape. */
static tide_status read_place(const tide_safetensors *file, const cJSON *item,
                              tide_safetensor *tensor, tide_error *error) {
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    size_t begin = 0;
    size_t end = 0;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !read_count(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !read_count(cJSON_GetArrayItem(offsets, 1), &end)) {
        return tide_fail(error, TIDE_FORMAT, "its data_offsets are not two counts");
    }
    if (begin > end || end > file->n_data_bytes) {
        return tide_fail(error, TIDE_FORMAT,
                         "its data_offsets [%zu, %zu] lie outside the file's %zu bytes of data: it "
                         "is truncated or damaged",
                         begin, end, file->n_data_bytes);
    }
    size_t element_bytes = tide_dtype_bytes(tensor->dtype);
    if (end - begin != tensor->n_elements * element_bytes) {
        return tide_fail(error, TIDE_FORMAT, "its data has %zu bytes, its shape takes %zu",
                         end - begin, tensor->n_elements * element_bytes);
    }
    if (begin % element_bytes != 0) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "its data begins at byte %zu, which is not a multiple of its elements' "
                         "size",
                         begin);
    }
    tensor->data = file->data + begin;
    return TIDE_OK;
}

static tide_status read_tensor(tide_safetensors *file, const cJSON *item, tide_error *error) {
    tide_safetensor *tensor = &file->tensors[file->n_tensors];
    *tensor = (tide_safetensor){.name = tide_arena_text(&file->arena, item->string)};
    if (tensor->name == NULL) {
        return no_memory(error);
    }
    if (strlen(tensor->name) >= MAX_NAME_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "the name is longer than %d bytes", MAX_NAME_BYTES - 1);
    }
    if (tide_safetensors_find(file, tensor->name) != NULL) {
        return tide_fail(error, TIDE_FORMAT, "the name occurs twice");
    }
    TIDE_TRY(read_type(item, &tensor->dtype, error));
    TIDE_TRY(read_shape(item, tensor, error));
    TIDE_TRY(read_place(file, item, tensor, error));
    file->n_tensors++;
    return TIDE_OK;
}

static tide_status read_metadata(tide_safetensors *file, const cJSON *object, tide_error *error) {
    if (!cJSON_IsObject(object)) {
        return tide_fail(error, TIDE_FORMAT, "header: " METADATA " is not an object");
    }
    size_t n_pairs = (size_t)cJSON_GetArraySize(object);
    file->pairs = tide_arena_alloc(&file->arena, n_pairs, sizeof(*file->pairs));
    if (file->pairs == NULL) {
        return no_memory(error);
    }
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, object) {
        if (!cJSON_IsString(item)) {
            return tide_fail(error, TIDE_FORMAT, "header: " METADATA ": '%.64s' is not text",
                             item->string);
        }
        text_pair *pair = &file->pairs[file->n_pairs];
        pair->key = tide_arena_text(&file->arena, item->string);
        pair->text = tide_arena_text(&file->arena, item->valuestring);
        if (pair->key == NULL || pair->text == NULL) {
            return no_memory(error);
        }
        file->n_pairs++;
    }
    return TIDE_OK;
}

static tide_status read_tables(tide_safetensors *file, const cJSON *root, tide_error *error) {
    if (!cJSON_IsObject(root)) {
        return tide_fail(error, TIDE_FORMAT, "its header is not a JSON object");
    }
    int n_items = cJSON_GetArraySize(root);
    if (n_items > MAX_TENSORS) {
        return tide_fail(error, TIDE_LIMIT, "has %d tensors; the limit is %d", n_items,
                         MAX_TENSORS);
    }
    file->tensors = tide_arena_alloc(&file->arena, (size_t)n_items, sizeof(*file->tensors));
    if (file->tensors == NULL) {
        return no_memory(error);
    }
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, root) {
        if (strcmp(item->string, METADATA) == 0) {
            TIDE_TRY(read_metadata(file, item, error));
            continue;
        }
        tide_status status = read_tensor(file, item, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "tensor '%.64s'", item->string);
            return status;
        }
    }
    return TIDE_OK;
}

/* Parses the header's text and fills the tables. */
static tide_status parse_header(tide_safetensors *file, const char *text, size_t n_bytes,
                                tide_error *error) {
    const char *end = NULL;
    errno = 0;
    cJSON *root = cJSON_ParseWithLengthOpts(text, n_bytes, &end, false);
    if (root == NULL && errno == ENOMEM) { /* cJSON reports no reason: an empty error position means
                                              that malloc failed */
        return no_memory(error);
    }
    if (root == NULL) {
        size_t at = end == NULL ? 0 : (size_t)(end - text);
        return tide_fail(error, TIDE_FORMAT, "its header is not JSON (at byte %zu of the file)",
                         LENGTH_BYTES + at);
    }
    tide_status status = read_tables(file, root, error);
    cJSON_Delete(root);
    return status;
}

/* Reads length, header and data from an open stream. */
static tide_status read_file(tide_safetensors *file, FILE *stream, tide_error *error) {
    const tide_hostmem *mem = file->mem;
    size_t n_header_bytes = 0;
    TIDE_TRY(read_lengths(stream, &n_header_bytes, &file->n_data_bytes, error));
    file->data = mem->alloc(mem->ctx, file->n_data_bytes == 0 ? 1 : file->n_data_bytes);
    char *header = mem->alloc(mem->ctx, n_header_bytes + 1);
    tide_status status = TIDE_OK;
    if (file->data == NULL || header == NULL) {
        status = no_memory(error);
    } else if (fread(header, 1, n_header_bytes, stream) != n_header_bytes) {
        status = read_failed(stream, "header", error);
    } else if (fread(file->data, 1, file->n_data_bytes, stream) != file->n_data_bytes) {
        status = read_failed(stream, "data", error);
    } else {
        header[n_header_bytes] = '\0';
        status = parse_header(file, header, n_header_bytes, error);
    }
    mem->release(mem->ctx, header);
    return status;
}

tide_status tide_safetensors_open(const tide_hostmem *mem, const char *path,
                                  tide_safetensors **ret_file, tide_error *error) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return tide_fail(error, TIDE_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    tide_status status = TIDE_NO_MEMORY;
    tide_safetensors *file = tide_hostmem_zeroed(mem, 1, sizeof(*file));
    if (file == NULL) {
        status = no_memory(error);
        goto fail_file;
    }
    file->mem = mem;
    tide_arena_init(&file->arena, mem);
    status = read_file(file, stream, error);
    if (status != TIDE_OK) {
        goto fail_read;
    }
    (void)fclose(stream); /* nothing was written */
    *ret_file = file;
    return TIDE_OK;

fail_read:
    tide_safetensors_close(file);
fail_file:
    (void)fclose(stream);
    tide_error_prefix(error, "%s", path);
    return status;
}

const tide_safetensor *tide_safetensors_find(const tide_safetensors *file, const char *name) {
    for (size_t i = 0; i < file->n_tensors; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}

const char *tide_safetensors_metadata(const tide_safetensors *file, const char *key) {
    for (size_t i = 0; i < file->n_pairs; i++) {
        if (strcmp(file->pairs[i].key, key) == 0) {
            return file->pairs[i].text;
        }
    }
    return NULL;
}
