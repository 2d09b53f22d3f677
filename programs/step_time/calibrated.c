/* Values derived from calibrations: the host's factor, and shares of a card's rates. */
#include "programs/step_time/calibration.h"

#include <string.h>

#include "programs/step_time/work.h"

/* With the host's factor from 0.19 to 0.99 the range held 99 % of 181 published times that were not
 * used for fitting. */
#define LEAST_PUBLISHED 0.19
#define MOST_PUBLISHED 0.99
/* A measured host differs from session to session: nine in ten published times were within 12.5 %
 * of a forecast with a measured host. */
#define MEASURED 0.125

/* Roughly half of the launches of a step are backward. */
static double mean_us(double forward_us, double backward_us) {
    return 0.5 * (forward_us + backward_us);
}

/* The time of a launch with a driver on this host; the model adds the driver's part to the launch
 * log's time. */
static double whole_us(const tide_time_constants *constants, const tide_calibration *of) {
    return mean_us(of->forward_us, of->backward_us) + constants->launch_us;
}

static void set_factor(tide_time_host *host, double factor, double below, double above) {
    host->factor = factor;
    host->least = factor * below;
    host->most = factor * above;
}

tide_status tide_time_host_of(const tide_time_constants *constants, const tide_calibration *own,
                              const tide_calibration *target, double factor,
                              tide_time_host *ret_host, tide_error *error) {
    tide_time_host host = {.factor = constants->host_factor,
                           .least = LEAST_PUBLISHED,
                           .most = MOST_PUBLISHED,
                           .own = own};
    if (target != NULL && !target->has_gpu) {
        return tide_fail(error, TIDE_INVALID,
                         "the calibration was made on a machine without a GPU, so that it does not "
                         "say what a launch takes there: run `tidemark bench calibrate` on the "
                         "machine with the GPU");
    }
    if (target != NULL && own == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "there is no calibration of this machine to compare it with: run "
                         "`tidemark bench calibrate` here first");
    }
    if (target == NULL && own != NULL && own->has_gpu) {
        target = own;
    }
    host.target = target;
    if (factor > 0.0) {
        host.basis = TIDE_TIME_HOST_GIVEN;
        set_factor(&host, factor, 1.0 - MEASURED, 1.0 + MEASURED);
    } else if (target != NULL) {
        host.basis = TIDE_TIME_HOST_MEASURED;
        set_factor(&host,
                   mean_us(target->gpu.forward_us, target->gpu.backward_us) /
                       whole_us(constants, own),
                   1.0 - MEASURED, 1.0 + MEASURED);
    } else if (own != NULL) {
        double scale = (constants->reference_us + constants->launch_us) / whole_us(constants, own);
        host.basis = TIDE_TIME_HOST_SCALED;
        host.factor *= scale;
        host.least *= scale;
        host.most *= scale;
    }
    *ret_host = host;
    return TIDE_OK;
}

tide_time_host tide_time_host_stated(const tide_time_constants *constants) {
    return (tide_time_host){.factor = 1.0,
                            .least = LEAST_PUBLISHED / constants->host_factor,
                            .most = MOST_PUBLISHED / constants->host_factor,
                            .basis = TIDE_TIME_HOST_STATED};
}

tide_time_host tide_time_host_modelled(const tide_time_constants *constants) {
    return (tide_time_host){.factor = constants->host_factor,
                            .least = LEAST_PUBLISHED,
                            .most = MOST_PUBLISHED,
                            .basis = TIDE_TIME_HOST_MODELLED};
}

double tide_calibration_share_of_peak(const tide_calibration_gpu *gpu, const tide_time_card *card,
                                      tide_run_type type) {
    double us = gpu->product_us[type];
    double stated = tide_time_card_flops(card, type);
    double flops = 2.0 * gpu->rows * gpu->rows * gpu->rows;
    return us > 0.0 && stated > 0.0 ? flops / (us * 1e-6) / stated : -1.0;
}

