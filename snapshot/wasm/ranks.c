/* ranks.c - the rows of a page of ranks: one for each device of each digest of a file. The keys are
 * those of the typedefs of viewer/src/engine/rank_digests.js.
 */
#include <inttypes.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/text.h"
#include "snapshot/ranks/digests.h"
#include "snapshot/ranks/rank_words.h"
#include "snapshot/wasm/engine_internal.h"

enum { NAME_BYTES = 4352 }; /* of a file's name as digests may have it, and more */
enum { SENTENCE_BYTES = 4352 };

/* The host's pinned memory is no rank's memory. */
static bool is_shown(const tide_digest_device *device) {
    return strcmp(device->kind, TIDE_KIND_PINNED) != 0;
}

static const char *either(const char *first, const char *second) {
    return first[0] != '\0' ? first : second;
}

static int64_t from_0(int64_t number) {
    return number < 0 ? 0 : number;
}

static void write_groups(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "groups");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->rank.n_groups; i++) {
        const tide_snapshot_group *group = &digest->rank.groups[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "name", either(group->name, group->description));
        tide_json_key_integer(json, "size", group->size);
        tide_json_key_integer(json, "position", group->position);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

static void write_settings(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "settings");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->n_settings; i++) {
        const tide_snapshot_setting *setting = &digest->settings[i];
        tide_json_begin_array(json);
        tide_json_text(json, setting->name);
        if (setting->text != NULL) {
            tide_json_text(json, setting->text);
        } else {
            tide_json_real(json, setting->number);
        }
        tide_json_end_array(json);
    }
    tide_json_end_array(json);
}

static void write_name(tide_json_writer *json, const tide_digest *digest,
                       const tide_digest_device *device, size_t i, size_t n_shown) {
    char name[NAME_BYTES];
    tide_text to = tide_text_in(name, sizeof(name));
    if (digest->rank.rank >= 0) {
        tide_text_add(&to, "rank %" PRId64, digest->rank.rank);
    } else {
        tide_text_add(&to, "%s", either(digest->file, "a rank without number"));
    }
    if (n_shown > 1) {
        int64_t index = device->index > (int64_t)i ? device->index : (int64_t)i;
        tide_text_add(&to, " \u00b7 device %" PRId64, index);
    }
    tide_json_key_text(json, "name", name);
}

static void write_figures(tide_json_writer *json, const tide_digest_device *device) {
    int64_t most = device->max.allocated_bytes;
    tide_json_key_text(json, "deviceName", either(device->name, device->kind));
    tide_json_key_integer(json, "totalBytes", device->total_bytes);
    tide_json_key_integer(json, "peakBytes", most >= 0 ? most : device->peak.bytes.allocated_bytes);
    tide_json_key_integer(json, "reservedBytes", device->max.reserved_bytes);
    tide_json_key_integer(json, "endBytes", device->end.allocated_bytes);
    tide_json_key_integer(json, "headroomBytes", device->headroom_bytes);
    tide_json_key_integer(json, "lowBytes", device->low_bytes);
    tide_json_key_integer(json, "highBytes", device->high_bytes);
    tide_json_key_integer(json, "peakStep", device->peak.step);
    tide_json_key_text(json, "peakPhase", device->peak.phase);
    tide_json_key_integer(json, "nDropped", device->n_dropped);
}

static void write_events(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "oom");
    if (device->oom.event >= 0) {
        tide_json_begin_object(json);
        tide_json_key_integer(json, "timeNs", device->oom.time_ns);
        tide_json_key_integer(json, "requestedBytes", device->oom.requested_bytes);
        tide_json_key_integer(json, "freeBytes", device->oom.free_bytes);
        tide_json_key_text(json, "line", device->oom.line);
        tide_json_end_object(json);
    } else {
        tide_json_null(json);
    }
}

static void write_growth(tide_json_writer *json, const tide_digest_explained *of) {
    tide_json_key(json, "growth");
    if (of->n_growth > 0) {
        tide_json_begin_object(json);
        tide_json_key_integer(json, "bytesPerPass", of->growth[0].bytes_per_pass);
        tide_json_key_text(json, "unit", of->growth[0].unit);
        tide_json_key_text(json, "line", of->growth[0].line);
        tide_json_end_object(json);
    } else {
        tide_json_null(json);
    }
}

