#include "model/reference/reference.h"

#include <math.h>
#include <stdio.h>

#include "allocator/cache.h"
#include "model/bf16.h"
#include "model/fp16.h"
#include "model/reference/reference_internal.h"

/* One run of a file. */
typedef struct check {
    const tide_reference *reference;      /* borrowed; the expected results */
    tide_device *device;                  /* borrowed; the device that computes */
    tide_transformer *transformer;        /* owned */
    tide_reference_report *report;        /* borrowed; being filled */
    size_t max_rows;                      /* room in the report */
    float *got;                           /* owned; room for the largest result */
    uint16_t *narrow;                     /* owned; the same, stored in two bytes */
    tide_precision precision;             /* of the run */
    tide_reference_tolerances tolerances; /* of the file and the run */
} check;

static void add_row(check *c, const char *prefix, const char *name, double error,
                    double tolerance) {
    if (c->report->n_rows == c->max_rows) {
        return;
    }
    tide_reference_row *row = &c->report->rows[c->report->n_rows++];
    (void)snprintf(row->name, sizeof(row->name), "%s%s", prefix, name);
    row->error = error;
    row->tolerance = tolerance;
    row->ok = error <= tolerance; /* false for NaN */
    c->report->n_failed += row->ok ? 0 : 1;
}

/* `from` has 4-byte elements, which are rounded here if the tensor's have two. */
static tide_status copy_in(const check *c, const tide_tensor *tensor, const void *from,
                           tide_error *error) {
    size_t n = tensor->n_elements;
    bool narrow = tide_dtype_bytes(tensor->array.dtype) == 2;
    bool is_fp16 = tensor->array.dtype == TIDE_FP16;
    if (narrow) {
        const float *values = from;
        for (size_t i = 0; i < n; i++) {
            c->narrow[i] = is_fp16 ? tide_fp32_to_fp16(values[i]) : tide_fp32_to_bf16(values[i]);
        }
        from = c->narrow;
    }
    TIDE_TRY(tide_device_copy(c->device, tensor->array.data, from,
                              n * tide_dtype_bytes(tensor->array.dtype), TIDE_COPY_TO_DEVICE, 0,
                              error));
    return narrow ? tide_device_synchronize(c->device, error)
                  : TIDE_OK; /* the buffer of rounded numbers is used again */
}

/* The tensor's values on the host, valid until the next call. */
static tide_status copy_out(const check *c, const tide_tensor *tensor, tide_error *error) {
    size_t n = tensor->n_elements;
    bool narrow = tide_dtype_bytes(tensor->array.dtype) == 2;
    bool is_fp16 = tensor->array.dtype == TIDE_FP16;
    void *to = narrow ? (void *)c->narrow : (void *)c->got;
    TIDE_TRY(tide_device_copy(c->device, to, tensor->array.data,
                              n * tide_dtype_bytes(tensor->array.dtype), TIDE_COPY_TO_HOST, 0,
                              error));
    TIDE_TRY(tide_device_synchronize(c->device, error));
    for (size_t i = 0; narrow && i < n; i++) {
        c->got[i] = is_fp16 ? tide_fp16_to_fp32(c->narrow[i]) : tide_bf16_to_fp32(c->narrow[i]);
    }
    return TIDE_OK;
}

static tide_status load(const check *c, tide_error *error) {
    const tide_reference *reference = c->reference;
    for (size_t i = 0; i < reference->n_parameters; i++) {
        const tide_parameter *parameter = tide_transformer_parameter(c->transformer, i);
        TIDE_TRY(copy_in(c, &parameter->value, reference->parameters[i].before, error));
    }
    TIDE_TRY(copy_in(c, tide_transformer_tokens(c->transformer), reference->tokens, error));
    return copy_in(c, tide_transformer_targets(c->transformer), reference->targets, error);
}

static tide_status compare_loss(check *c, const char *name, double want, double allowed,
                                tide_error *error) {
    TIDE_TRY(copy_out(c, tide_transformer_loss_value(c->transformer), error));
    double scale = fabs(want) > 0 ? fabs(want) : 1;
    add_row(c, "", name, fabs((double)c->got[0] - want) / scale,
            c->tolerances.loss + allowed / scale);
    return TIDE_OK;
}

