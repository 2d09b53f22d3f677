#include "model/optimizer/loss_scaler.h"

#include <math.h>

/* The defaults of torch.amp.GradScaler. */
static const float INITIAL_SCALE = 65536;
static const float GROWTH_FACTOR = 2;
static const float BACKOFF_FACTOR = 0.5F;
static const int64_t GROWTH_INTERVAL = 2000;

tide_loss_scaler tide_loss_scaler_make(bool is_on) {
    return (tide_loss_scaler){.is_on = is_on, .scale = is_on ? INITIAL_SCALE : 1};
}

void tide_loss_scaler_update(tide_loss_scaler *scaler, bool found_inf) {
    if (!scaler->is_on) {
        return;
    }
    if (found_inf) {
        scaler->scale *= BACKOFF_FACTOR;
        scaler->n_clean = 0;
        scaler->n_skipped++;
        return;
    }
    scaler->n_clean++;
    if (scaler->n_clean == GROWTH_INTERVAL) {
        float grown = scaler->scale * GROWTH_FACTOR;
        scaler->scale = isfinite(grown) ? grown : scaler->scale;
        scaler->n_clean = 0;
    }
}
