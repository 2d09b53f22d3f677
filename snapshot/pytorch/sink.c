#include "snapshot/pytorch/sink_internal.h"

void tide_sink_begin_dict(tide_pytorch_sink *to) {
    if (to->pickle != NULL) {
        tide_pickle_begin_dict(to->pickle);
    } else {
        tide_json_begin_object(to->json);
    }
}

void tide_sink_end_dict(tide_pytorch_sink *to) {
    if (to->pickle != NULL) {
        tide_pickle_end_dict(to->pickle);
    } else {
        tide_json_end_object(to->json);
    }
}

void tide_sink_begin_list(tide_pytorch_sink *to) {
    if (to->pickle != NULL) {
        tide_pickle_begin_list(to->pickle);
    } else {
        tide_json_begin_array(to->json);
    }
}

void tide_sink_end_list(tide_pytorch_sink *to) {
    if (to->pickle != NULL) {
        tide_pickle_end_list(to->pickle);
    } else {
        tide_json_end_array(to->json);
    }
}

void tide_sink_key(tide_pytorch_sink *to, const char *key) {
    if (to->pickle != NULL) {
        tide_pickle_write_text(to->pickle, key);
    } else {
        tide_json_key(to->json, key);
    }
}

void tide_sink_text(tide_pytorch_sink *to, const char *text) {
    if (to->pickle != NULL) {
        tide_pickle_write_text(to->pickle, text);
    } else {
        tide_json_text(to->json, text);
    }
}

void tide_sink_integer(tide_pytorch_sink *to, int64_t value) {
    if (to->pickle != NULL) {
        tide_pickle_write_integer(to->pickle, value);
    } else {
        tide_json_integer(to->json, value);
    }
}

void tide_sink_real(tide_pytorch_sink *to, double value) {
    if (to->pickle != NULL) {
        tide_pickle_write_real(to->pickle, value);
    } else {
        tide_json_real(to->json, value);
    }
}

void tide_sink_boolean(tide_pytorch_sink *to, bool value) {
    if (to->pickle != NULL) {
        tide_pickle_write_boolean(to->pickle, value);
    } else {
        tide_json_boolean(to->json, value);
    }
}

void tide_sink_pair(tide_pytorch_sink *to, int64_t first, int64_t second) {
    if (to->pickle != NULL) {
        tide_pickle_write_pair(to->pickle, first, second);
        return;
    }
    tide_json_begin_array(to->json);
    tide_json_integer(to->json, first);
    tide_json_integer(to->json, second);
    tide_json_end_array(to->json);
}

void tide_sink_key_text(tide_pytorch_sink *to, const char *key, const char *text) {
    tide_sink_key(to, key);
    tide_sink_text(to, text);
}

void tide_sink_key_integer(tide_pytorch_sink *to, const char *key, int64_t value) {
    tide_sink_key(to, key);
    tide_sink_integer(to, value);
}

bool tide_sink_refer(tide_pytorch_sink *to, const uint32_t *memo) {
    if (to->pickle == NULL || *memo == 0) {
        return false;
    }
    tide_pickle_refer(to->pickle, *memo - 1);
    return true;
}

void tide_sink_remember(tide_pytorch_sink *to, uint32_t *memo) {
    if (to->pickle != NULL) {
        *memo = tide_pickle_remember(to->pickle) + 1;
    }
}
