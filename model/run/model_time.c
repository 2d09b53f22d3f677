/* The forecast of time of our own model on a virtual card: its operators log the kernels that they
 * would launch, and programs/step_time/ forecasts from that. */
#include <stdio.h>
#include <string.h>

#include "device/cards.h"
#include "programs/launch/time.h"
#include "model/run/session_internal.h"

/* The card of a virtual device; NULL without a card. */
static const tide_card *card_of(const tide_device *device) {
    static const char VIRTUAL[] = "virtual:";
    const tide_device_info *is = tide_device_get_info(device);
    return is->kind == TIDE_DEVICE_VIRTUAL && strncmp(is->spec, VIRTUAL, sizeof(VIRTUAL) - 1) == 0
               ? tide_card_find(is->spec + sizeof(VIRTUAL) - 1)
               : NULL;
}

static void refuse(tide_run_session *session, const char *why) {
    tide_run_result *result = session->result;
    snprintf(result->no_forecast, sizeof(result->no_forecast), "%s", why);
}

/* Whether model/eager/launches.c was compared with PyTorch's launches for this kind of run. */
static bool is_modelled(const tide_workload_config *model) {
    bool has_precision = model->precision == TIDE_PRECISION_FP32 ||
                         model->precision == TIDE_PRECISION_TF32 ||
                         model->precision == TIDE_PRECISION_BF16_MIXED;
    return has_precision && model->edition == TIDE_EDITION_2026 &&
           model->attention == TIDE_ATTENTION_NAIVE && model->recompute == TIDE_RECOMPUTE_NONE;
}

void tide_run_time_begin(tide_run_session *session) {
    tide_error error = {""};
    tide_time_card rates;
    const tide_workload_config *model = &session->model;
    const tide_card *card = card_of(session->device);
    tide_launch_list_init(&session->launches, tide_hostmem_default());
    if (!session->config->recording.forecasts_time || card == NULL) {
        return;
    }
    if (model->architecture == TIDE_DECODE) {
        refuse(session, "of a model that decodes no time is forecast");
    } else if (model->emulate == TIDE_EMULATE_PYTORCH && !is_modelled(model)) {
        refuse(session, "what PyTorch launches is modelled in edition 2026 alone, with naive "
                        "attention, without recomputation, in fp32, tf32 and bf16-mixed; "
                        "`tidemark run --time` forecasts the time of a real program");
    } else if (tide_time_card_of(card, &rates, &error) != TIDE_OK) {
        refuse(session, error.message);
    } else {
        session->model.launches = &session->launches;
    }
}

tide_status tide_run_time_make(tide_run_session *session) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_result *result = session->result;
    tide_error error = {""};
    if (session->model.launches == NULL || result->outcome == TIDE_OUTCOME_OOM) {
        return TIDE_OK;
    }
    if (result->memory.spill_peak_bytes > 0) {
        refuse(session, "a part of it is in the host's memory, whose speed the model does not "
                        "have");
        return TIDE_OK;
    }
    result->time = tide_hostmem_zeroed(mem, 1, sizeof(*result->time));
    if (result->time == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = tide_launch_time_init_own(&session->launches,
                                                   session->model.emulate == TIDE_EMULATE_PYTORCH,
                                                   card_of(session->device), result->time, &error);
    if (status != TIDE_OK) {
        refuse(session, error.message[0] != '\0' ? error.message : tide_status_text(status));
        tide_run_time_release(result);
        return status == TIDE_NO_MEMORY ? status : TIDE_OK;
    }
    tide_run_time_figures(result->time, &result->program);
    return TIDE_OK;
}

tide_status tide_run_time_add(const tide_run_result *result) {
    const tide_launch_time *time = result->time;
    return time != NULL && result->snapshot != NULL
               ? tide_launch_add_time(result->snapshot, &time->model, &time->ranges,
                                      &time->forecast)
               : TIDE_OK;
}