/* Forward, loss, backward, each compared. */
static tide_status compare_first_step(check *c, tide_error *error) {
    const tide_reference *reference = c->reference;
    const tide_tensor *logits = tide_transformer_logits(c->transformer);
    const float scale = tide_transformer_loss_scaler(c->transformer)->scale;
    TIDE_TRY(tide_transformer_forward(c->transformer, error));
    TIDE_TRY(copy_out(c, logits, error));
    size_t n = logits->n_elements;
    add_row(c, "", "logits",
            tide_reference_shrunk_error(c->got, reference->logits, n,
                                        tide_reference_norm(reference->logits, n),
                                        c->tolerances.forward_shrink),
            c->tolerances.forward);
    TIDE_TRY(tide_transformer_loss(c->transformer, error));
    TIDE_TRY(compare_loss(c, "loss", reference->loss, 0, error));
    TIDE_TRY(tide_transformer_backward(c->transformer, error));
    for (size_t i = 0; i < reference->n_parameters; i++) {
        const tide_reference_parameter *parameter = &reference->parameters[i];
        TIDE_TRY(copy_out(c, &tide_transformer_parameter(c->transformer, i)->gradient, error));
        for (size_t k = 0; k < parameter->n_elements; k++) { /* a power of two: exact */
            c->got[k] /= scale;
        }
        add_row(c, "grad/", parameter->name,
                tide_reference_shrunk_error(c->got, parameter->gradient, parameter->n_elements,
                                            tide_reference_gradient_scale(reference, i),
                                            c->tolerances.gradient_shrink),
                c->tolerances.gradient);
    }
    return TIDE_OK;
}

static tide_status take_steps(check *c, tide_error *error) {
    for (uint64_t step = 1; step <= c->reference->info.steps; step++) {
        if (step > 1) {
            TIDE_TRY(tide_transformer_forward(c->transformer, error));
            TIDE_TRY(tide_transformer_loss(c->transformer, error));
            TIDE_TRY(tide_transformer_backward(c->transformer, error));
        }
        TIDE_TRY(tide_transformer_optimize(c->transformer, error));
        TIDE_TRY(tide_transformer_end_step(c->transformer, error));
    }
    return c->reference->info.steps == 0 ? tide_transformer_end_step(c->transformer, error)
                                         : TIDE_OK;
}

/* Parameters and loss after the steps. An error of the parameters moves the loss by at most its
 * slope times the error's norm; the slope after the steps is assumed to be at most twice the slope
 * before. In bf16 these errors are large, so the slope along each parameter's difference is doubled
 * instead, plus two standard deviations of a sum of random signs.
 *
 * If all logits may be too small by a share (TF32), the effect is known only for the first loss.
 * But the loss is convex in the size of the logits, and ln V if they are 0: after the steps it
 * grows by at most ln V - loss for each share by which they shrink. */
static tide_status compare_after(check *c, tide_error *error) {
    const tide_reference *reference = c->reference;
    double allowed = 0;
    double slope = 0;
    double slope_square = 0;
    for (size_t i = 0; i < reference->n_parameters; i++) {
        const char *name = reference->parameters[i].name;
        TIDE_TRY(copy_out(c, &tide_transformer_parameter(c->transformer, i)->value, error));
        const tide_reference_step step =
            tide_reference_compare_step(reference, i, &c->tolerances, c->got);
        add_row(c, "step/", name, step.error, step.tolerance);
        add_row(c, "param/", name, step.param_error, step.param_tolerance);
        allowed += 2 * tide_reference_gradient_scale(reference, i) * step.difference_norm;
        slope += fabs(step.slope);
        slope_square += step.slope_square;
    }
    if (c->tolerances.arithmetic != TIDE_REFERENCE_FP32) {
        allowed = 2 * (slope + 2 * sqrt(slope_square));
    }
    allowed += c->tolerances.forward_shrink *
               fmax(0, log((double)reference->info.model.vocab_size) - reference->loss_after);
    TIDE_TRY(tide_transformer_forward(c->transformer, error));
    TIDE_TRY(tide_transformer_loss(c->transformer, error));
    TIDE_TRY(compare_loss(c, "loss_after", reference->loss_after, allowed, error));
    return tide_transformer_end_step(c->transformer, error);
}

/* All comparisons with a transformer that has been built. */
static tide_status run_check(check *c, const tide_reference_run *run, tide_error *error) {
    TIDE_TRY(tide_transformer_setup(c->transformer, error));
    if (run->prepare != NULL) {
        run->prepare(run->prepare_ctx, c->transformer);
    }
    TIDE_TRY(load(c, error));
    TIDE_TRY(compare_first_step(c, error));
    TIDE_TRY(take_steps(c, error));
    return compare_after(c, error);
}