double tide_calibration_share_of_bandwidth(const tide_calibration_copy *copy,
                                           const tide_time_card *card) {
    return copy->bytes / (copy->us * 1e-6) / card->bandwidth;
}

bool tide_time_host_has_card(const tide_time_host *host, const tide_time_card *card) {
    return host->target != NULL && strcmp(host->target->gpu.name, card->card->title) == 0;
}

/* Corrects a share to make the model's time equal the measured time: the time without the fixed
 * part is inversely proportional to the share. `fixed_us`: that part. */
static double corrected(double share, double model_us, double fixed_us, double measured_us) {
    return measured_us > fixed_us ? share * (model_us - fixed_us) / (measured_us - fixed_us)
                                  : share;
}

static double product_share(const tide_time_constants *constants, const tide_time_card *card,
                            const tide_calibration_gpu *gpu, tide_run_type type, double share) {
    uint32_t rows = (uint32_t)gpu->rows;
    const tide_run_launch row = {.kind = TIDE_RUN_PRODUCT,
                                 .type = (uint8_t)type,
                                 .out_type =
                                     (uint8_t)(type == TIDE_RUN_TF32 ? TIDE_RUN_FP32 : type),
                                 .flags = TIDE_RUN_TRANSPOSED_A,
                                 .m = rows,
                                 .n = rows,
                                 .k = rows,
                                 .count = 1};
    tide_work_time time = tide_work_time_of(constants, card, &row);
    return gpu->product_us[type] > 0.0 && time.bound == TIDE_TIME_BY_GEMM
               ? corrected(share, time.us, constants->product_us, gpu->product_us[type])
               : share;
}

/* fp16 and bf16 share one efficiency, because their stated peak rates are equal: the mean of the
 * measured ones. A card may lack bf16. */
static double half_share(const tide_time_constants *constants, const tide_time_card *card,
                         const tide_calibration_gpu *gpu, double share) {
    static const tide_run_type TYPES[] = {TIDE_RUN_BF16, TIDE_RUN_FP16};
    double sum = 0.0;
    double n = 0.0;
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (gpu->product_us[TYPES[i]] > 0.0) {
            sum += product_share(constants, card, gpu, TYPES[i], share);
            n += 1.0;
        }
    }
    return n > 0.0 ? sum / n : share;
}

static double copy_share(const tide_time_constants *constants, const tide_time_card *card,
                         const tide_calibration_copy *copy, tide_run_family family, double share) {
    const tide_run_launch row = {.kind = TIDE_RUN_KERNEL,
                                 .family = (uint8_t)family,
                                 .bytes = (uint64_t)copy->bytes,
                                 .elements = (uint64_t)copy->elements};
    tide_work_time time = tide_work_time_of(constants, card, &row);
    return time.bound == TIDE_TIME_BY_MEMORY
               ? corrected(share, time.us, constants->kernel_us, copy->us)
               : share;
}

tide_time_constants tide_time_constants_for(const tide_time_constants *constants,
                                            const tide_time_host *host,
                                            const tide_time_card *card) {
    tide_time_constants to = *constants;
    if (!tide_time_host_has_card(host, card)) {
        return to;
    }
    const tide_calibration_gpu *gpu = &host->target->gpu;
    double *fp32 = &to.fp32_share[card->chip];
    double *half = &to.tensor_share[card->chip];
    *fp32 = product_share(constants, card, gpu, TIDE_RUN_FP32, *fp32);
    *half = half_share(constants, card, gpu, *half);
    if (card->chip == TIDE_TIME_HOPPER) {
        to.tf32_share = product_share(constants, card, gpu, TIDE_RUN_TF32, to.tf32_share);
    }
    to.vectorised_share =
        copy_share(constants, card, &gpu->contiguous, TIDE_RUN_VECTORISED, to.vectorised_share);
    to.strided_share =
        copy_share(constants, card, &gpu->strided, TIDE_RUN_STRIDED, to.strided_share);
    return to;
}