/* Sentences that differ in figures only have one `fold`, as in the report of `tidemark ranks`. */
static void write_sentences(tide_json_writer *json, const tide_rank_answer *answer) {
    tide_json_key(json, "sentences");
    tide_json_begin_array(json);
    for (size_t i = 0; i < answer->n_sentences; i++) {
        const tide_digest_sentence *sentence = &answer->sentences[i];
        char bytes[SENTENCE_BYTES] = "";
        tide_text fold = tide_text_in(bytes, sizeof(bytes));
        tide_rank_sentence_add_fold(sentence->text, &fold);
        tide_json_begin_object(json);
        tide_json_key_text(json, "key", sentence->key);
        tide_json_key_integer(json, "place", tide_rank_sentence_place(sentence->key));
        tide_json_key_text(json, "text", sentence->text);
        tide_json_key_text(json, "fold", bytes);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

static tide_status write_explained(tide_json_writer *json, const tide_digest_device *device) {
    tide_rank_answer answer = {.n_sentences = 0};
    tide_arena arena;
    tide_json_key(json, "explained");
    if (!device->explained.is_known) {
        tide_json_null(json);
        return TIDE_OK;
    }
    tide_arena_init(&arena, tide_hostmem_default());
    tide_status status = tide_rank_answer_make(&device->explained, &arena, &answer);
    tide_json_begin_object(json);
    write_growth(json, &device->explained);
    write_sentences(json, &answer);
    tide_json_end_object(json);
    tide_arena_fini(&arena);
    return status;
}

static void write_rows(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_rows; i++) {
        const tide_digest_row *row = &device->rows[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "line", row->line);
        tide_json_key_text(json, "category", row->category);
        tide_json_key_text(json, "certainty", row->certainty);
        tide_json_key_text(json, "scope", row->scope);
        tide_json_key_integer(json, "bytes", row->bytes);
        tide_json_key_integer(json, "nBlocks", row->n_blocks);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_key(json, "rest");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "bytes", from_0(device->rest.bytes));
    tide_json_key_integer(json, "nBlocks", from_0(device->rest.n_blocks));
    tide_json_key_integer(json, "nRows", from_0(device->rest.n_rows));
    tide_json_end_object(json);
}

static void write_steps(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "steps");
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_steps; i++) {
        const tide_digest_step *step = &device->steps[i];
        tide_json_begin_object(json);
        tide_json_key_integer(json, "index", step->index);
        tide_json_key_integer(json, "nSteps", step->n_steps < 1 ? 1 : step->n_steps);
        tide_json_key_text(json, "name", step->name);
        tide_json_key_integer(json, "beginNs", step->begin_ns);
        tide_json_key_integer(json, "endNs", step->end_ns);
        tide_json_key_integer(json, "peakBytes", step->allocated_peak_bytes);
        tide_json_key_integer(json, "reservedBytes", step->reserved_peak_bytes);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

/* The member at `offset` of each point of the timeline. */
static void write_column(tide_json_writer *json, const char *key, const tide_digest_device *device,
                         size_t offset) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_points; i++) {
        const char *point = (const char *)&device->points[i];
        tide_json_integer(json, *(const int64_t *)(const void *)(point + offset));
    }
    tide_json_end_array(json);
}

static void write_timeline(tide_json_writer *json, const tide_digest_device *device) {
    int64_t begin_us = device->timeline_begin_unix_us;
    tide_json_key_integer(json, "beginUnixUs", begin_us > 0 ? begin_us : -1);
    write_column(json, "timeNs", device, offsetof(tide_digest_point, time_ns));
    write_column(json, "allocatedBytes", device, offsetof(tide_digest_point, allocated_bytes));
    write_column(json, "reservedOverTime", device, offsetof(tide_digest_point, reserved_bytes));
}

static tide_status write_devices(tide_json_writer *json, const tide_digest *digest) {
    size_t n_shown = 0, n_written = 0;
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < digest->n_devices; i++) {
        n_shown += is_shown(&digest->devices[i]);
    }
    tide_json_key(json, "devices");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->n_devices; i++) {
        const tide_digest_device *device = &digest->devices[i];
        if (is_shown(device)) {
            tide_json_begin_object(json);
            write_name(json, digest, device, n_written++, n_shown);
            write_figures(json, device);
            write_events(json, device);
            status = status == TIDE_OK ? write_explained(json, device) : status;
            write_rows(json, device);
            write_steps(json, device);
            write_timeline(json, device);
            tide_json_end_object(json);
        }
    }
    tide_json_end_array(json);
    return status;
}

static tide_status write_digest(void *ctx, const tide_digest *digest) {
    tide_json_writer *json = ctx;
    tide_json_begin_object(json);
    tide_json_key_integer(json, "rank", digest->rank.rank);
    tide_json_key_integer(json, "worldSize", digest->rank.world_size);
    tide_json_key_text(json, "node", either(digest->node, digest->host_name));
    tide_json_key_text(json, "file", digest->file);
    tide_json_key_text(json, "outcome", digest->outcome);
    write_groups(json, digest);
    write_settings(json, digest);
    tide_status status = write_devices(json, digest);
    tide_json_end_object(json);
    return status != TIDE_OK ? status : json->status;
}

bool tide_engine_ranks(tide_engine *engine) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    const tide_digests_sink sink = {write_digest, json};
    engine->name[sizeof(engine->name) - 1] = '\0';
    TIDE_ASSERT(engine->snapshot == NULL && engine->n_text == 0);
    if (json == NULL) {
        return tide_engine_end(engine, TIDE_NO_MEMORY);
    }
    tide_json_writer_init(json, tide_engine_add_text, engine);
    tide_json_begin_array(json);
    tide_status status = tide_digests_load(engine->name, mem, &sink, &engine->error);
    tide_json_end_array(json);
    tide_status written = tide_json_writer_finish(json);
    mem->release(mem->ctx, json);
    return tide_engine_end(engine, status != TIDE_OK ? status : written);
}
