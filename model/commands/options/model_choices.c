#include "model/commands/options/model_choices.h"

#include "model/config.h"

const char *tide_choice_size(size_t i) {
    return tide_model_preset_name(i);
}

const char *tide_choice_workload(size_t i) {
    return i < TIDE_N_ARCHITECTURES ? tide_architecture_name((int)i) : NULL;
}

const char *tide_choice_mode(size_t i) {
    return i < TIDE_N_MODES ? tide_mode_name((int)i) : NULL;
}

const char *tide_choice_precision(size_t i) {
    return i < TIDE_N_PRECISIONS ? tide_precision_name((int)i) : NULL;
}

const char *tide_choice_attention(size_t i) {
    return i < TIDE_N_ATTENTIONS ? tide_attention_name((int)i) : NULL;
}

const char *tide_choice_recompute(size_t i) {
    return i < TIDE_N_RECOMPUTES ? tide_recompute_name((int)i) : NULL;
}

const char *tide_choice_emulate(size_t i) {
    return i < TIDE_N_EMULATIONS ? tide_emulation_name((int)i) : NULL;
}

const char *tide_choice_edition(size_t i) {
    return i < TIDE_N_EDITIONS ? tide_edition_name((int)i) : NULL;
}
