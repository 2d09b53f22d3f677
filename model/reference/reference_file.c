/* reference_file.c - opens a reference file and checks that it has everything a comparison needs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/reference/reference_internal.h"

static const uint64_t MAX_STEPS = 100000;

static tide_status find_text(const tide_safetensors *file, const char *key, const char **ret_text,
                             tide_error *error) {
    *ret_text = tide_safetensors_metadata(file, key);
    if (*ret_text == NULL) {
        return tide_fail(error, TIDE_FORMAT,
                         "has no '%s' in its __metadata__: it is not a reference file", key);
    }
    return TIDE_OK;
}

static tide_status read_count(const tide_safetensors *file, const char *key, uint64_t *ret_count,
                              tide_error *error) {
    const char *text = NULL;
    TIDE_TRY(find_text(file, key, &text, error));
    char *end = NULL;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
        return tide_fail(error, TIDE_FORMAT, "metadata '%s' is '%.32s', not a count", key, text);
    }
    *ret_count = count;
    return TIDE_OK;
}

static tide_status read_size(const tide_safetensors *file, const char *key, size_t *ret_size,
                             tide_error *error) {
    uint64_t count = 0;
    TIDE_TRY(read_count(file, key, &count, error));
    *ret_size = (size_t)count;
    return TIDE_OK;
}

static tide_status read_real(const tide_safetensors *file, const char *key, double *ret_value,
                             tide_error *error) {
    const char *text = NULL;
    TIDE_TRY(find_text(file, key, &text, error));
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return tide_fail(error, TIDE_FORMAT, "metadata '%s' is '%.32s', not a number", key, text);
    }
    *ret_value = value;
    return TIDE_OK;
}

static tide_status read_model(const tide_safetensors *file, tide_model_config *model,
                              tide_error *error) {
    (void)snprintf(model->size, sizeof(model->size), "custom");
    TIDE_TRY(read_size(file, "vocab_size", &model->vocab_size, error));
    TIDE_TRY(read_size(file, "context_length", &model->context_length, error));
    TIDE_TRY(read_size(file, "d_model", &model->d_model, error));
    TIDE_TRY(read_size(file, "num_layers", &model->n_layers, error));
    TIDE_TRY(read_size(file, "num_heads", &model->n_heads, error));
    TIDE_TRY(read_size(file, "d_ff", &model->d_ff, error));
    TIDE_TRY(read_size(file, "batch_size", &model->batch_size, error));
    TIDE_TRY(read_real(file, "rope_theta", &model->rope_theta, error));
    return tide_model_config_check(model, error);
}

/* Only files of make_storage_reference.py have "storage" and "attention". */
static tide_status read_storage(const tide_safetensors *file, tide_reference_info *info,
                                tide_error *error) {
    const char *storage = tide_safetensors_metadata(file, "storage");
    info->own_storage = storage != NULL && info->precision != TIDE_PRECISION_FP32;
    if (storage == NULL) {
        return TIDE_OK;
    }
    const char *attention = NULL;
    TIDE_TRY(find_text(file, "attention", &attention, error));
    int number = tide_attention_from_name(attention);
    if (strcmp(storage, "tidemark") != 0 || number < 0) {
        return tide_fail(error, TIDE_FORMAT,
                         "metadata 'storage' and 'attention' are '%.32s' and '%.32s'", storage,
                         attention);
    }
    info->attention = (tide_attention)number;
    return TIDE_OK;
}

