#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/same_recordings.h"

static const char *text_of(const tide_recording *recording, uint32_t string) {
    return string == TIDE_NONE ? "-" : recording->strings[string];
}

void expect_same_scopes(const tide_recording *a, const tide_recording *b) {
    for (size_t i = 0; i < a->n_scopes && i < b->n_scopes; i++) {
        const tide_scope_row *left = &a->scopes[i];
        const tide_scope_row *right = &b->scopes[i];
        assert_string_equal(text_of(a, left->name), text_of(b, right->name));
        assert_int_equal(left->kind, right->kind);
        assert_int_equal(left->index, right->index);
        assert_int_equal(left->parent, right->parent);
        assert_int_equal(left->thread, right->thread);
    }
    /* Last, because the first row that differs is more useful than the numbers of rows. */
    assert_int_equal(a->n_scopes, b->n_scopes);
}

void expect_same_request(const tide_recording *a, size_t i, const tide_recording *b, size_t k) {
    const tide_event *left = &a->events[i];
    const tide_event *right = &b->events[k];
    assert_int_equal(left->action, right->action);
    assert_string_equal(text_of(a, left->name), text_of(b, right->name));
    assert_true(left->requested_bytes == right->requested_bytes);
    assert_int_equal(left->category, right->category);
    assert_int_equal(left->stream, right->stream);
    assert_int_equal(left->scope, right->scope);
}

void expect_same_events(const tide_recording *a, uint64_t a_begin, const tide_recording *b,
                        uint64_t b_begin) {
    assert_true(a->n_events > 50);
    for (size_t i = 0; i < a->n_events && i < b->n_events; i++) {
        expect_same_request(a, i, b, i);
        assert_true(a->events[i].address - a_begin == b->events[i].address - b_begin);
        assert_true(a->events[i].block_bytes == b->events[i].block_bytes);
        assert_int_equal(a->events[i].device, b->events[i].device);
    }
    assert_int_equal(a->n_events, b->n_events);
}

tide_workload_config workload_variant(const tide_model_config *model, tide_precision precision,
                                      int variant) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = *model;
    config.precision = precision;
    config.mode = (variant & 3) == 3 ? TIDE_FORWARD : (tide_mode)(variant & 3);
    config.keep_graph = (variant & 3) == 3;
    config.attention = (variant & 4) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
    config.recompute = (variant & 8) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
    config.clip_grad_norm = (variant & 4) != 0 ? 1 : 0;
    return config;
}