/* Room for the rows and for the largest result. */
static tide_status alloc_room(check *c, tide_error *error) {
    const tide_reference *reference = c->reference;
    const tide_hostmem *mem = reference->mem;
    const tide_model_config *model = &reference->info.model;
    size_t n_largest = model->batch_size * model->context_length * model->vocab_size;
    for (size_t i = 0; i < reference->n_parameters; i++) {
        size_t n = reference->parameters[i].n_elements;
        n_largest = n > n_largest ? n : n_largest;
    }
    c->max_rows = 3 + 3 * reference->n_parameters;
    c->report->rows = tide_hostmem_zeroed(mem, c->max_rows, sizeof(*c->report->rows));
    c->got = tide_hostmem_zeroed(mem, n_largest, sizeof(*c->got));
    c->narrow = tide_hostmem_zeroed(mem, n_largest, sizeof(*c->narrow));
    if (c->report->rows == NULL || c->got == NULL || c->narrow == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the comparison");
    }
    return TIDE_OK;
}

static tide_status make_transformer(check *c, const tide_reference_run *run, tide_cache *cache,
                                    tide_error *error) {
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = c->reference->info.model;
    config.precision = c->precision;
    config.attention = run->attention;
    config.recompute = run->recompute;
    config.adamw = c->reference->info.adamw;
    return tide_transformer_create(&config, cache, NULL, &c->transformer, error);
}

static const tide_reference_row *worst_row(const tide_reference_report *report) {
    const tide_reference_row *worst = &report->rows[0];
    for (size_t i = 0; i < report->n_rows; i++) {
        const tide_reference_row *row = &report->rows[i];
        bool is_worse = row->error * worst->tolerance > worst->error * row->tolerance;
        if (!row->ok && (worst->ok || is_worse)) {
            worst = row;
        }
    }
    return worst;
}

/* An fp32 file is exact enough for every precision; any other file is itself rounded, so its errors
 * also count. */
static tide_status check_run(const tide_reference *reference, const tide_reference_run *run,
                             tide_precision *ret_precision, tide_error *error) {
    if (!tide_device_get_info(run->device)->computes) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "device %s computes nothing that could be compared: use --device cpu",
                         tide_device_get_info(run->device)->spec);
    }
    tide_precision of_file = reference->info.precision;
    tide_precision precision = run->precision == NULL ? of_file : *run->precision;
    if (precision != of_file && of_file != TIDE_PRECISION_FP32) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the file holds results of %s, which cannot be compared with those of %s: "
                         "leave out --precision, or take an fp32 file",
                         tide_precision_name((int)of_file), tide_precision_name((int)precision));
    }
    *ret_precision = precision;
    return TIDE_OK;
}

tide_status tide_reference_check(const tide_reference *reference, const tide_reference_run *run,
                                 tide_reference_report *ret_report, tide_error *error) {
    const tide_hostmem *mem = reference->mem;
    tide_precision precision = TIDE_PRECISION_FP32;
    TIDE_TRY(check_run(reference, run, &precision, error));
    tide_reference_report report = {.mem = mem};
    check c = {.reference = reference,
               .device = run->device,
               .report = &report,
               .precision = precision,
               .tolerances = tide_reference_get_tolerances(reference, precision, run->attention)};
    tide_cache *cache = NULL;
    TIDE_TRY(tide_cache_create(run->device, NULL, NULL, &cache, error));
    tide_status status = make_transformer(&c, run, cache, error);
    if (status == TIDE_OK) {
        status = alloc_room(&c, error);
    }
    if (status == TIDE_OK) {
        status = run_check(&c, run, error);
    }
    tide_transformer_destroy(c.transformer);
    tide_cache_destroy(cache);
    mem->release(mem->ctx, c.got);
    mem->release(mem->ctx, c.narrow);
    if (status != TIDE_OK) {
        tide_reference_report_fini(&report);
        return status;
    }
    *ret_report = report;
    if (report.n_failed == 0) {
        return TIDE_OK;
    }
    const tide_reference_row *worst = worst_row(&report);
    return tide_fail(error, TIDE_GATE,
                     "%zu of %zu results are beyond their tolerance, %s most: relative error %.3g, "
                     "allowed %.3g",
                     report.n_failed, report.n_rows, worst->name, worst->error, worst->tolerance);
}

void tide_reference_report_fini(tide_reference_report *report) {
    if (report->mem != NULL) {
        report->mem->release(report->mem->ctx, report->rows);
    }
    *report = (tide_reference_report){0};
}