static tide_status read_info(const tide_safetensors *file, tide_reference_info *info,
                             tide_error *error) {
    TIDE_TRY(read_model(file, &info->model, error));
    const char *precision = NULL;
    TIDE_TRY(find_text(file, "precision", &precision, error));
    int number = tide_precision_from_name(precision);
    if (number < 0) {
        return tide_fail(error, TIDE_FORMAT, "metadata 'precision' is '%.32s'", precision);
    }
    info->precision = (tide_precision)number;
    TIDE_TRY(read_storage(file, info, error));
    tide_adamw_settings_init(&info->adamw);
    TIDE_TRY(read_real(file, "lr", &info->adamw.lr, error));
    TIDE_TRY(read_real(file, "beta1", &info->adamw.beta1, error));
    TIDE_TRY(read_real(file, "beta2", &info->adamw.beta2, error));
    TIDE_TRY(read_real(file, "eps", &info->adamw.eps, error));
    TIDE_TRY(read_real(file, "weight_decay", &info->adamw.weight_decay, error));
    TIDE_TRY(read_count(file, "steps", &info->steps, error));
    if (info->steps > MAX_STEPS) {
        return tide_fail(error, TIDE_LIMIT, "metadata 'steps' is %llu; the limit is %llu",
                         (unsigned long long)info->steps, (unsigned long long)MAX_STEPS);
    }
    return TIDE_OK;
}

enum { MAX_DIMS = 3 }; /* of the tensors that are looked up here */

/* The required type and shape of a tensor. */
typedef struct expected_shape {
    tide_dtype dtype;       /* TIDE_FP32 or TIDE_INT32 */
    size_t n_dims;          /* 1 .. MAX_DIMS */
    size_t shape[MAX_DIMS]; /* outermost first; n_dims of them count */
} expected_shape;

/* The data of a tensor, or NULL and a message (TIDE_FORMAT) if it does not match. */
static const void *find_tensor(const tide_safetensors *file, const char *name,
                               const expected_shape *expected, tide_error *error) {
    const tide_safetensor *tensor = tide_safetensors_find(file, name);
    if (tensor == NULL) {
        (void)tide_fail(error, TIDE_FORMAT, "has no tensor '%s'", name);
        return NULL;
    }
    if (tensor->dtype != expected->dtype) {
        (void)tide_fail(error, TIDE_FORMAT, "tensor '%s': its dtype must be %s", name,
                        expected->dtype == TIDE_FP32 ? "F32" : "I32");
        return NULL;
    }
    bool fits = tensor->n_dims == expected->n_dims;
    for (size_t d = 0; fits && d < MAX_DIMS && d < tensor->n_dims; d++) {
        fits = tensor->shape[d] == expected->shape[d];
    }
    if (!fits) {
        (void)tide_fail(error, TIDE_FORMAT,
                        "tensor '%s': its shape does not match the file's metadata", name);
        return NULL;
    }
    return tensor->data;
}

/* The same for fp32, with a name of two parts. */
static const float *find_floats(const tide_safetensors *file, const char *prefix, const char *name,
                                const expected_shape *expected, tide_error *error) {
    char full[TIDE_PARAMETER_NAME + 16];
    (void)snprintf(full, sizeof(full), "%s%s", prefix, name);
    return find_tensor(file, full, expected, error);
}

static tide_status find_tokens(const tide_reference *reference, const char *name,
                               const int32_t **ret_tokens, tide_error *error) {
    const tide_model_config *model = &reference->info.model;
    const expected_shape expected = {TIDE_INT32, 2, {model->batch_size, model->context_length, 0}};
    const int32_t *tokens = find_tensor(reference->file, name, &expected, error);
    if (tokens == NULL) {
        return TIDE_FORMAT;
    }
    for (size_t i = 0; i < model->batch_size * model->context_length; i++) {
        if (tokens[i] < 0 || (size_t)tokens[i] >= model->vocab_size) {
            return tide_fail(error, TIDE_FORMAT,
                             "tensor '%s': element %zu is %d, outside the vocabulary of %zu", name,
                             i, (int)tokens[i], model->vocab_size);
        }
    }
    *ret_tokens = tokens;
    return TIDE_OK;
}

