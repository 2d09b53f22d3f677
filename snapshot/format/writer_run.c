/* The small parts of the document: what ran, on what, and how long it took. Each part ends its
 * line, for human readers. */
#include <math.h>

#include "common/statistics.h"
#include "snapshot/format/writer_keys_internal.h"

/* Writes a part of the document. */
static void write_line(const tide_writer *writer, const char *key, const tide_writable *of,
                       const void *object) {
    tide_write_object(writer, key, of, object);
    tide_json_line(writer->json);
}

void tide_write_document_format(const tide_writer *writer, const char *key, const void *snapshot) {
    (void)snapshot;
    tide_json_key_text(writer->json, key, "tidemark-snapshot");
}

void tide_write_document_version(const tide_writer *writer, const char *key, const void *snapshot) {
    (void)snapshot;
    tide_json_key_integer(writer->json, key, TIDE_SNAPSHOT_VERSION);
}

void tide_write_document_tool(const tide_writer *writer, const char *key, const void *snapshot) {
    write_line(writer, key, &tide_writable_tool, snapshot);
}

void tide_write_document_origin(const tide_writer *writer, const char *key, const void *snapshot) {
    const tide_snapshot_origin *origin = &((const tide_snapshot *)snapshot)->origin;
    if (origin->format[0] != '\0') {
        write_line(writer, key, &tide_writable_origin, origin);
    }
}

void tide_write_document_user_path(const tide_writer *writer, const char *key,
                                   const void *snapshot) {
    const char *path = ((const tide_snapshot *)snapshot)->user_path;
    if (path[0] != '\0') {
        tide_json_key_text(writer->json, key, path);
        tide_json_line(writer->json);
    }
}

void tide_write_document_run(const tide_writer *writer, const char *key, const void *snapshot) {
    write_line(writer, key, &tide_writable_run, &((const tide_snapshot *)snapshot)->run);
}

void tide_write_run_model(const tide_writer *writer, const char *key, const void *run) {
    const tide_snapshot_model *model = &((const tide_snapshot_run *)run)->model;
    if (model->size != NULL) {
        tide_write_object(writer, key, &tide_writable_model, model);
    } else {
        tide_json_key(writer->json, key);
        tide_json_null(writer->json);
    }
}

void tide_write_run_host(const tide_writer *writer, const char *key, const void *run) {
    tide_write_object(writer, key, &tide_writable_host, run);
}

void tide_write_document_clock(const tide_writer *writer, const char *key, const void *snapshot) {
    write_line(writer, key, &tide_writable_clock, snapshot);
}

void tide_write_clock_unit_ns(const tide_writer *writer, const char *key, const void *snapshot) {
    (void)snapshot;
    tide_json_key_integer(writer->json, key, 1);
}

void tide_write_document_address_unit_bytes(const tide_writer *writer, const char *key,
                                            const void *snapshot) {
    (void)snapshot;
    tide_json_key_integer(writer->json, key, (int64_t)writer->unit_bytes);
    tide_json_line(writer->json);
}

static void write_names(const tide_writer *writer, const char *key, const char *(*name_of)(int),
                        int n_names) {
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (int i = 0; i < n_names; i++) {
        tide_json_text(writer->json, name_of(i));
    }
    tide_json_end_array(writer->json);
    tide_json_line(writer->json);
}

void tide_write_document_actions(const tide_writer *writer, const char *key, const void *snapshot) {
    (void)snapshot;
    write_names(writer, key, tide_action_name, TIDE_N_ACTIONS);
}

void tide_write_document_categories(const tide_writer *writer, const char *key,
                                    const void *object) {
    const tide_snapshot *snapshot = object;
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < tide_snapshot_n_categories(snapshot); i++) {
        tide_json_text(writer->json, tide_snapshot_category(snapshot, i));
    }
    tide_json_end_array(writer->json);
    tide_json_line(writer->json);
}

void tide_write_document_scope_kinds(const tide_writer *writer, const char *key,
                                     const void *snapshot) {
    (void)snapshot;
    write_names(writer, key, tide_scope_kind_name, TIDE_N_SCOPE_KINDS);
}

void tide_write_document_block_states(const tide_writer *writer, const char *key,
                                      const void *snapshot) {
    (void)snapshot;
    write_names(writer, key, tide_block_state_name, TIDE_N_BLOCK_STATES);
}

void tide_write_document_devices(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->devices, snapshot->n_devices, sizeof(*snapshot->devices)};
    tide_write_rows(writer, key, &tide_writable_device, list);
    tide_json_line(writer->json);
}

