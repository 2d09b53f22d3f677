#include "snapshot/document/snapshot.h"

#include <math.h>
#include <string.h>

#include "common/statistics.h"
#include "snapshot/format/gzip_file.h"
#include "snapshot/document/validate.h"
#include "snapshot/format/writer_friend.h"

enum { ADDRESS_UNIT_BYTES = 512 };

static tide_status to_gzip(void *ctx, const char *text, size_t n_bytes) {
    return tide_gzip_writer_write(ctx, text, n_bytes);
}

static void write_host(tide_json_writer *json, const tide_snapshot_run *run) {
    tide_json_key(json, "host");
    tide_json_begin_object(json);
    tide_json_key_text(json, "name", run->host_name);
    tide_json_key_text(json, "os", run->host_os);
    tide_json_key_text(json, "cpu", run->host_cpu);
    tide_json_key_text(json, "computed_by", run->host_computed_by);
    tide_json_key_integer(json, "n_cpus", run->host_n_cpus);
    tide_json_key_integer(json, "total_bytes", run->host_total_bytes);
    tide_json_end_object(json);
}

static void write_model(tide_json_writer *json, const tide_snapshot_model *model) {
    tide_json_key(json, "model");
    if (model->size == NULL) {
        tide_json_null(json);
        return;
    }
    tide_json_begin_object(json);
    tide_json_key_text(json, "size", model->size);
    tide_json_key_integer(json, "d_model", model->d_model);
    tide_json_key_integer(json, "d_ff", model->d_ff);
    tide_json_key_integer(json, "n_layers", model->n_layers);
    tide_json_key_integer(json, "n_heads", model->n_heads);
    tide_json_key_integer(json, "vocab_size", model->vocab_size);
    tide_json_key_integer(json, "n_parameters", model->n_parameters);
    tide_json_end_object(json);
}