static tide_status find_parameter(const tide_reference *reference, const tide_parameter *parameter,
                                  tide_reference_parameter *found, tide_error *error) {
    const expected_shape expected = {
        TIDE_FP32, parameter->n_dims, {parameter->shape[0], parameter->shape[1], 0}};
    (void)snprintf(found->name, sizeof(found->name), "%s", parameter->name);
    found->n_elements = parameter->n_elements;
    found->n_columns = parameter->n_dims == 2 ? parameter->shape[1] : parameter->n_elements;
    const struct {
        const char *prefix;
        const float **data;
    } tensors[] = {{"param/", &found->before},
                   {"expect/grad/", &found->gradient},
                   {"expect/param/", &found->after}};
    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        *tensors[i].data =
            find_floats(reference->file, tensors[i].prefix, found->name, &expected, error);
        if (*tensors[i].data == NULL) {
            return TIDE_FORMAT;
        }
    }
    return TIDE_OK;
}

static tide_status find_parameters(tide_reference *reference, tide_error *error) {
    const tide_hostmem *mem = reference->mem;
    size_t n_parameters = tide_model_n_tensors(&reference->info.model);
    reference->parameters = tide_hostmem_zeroed(mem, n_parameters, sizeof(*reference->parameters));
    if (reference->parameters == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for its tables");
    }
    tide_parameter *table = NULL;
    TIDE_TRY(tide_parameters_create(mem, &reference->info.model, &table, error));
    tide_status status = TIDE_OK;
    for (size_t i = 0; status == TIDE_OK && i < n_parameters; i++) {
        status = find_parameter(reference, &table[i], &reference->parameters[i], error);
    }
    mem->release(mem->ctx, table);
    reference->n_parameters = n_parameters;
    return status;
}

static tide_status find_number(const tide_reference *reference, const char *name,
                               double *ret_number, tide_error *error) {
    const expected_shape expected = {TIDE_FP32, 1, {1, 0, 0}};
    const float *number = find_tensor(reference->file, name, &expected, error);
    if (number == NULL) {
        return TIDE_FORMAT;
    }
    *ret_number = (double)*number;
    return TIDE_OK;
}

static tide_status find_all(tide_reference *reference, tide_error *error) {
    const tide_model_config *model = &reference->info.model;
    const expected_shape logits = {
        TIDE_FP32, 3, {model->batch_size, model->context_length, model->vocab_size}};
    TIDE_TRY(find_tokens(reference, "input/tokens", &reference->tokens, error));
    TIDE_TRY(find_tokens(reference, "input/targets", &reference->targets, error));
    reference->logits = find_floats(reference->file, "expect/", "logits", &logits, error);
    if (reference->logits == NULL) {
        return TIDE_FORMAT;
    }
    TIDE_TRY(find_number(reference, "expect/loss", &reference->loss, error));
    TIDE_TRY(find_number(reference, "expect/loss_after", &reference->loss_after, error));
    return find_parameters(reference, error);
}

tide_status tide_reference_open(const tide_hostmem *mem, const char *path,
                                tide_reference **ret_reference, tide_error *error) {
    tide_reference *reference = tide_hostmem_zeroed(mem, 1, sizeof(*reference));
    if (reference == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left to read %s", path);
    }
    reference->mem = mem;
    tide_status status = tide_safetensors_open(mem, path, &reference->file, error);
    if (status != TIDE_OK) {
        goto fail_file;
    }
    status = read_info(reference->file, &reference->info, error);
    if (status == TIDE_OK) {
        status = find_all(reference, error);
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "%s", path);
        goto fail_file;
    }
    *ret_reference = reference;
    return TIDE_OK;

fail_file:
    tide_reference_close(reference);
    return status;
}

void tide_reference_close(tide_reference *reference) {
    if (reference == NULL) {
        return;
    }
    const tide_hostmem *mem = reference->mem;
    mem->release(mem->ctx, reference->parameters);
    tide_safetensors_close(reference->file);
    mem->release(mem->ctx, reference);
}

const tide_reference_info *tide_reference_get_info(const tide_reference *reference) {
    return &reference->info;
}
