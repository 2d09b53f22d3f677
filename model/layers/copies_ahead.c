#include "model/layers/copies_ahead.h"

/* The numbers of the events in a log of launches. */
enum { BEGUN = 1, MADE };

static tide_device *device_of(const tide_copies_ahead *on) {
    return on->linears->ops->device;
}

tide_status tide_copies_ahead_init(tide_copies_ahead *on, const tide_linears *linears,
                                   tide_error *error) {
    *on = (tide_copies_ahead){.linears = linears};
    TIDE_TRY(tide_device_stream_create(device_of(on), &on->stream, error));
    TIDE_TRY(tide_device_event_create(device_of(on), &on->begun, error));
    return tide_device_event_create(device_of(on), &on->made, error);
}

void tide_copies_ahead_fini(tide_copies_ahead *on) {
    if (on->linears == NULL) {
        return;
    }
    if (on->made != NULL) {
        tide_device_event_destroy(device_of(on), on->made);
    }
    if (on->begun != NULL) {
        tide_device_event_destroy(device_of(on), on->begun);
    }
    if (on->stream != 0) {
        tide_status status = tide_device_stream_destroy(device_of(on), on->stream, NULL);
        (void)status; /* no caller could handle it */
    }
    *on = (tide_copies_ahead){.linears = NULL};
}

/* `waiting` waits for the work submitted to `from` so far. */
static tide_status order(const tide_copies_ahead *on, tide_stream from, tide_stream waiting,
                         uint64_t number, tide_error *error) {
    tide_ops *ops = on->linears->ops;
    tide_device_event *event = number == BEGUN ? on->begun : on->made;
    TIDE_TRY(tide_device_event_record(ops->device, event, from, error));
    TIDE_TRY(tide_ops_note_event(ops, TIDE_RUN_RECORD, from, number, error));
    TIDE_TRY(tide_device_stream_wait(ops->device, waiting, event, error));
    return tide_ops_note_event(ops, TIDE_RUN_STREAM_WAIT, waiting, number, error);
}

static tide_status make_copies(const tide_copies_ahead *on, const size_t *weights, size_t n_weights,
                               tide_error *error) {
    for (size_t i = 0; i < n_weights; i++) {
        TIDE_TRY(tide_weight_copy_make(on->linears, weights[i], error));
    }
    return TIDE_OK;
}

tide_status tide_copies_ahead_begin(tide_copies_ahead *on, const size_t *weights, size_t n_weights,
                                    tide_error *error) {
    tide_ops *ops = on->linears->ops;
    tide_stream stream = ops->stream;
    TIDE_TRY(order(on, stream, on->stream, BEGUN, error));
    on->is_pending = true;
    ops->stream = on->stream; /* casts use this stream; cuBLAS keeps its own */
    tide_status status = make_copies(on, weights, n_weights, error);
    ops->stream = stream;
    return status;
}

tide_status tide_copies_ahead_wait(tide_copies_ahead *on, tide_error *error) {
    if (!on->is_pending) {
        return TIDE_OK;
    }
    TIDE_TRY(order(on, on->stream, on->linears->ops->stream, MADE, error));
    on->is_pending = false;
    return TIDE_OK;
}

void tide_copies_ahead_drop(tide_copies_ahead *on) {
    if (tide_copies_ahead_wait(on, NULL) != TIDE_OK) {
        tide_status status = tide_device_synchronize(device_of(on), NULL);
        (void)status; /* a device on which this also fails runs no more work */
    }
}
