#include "snapshot/export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/export/export_friend.h"

static const tide_exporter *const EXPORTERS[] = {
    &tide_exporter_perfetto, &tide_exporter_folded,       &tide_exporter_csv,
    &tide_exporter_pytorch,  &tide_exporter_pytorch_json, &tide_exporter_tidemark,
};

enum { N_EXPORTERS = sizeof(EXPORTERS) / sizeof(EXPORTERS[0]) };

const tide_exporter *tide_exporter_at(size_t i) {
    return i < N_EXPORTERS ? EXPORTERS[i] : NULL;
}

static tide_status check_options(const tide_exporter *exporter, const tide_snapshot *snapshot,
                                 const tide_export_options *options, tide_error *error) {
    if (!exporter->is_state && (options->at_event != TIDE_EXPORT_PEAK || options->device >= 0)) {
        return tide_fail(error, TIDE_INVALID,
                         "%s holds the whole recording: an event or a device cannot be chosen",
                         exporter->name);
    }
    if (options->at_event != TIDE_EXPORT_PEAK &&
        (options->at_event < -1 || options->at_event >= (int64_t)snapshot->n_events)) {
        return tide_fail(error, TIDE_INVALID,
                         "there is no event %" PRId64 ": the file has the events 0 to %" PRId64
                         ", and -1 is the state before them",
                         options->at_event, (int64_t)snapshot->n_events - 1);
    }
    if (options->device >= (int64_t)snapshot->n_devices) {
        return tide_fail(error, TIDE_INVALID, "there is no device %" PRId64 ": the file has %zu",
                         options->device, snapshot->n_devices);
    }
    return TIDE_OK;
}

tide_status tide_export(const tide_exporter *exporter, const tide_snapshot *snapshot,
                        const tide_export_options *options, const tide_export_sink *sink,
                        tide_error *error) {
    static const tide_export_options AT_PEAK = {.at_event = TIDE_EXPORT_PEAK, .device = -1};
    options = options != NULL ? options : &AT_PEAK;
    TIDE_TRY(check_options(exporter, snapshot, options, error));
    return exporter->write(snapshot, options, sink, error);
}

/* ---- text ---- */

tide_export_text *tide_export_text_create(const tide_export_sink *sink, const tide_hostmem *mem) {
    tide_export_text *text = mem->alloc(mem->ctx, sizeof(*text));
    if (text != NULL) {
        text->sink = sink;
        text->status = TIDE_OK;
        text->n_used = 0;
    }
    return text;
}

static void hand_on(tide_export_text *text) {
    if (text->status == TIDE_OK && text->n_used > 0) {
        text->status = text->sink->write(text->sink->ctx, text->buffer, text->n_used);
    }
    text->n_used = 0;
}

void tide_export_put_n(tide_export_text *text, const char *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        if (text->n_used == TIDE_EXPORT_BUFFER_BYTES) {
            hand_on(text);
        }
        size_t n_room = TIDE_EXPORT_BUFFER_BYTES - text->n_used;
        size_t n_now = n_bytes < n_room ? n_bytes : n_room;
        memcpy(text->buffer + text->n_used, bytes, n_now);
        text->n_used += n_now;
        bytes += n_now;
        n_bytes -= n_now;
    }
}

void tide_export_put(tide_export_text *text, const char *bytes) {
    tide_export_put_n(text, bytes, strlen(bytes));
}

void tide_export_put_integer(tide_export_text *text, int64_t value) {
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRId64, value);
    tide_export_put_n(text, digits, n > 0 ? (size_t)n : 0);
}

tide_status tide_export_text_finish(tide_export_text *text) {
    hand_on(text);
    return text->status;
}