void tide_write_document_streams(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->streams, snapshot->n_streams, sizeof(*snapshot->streams)};
    tide_write_rows(writer, key, &tide_writable_stream, list);
    tide_json_line(writer->json);
}

static void write_settings(tide_json_writer *json, const char *key,
                           const tide_snapshot_setting *settings, size_t n) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    for (size_t i = 0; i < n; i++) {
        if (settings[i].text != NULL) {
            tide_json_key_text(json, settings[i].name, settings[i].text);
        } else {
            tide_json_key_real(json, settings[i].name, settings[i].number);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

void tide_write_document_allocator(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    write_settings(writer->json, key, snapshot->settings, snapshot->n_settings);
}

void tide_write_document_software(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->n_software > 0) {
        write_settings(writer->json, key, snapshot->software, snapshot->n_software);
    }
}

void tide_write_document_plan(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->n_plan > 0) {
        write_settings(writer->json, key, snapshot->plan, snapshot->n_plan);
    }
}

void tide_write_document_log(const tide_writer *writer, const char *key, const void *snapshot) {
    write_line(writer, key, &tide_writable_log, snapshot);
}

void tide_write_document_timing(const tide_writer *writer, const char *key, const void *snapshot) {
    write_line(writer, key, &tide_writable_timing, &((const tide_snapshot *)snapshot)->timing);
}

void tide_write_timing_phases(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_timing *timing = object;
    const tide_row_list list = {timing->phases, timing->n_phases, sizeof(*timing->phases)};
    tide_write_rows(writer, key, &tide_writable_phase, list);
}

static void write_samples(const tide_writer *writer, const char *key, const double *samples,
                          size_t n_samples) {
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < n_samples; i++) {
        tide_json_real(writer->json, samples[i]);
    }
    tide_json_end_array(writer->json);
}

static void write_statistics(const tide_writer *writer, const char *key, const double *samples,
                             size_t n_samples) {
    tide_statistics of = tide_statistics_of(samples, n_samples);
    of.std = tide_statistics_population_std(samples, n_samples);
    tide_write_object(writer, key, &tide_writable_statistics, &of);
}

void tide_write_phase_host_ms(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_phase *phase = object;
    write_samples(writer, key, phase->host_ms, phase->n_samples);
}

void tide_write_phase_device_ms(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_phase *phase = object;
    write_samples(writer, key, phase->device_ms, phase->n_samples);
}

void tide_write_phase_host(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_phase *phase = object;
    write_statistics(writer, key, phase->host_ms, phase->n_samples);
}

void tide_write_phase_device(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_phase *phase = object;
    write_statistics(writer, key, phase->device_ms, phase->n_samples);
}

void tide_write_timing_recorder_pairs(const tide_writer *writer, const char *key,
                                      const void *object) {
    const tide_snapshot_timing *timing = object;
    if (timing->n_recorder_pairs > 0) {
        tide_write_object(writer, key, &tide_writable_pairs, timing);
    }
}

void tide_write_pairs_recorded_ms(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_timing *timing = object;
    write_samples(writer, key, timing->recorded_step_ms, timing->n_recorder_pairs);
}

void tide_write_pairs_unrecorded_ms(const tide_writer *writer, const char *key,
                                    const void *object) {
    const tide_snapshot_timing *timing = object;
    write_samples(writer, key, timing->unrecorded_step_ms, timing->n_recorder_pairs);
}

void tide_write_document_forecast(const tide_writer *writer, const char *key,
                                  const void *snapshot) {
    const tide_snapshot_forecast *forecast = &((const tide_snapshot *)snapshot)->forecast;
    if (forecast->card[0] != '\0') {
        write_line(writer, key, &tide_writable_forecast, forecast);
    }
}

/* JSON has no NaN and no infinities: they are written as texts. */
void tide_write_document_loss(const tide_writer *writer, const char *key, const void *snapshot) {
    const tide_snapshot_timing *timing = &((const tide_snapshot *)snapshot)->timing;
    tide_json_writer *json = writer->json;
    if (timing->n_losses == 0) {
        return;
    }
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < timing->n_losses; i++) {
        double loss = timing->losses[i];
        if (isfinite(loss)) {
            tide_json_real(json, loss);
        } else {
            tide_json_text(json, isnan(loss) ? "nan" : loss > 0.0 ? "inf" : "-inf");
        }
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

void tide_write_document_loss_scaling(const tide_writer *writer, const char *key,
                                      const void *snapshot) {
    const tide_snapshot_timing *timing = &((const tide_snapshot *)snapshot)->timing;
    if (timing->scales_loss) {
        write_line(writer, key, &tide_writable_loss_scaling, timing);
    }
}