static void write_run(tide_json_writer *json, const tide_snapshot_run *run) {
    tide_json_key(json, "run");
    tide_json_begin_object(json);
    tide_json_key_text(json, "command", run->command);
    tide_json_key_integer(json, "started_unix_us", run->started_unix_us);
    write_model(json, &run->model);
    tide_json_key_text(json, "precision", run->precision);
    tide_json_key_text(json, "mode", run->mode);
    tide_json_key_text(json, "attention", run->attention);
    tide_json_key_text(json, "recompute", run->recompute);
    if (run->implementation[0] != '\0') {
        tide_json_key_text(json, "implementation", run->implementation);
    }
    tide_json_key(json, "keep_graph");
    tide_json_boolean(json, run->keep_graph);
    if (run->cuda_graph) {
        tide_json_key(json, "cuda_graph");
        tide_json_boolean(json, true);
    }
    tide_json_key_integer(json, "batch_size", run->batch_size);
    tide_json_key_integer(json, "context_length", run->context_length);
    tide_json_key_integer(json, "seed", run->seed);
    tide_json_key_integer(json, "memory_limit_bytes", run->memory_limit_bytes);
    tide_json_key_real(json, "clip_grad_norm", run->clip_grad_norm);
    tide_json_key_text(json, "outcome", run->outcome);
    write_host(json, run);
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_origin(tide_json_writer *json, const tide_snapshot_origin *origin) {
    if (origin->format[0] == '\0') {
        return;
    }
    tide_json_key(json, "origin");
    tide_json_begin_object(json);
    tide_json_key_text(json, "format", origin->format);
    tide_json_key_integer(json, "events", (int64_t)origin->n_events);
    tide_json_key_integer(json, "contradictions", (int64_t)origin->n_contradictions);
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_names(tide_json_writer *json, const char *key, const char *(*name_of)(int),
                        int n_names) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (int i = 0; i < n_names; i++) {
        tide_json_text(json, name_of(i));
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_categories(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_json_key(json, "categories");
    tide_json_begin_array(json);
    for (size_t i = 0; i < tide_snapshot_n_categories(snapshot); i++) {
        tide_json_text(json, tide_snapshot_category(snapshot, i));
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_devices(tide_json_writer *json, const tide_snapshot *snapshot) {
    tide_json_key(json, "devices");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        const tide_snapshot_device *device = &snapshot->devices[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "kind", device->kind);
        tide_json_key_text(json, "name", device->name);
        tide_json_key_integer(json, "total_bytes", device->total_bytes);
        tide_json_key_integer(json, "compute_capability", device->compute_capability);
        tide_json_key_integer(json, "driver_version", device->driver_version);
        tide_json_key_integer(json, "runtime_version", device->runtime_version);
        if (device->sm_clock_khz > 0) {
            tide_json_key_integer(json, "sm_clock_khz", device->sm_clock_khz);
        }
        if (device->memory_clock_khz > 0) {
            tide_json_key_integer(json, "memory_clock_khz", device->memory_clock_khz);
        }
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
    tide_json_key(json, "streams");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_streams; i++) {
        tide_json_begin_object(json);
        tide_json_key_integer(json, "device", snapshot->streams[i].device);
        tide_json_key_integer(json, "handle", (int64_t)snapshot->streams[i].handle);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
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

/* The key is absent where everything is exact. */
static void write_inexact(tide_json_writer *json, const tide_snapshot *snapshot) {
    if (snapshot->n_inexact == 0) {
        return;
    }
    tide_json_key(json, "inexact");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_inexact; i++) {
        const tide_snapshot_inexact *row = &snapshot->inexact[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "call", row->call);
        tide_json_key_text(json, "what", row->what);
        tide_json_key_integer(json, "bound_bytes", row->bound_bytes);
        tide_json_key(json, "refused");
        tide_json_boolean(json, row->is_refused);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_allocator(tide_json_writer *json, const tide_snapshot *snapshot) {
    write_settings(json, "allocator", snapshot->settings, snapshot->n_settings);
    if (snapshot->n_software > 0) {
        write_settings(json, "software", snapshot->software, snapshot->n_software);
    }
    write_inexact(json, snapshot);
    tide_write_owners(json, snapshot);
    if (tide_snapshot_has_rank(snapshot)) {
        tide_json_key(json, "rank");
        tide_json_begin_object(json);
        tide_write_rank_keys(json, &snapshot->rank);
        tide_json_end_object(json);
        tide_json_line(json);
    }
    tide_write_ranges(json, snapshot);
    tide_json_key(json, "log");
    tide_json_begin_object(json);
    tide_json_key_text(json, "full_policy", snapshot->full_policy);
    tide_json_key_integer(json, "dropped_events", (int64_t)snapshot->n_dropped);
    if (snapshot->n_scopes_dropped > 0) {
        tide_json_key_integer(json, "dropped_scopes", (int64_t)snapshot->n_scopes_dropped);
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_samples(tide_json_writer *json, const char *key, const double *samples,
                          size_t n_samples) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < n_samples; i++) {
        tide_json_real(json, samples[i]);
    }
    tide_json_end_array(json);
}

static void write_statistics(tide_json_writer *json, const char *key, const double *samples,
                             size_t n_samples) {
    tide_statistics of = tide_statistics_of(samples, n_samples);
    tide_json_key(json, key);
    tide_json_begin_object(json);
    tide_json_key_real(json, "mean", of.mean);
    tide_json_key_real(json, "std", tide_statistics_population_std(samples, n_samples));
    tide_json_key_real(json, "median", of.median);
    tide_json_key_real(json, "min", of.min);
    tide_json_key_real(json, "max", of.max);
    tide_json_end_object(json);
}

static void write_timing(tide_json_writer *json, const tide_snapshot_timing *timing) {
    tide_json_key(json, "timing");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "warmup_steps", timing->warmup_steps);
    tide_json_key_integer(json, "measured_steps", timing->measured_steps);
    tide_json_key(json, "phases");
    tide_json_begin_array(json);
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "name", phase->name);
        write_samples(json, "host_ms", phase->host_ms, phase->n_samples);
        write_samples(json, "device_ms", phase->device_ms, phase->n_samples);
        write_statistics(json, "host", phase->host_ms, phase->n_samples);
        write_statistics(json, "device", phase->device_ms, phase->n_samples);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    if (timing->phases_synced) {
        tide_json_key(json, "phases_synced");
        tide_json_boolean(json, true);
    }
    tide_json_key_real(json, "flops", timing->flops);
    tide_json_key_real(json, "stated_peak_flops", timing->stated_peak_flops);
    tide_json_key_real(json, "recorder_ns_per_event", timing->recorder_ns_per_event);
    if (timing->n_recorder_pairs > 0) {
        size_t n_pairs = timing->n_recorder_pairs;
        tide_json_key(json, "recorder_pairs");
        tide_json_begin_object(json);
        write_samples(json, "recorded_ms", timing->recorded_step_ms, n_pairs);
        write_samples(json, "unrecorded_ms", timing->unrecorded_step_ms, n_pairs);
        tide_json_end_object(json);
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

/* JSON has no NaN and no infinities: those are written as texts. The key is absent without losses.
 */
static void write_losses(tide_json_writer *json, const tide_snapshot_timing *timing) {
    if (timing->n_losses == 0) {
        return;
    }
    tide_json_key(json, "loss");
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

/* The key is absent where the loss is not scaled. */
static void write_loss_scaling(tide_json_writer *json, const tide_snapshot_timing *timing) {
    if (!timing->scales_loss) {
        return;
    }
    tide_json_key(json, "loss_scaling");
    tide_json_begin_object(json);
    tide_json_key_real(json, "scale", timing->loss_scale);
    tide_json_key_integer(json, "skipped_steps", timing->n_skipped_steps);
    tide_json_end_object(json);
    tide_json_line(json);
}

/* 512 if every address is a multiple of it, else 1. */
static uint64_t address_unit_bytes(const tide_snapshot *snapshot) {
    uint64_t bits = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (tide_action_has_address(row.action)) {
            bits |= row.address;
        }
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        bits |= snapshot->start_segments[i].address;
    }
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        bits |= snapshot->end_segments[i].address;
    }
    return bits % ADDRESS_UNIT_BYTES == 0 ? ADDRESS_UNIT_BYTES : 1;
}

void tide_write_head(tide_json_writer *json, const tide_snapshot *snapshot, uint64_t unit_bytes) {
    tide_json_key_text(json, "format", "tidemark-snapshot");
    tide_json_key_integer(json, "version", TIDE_SNAPSHOT_VERSION);
    tide_json_key(json, "tool");
    tide_json_begin_object(json);
    tide_json_key_text(json, "version", snapshot->tool_version);
    tide_json_key_text(json, "build", snapshot->tool_build);
    tide_json_end_object(json);
    tide_json_line(json);
    write_origin(json, &snapshot->origin);
    if (snapshot->user_path[0] != '\0') {
        tide_json_key_text(json, "user_path", snapshot->user_path);
        tide_json_line(json);
    }
    write_run(json, &snapshot->run);
    tide_json_key(json, "clock");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "unit_ns", 1);
    tide_json_key_text(json, "source", snapshot->clock_source);
    tide_json_key_integer(json, "device_uncertainty_ns", snapshot->device_uncertainty_ns);
    tide_json_end_object(json);
    tide_json_line(json);
    tide_json_key_integer(json, "address_unit_bytes", (int64_t)unit_bytes);
    tide_json_line(json);
    write_names(json, "actions", tide_action_name, TIDE_N_ACTIONS);
    write_categories(json, snapshot);
    write_names(json, "scope_kinds", tide_scope_kind_name, TIDE_N_SCOPE_KINDS);
    write_names(json, "block_states", tide_block_state_name, TIDE_N_BLOCK_STATES);
    write_devices(json, snapshot);
    write_allocator(json, snapshot);
    write_timing(json, &snapshot->timing);
    tide_write_forecast(json, &snapshot->forecast);
    write_losses(json, &snapshot->timing);
    write_loss_scaling(json, &snapshot->timing);
}

static void write_document(tide_json_writer *json, const tide_snapshot *snapshot,
                           const tide_summary *summary) {
    uint64_t unit_bytes = address_unit_bytes(snapshot);
    tide_json_begin_object(json);
    tide_write_head(json, snapshot, unit_bytes);
    tide_write_summary(json, summary);
    tide_write_tables(json, snapshot, unit_bytes);
    tide_json_end_object(json);
    tide_json_line(json);
}

static tide_status check(const tide_snapshot *snapshot, tide_error *error) {
    char place[TIDE_PLACE_BYTES] = "";
    if (tide_snapshot_validate(snapshot, place, error) != TIDE_OK) {
        tide_error_prefix(error, "the snapshot contradicts itself at %s", place);
        return TIDE_INVALID;
    }
    return TIDE_OK;
}

/* Writes the document of a snapshot that has passed check(). */
static tide_status write_to(const tide_snapshot *snapshot, const tide_summary *summary,
                            tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                            void *ctx) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_writer_init(json, sink, ctx);
    write_document(json, snapshot, summary);
    tide_status status = tide_json_writer_finish(json);
    mem->release(mem->ctx, json);
    return status;
}

tide_status tide_snapshot_write_to(const tide_snapshot *snapshot,
                                   tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                                   void *ctx, tide_error *error) {
    tide_summary *summary = NULL;
    TIDE_TRY(check(snapshot, error));
    TIDE_TRY(tide_summary_create(snapshot, &summary, error));
    tide_status status = write_to(snapshot, summary, sink, ctx);
    tide_summary_destroy(summary);
    return status;
}

static tide_status write_file(const tide_snapshot *snapshot, const tide_summary *summary,
                              const char *path, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_gzip_writer *file = NULL;
    size_t n_path = strlen(path);
    bool is_plain = n_path > 5 && strcmp(path + n_path - 5, ".json") == 0; /* as its name says */
    TIDE_TRY(is_plain ? tide_gzip_writer_open_plain(path, mem, &file, error)
                      : tide_gzip_writer_open(path, mem, &file, error));
    tide_status status = write_to(snapshot, summary, to_gzip, file);
    if (status == TIDE_NO_MEMORY) {
        tide_gzip_writer_abandon(file);
        return status;
    }
    /* A failed write sticks in the file: commit returns it, with the reason. */
    return tide_gzip_writer_commit(file, error) != TIDE_OK ? TIDE_IO : status;
}

tide_status tide_snapshot_save(const tide_snapshot *snapshot, const char *path, tide_error *error) {
    tide_summary *summary = NULL;
    TIDE_TRY(check(snapshot, error));
    TIDE_TRY(tide_summary_create(snapshot, &summary, error));
    tide_status status = write_file(snapshot, summary, path, error);
    tide_summary_destroy(summary);
    if (status == TIDE_NO_MEMORY) {
        return tide_fail(error, status, "no host memory to write '%s'", path);
    }
    return status;
}
