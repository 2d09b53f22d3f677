#include "snapshot/format/writer_keys_internal.h"

#define OBJECT(object, type, place)                                                                \
    typedef type type_of_##object;                                                                 \
    static const tide_writable_key keys_of_##object[] = {
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {TIDE_KEY_VALUE(object, key, kind, member, presence), NULL},
#define WRITTEN(object, key, shape, meaning)                                                       \
    {TIDE_KEY_PART_OF(key, DERIVED), tide_write_##object##_##key},
#define END(object)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    const tide_writable tide_writable_##object = {                                                 \
        keys_of_##object, sizeof(keys_of_##object) / sizeof(keys_of_##object[0])};
#include "snapshot/format/summary.def"

void tide_write_summary_counts(const tide_writer *writer, const char *key, const void *device) {
    const tide_summary_device *of = device;
    tide_json_key(writer->json, key);
    tide_json_begin_object(writer->json);
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        tide_json_key_integer(writer->json, tide_action_name(i), of->counts[i]);
    }
    tide_json_end_object(writer->json);
}

void tide_write_summary_dropped(const tide_writer *writer, const char *key, const void *device) {
    (void)device;
    tide_json_key_integer(writer->json, key, (int64_t)writer->summary->n_dropped);
}

void tide_write_summary_peak(const tide_writer *writer, const char *key, const void *device) {
    tide_write_object(writer, key, &tide_writable_peak,
                      &((const tide_summary_device *)device)->peak);
}

void tide_write_summary_max(const tide_writer *writer, const char *key, const void *device) {
    tide_write_object(writer, key, &tide_writable_max, device);
}

void tide_write_summary_end(const tide_writer *writer, const char *key, const void *device) {
    tide_write_object(writer, key, &tide_writable_totals,
                      &((const tide_summary_device *)device)->end);
}

static void write_extreme(const tide_writer *writer, const char *key, const void *device,
                          int which) {
    tide_write_object(writer, key, &tide_writable_extreme,
                      &((const tide_summary_device *)device)->max[which]);
}

void tide_write_max_requested(const tide_writer *writer, const char *key, const void *device) {
    write_extreme(writer, key, device, TIDE_MAX_REQUESTED);
}

void tide_write_max_allocated(const tide_writer *writer, const char *key, const void *device) {
    write_extreme(writer, key, device, TIDE_MAX_ALLOCATED);
}

void tide_write_max_active(const tide_writer *writer, const char *key, const void *device) {
    write_extreme(writer, key, device, TIDE_MAX_ACTIVE);
}

void tide_write_max_reserved(const tide_writer *writer, const char *key, const void *device) {
    write_extreme(writer, key, device, TIDE_MAX_RESERVED);
}

void tide_write_peak_accounting(const tide_writer *writer, const char *key, const void *peak) {
    tide_write_object(writer, key, &tide_writable_accounting,
                      &((const tide_summary_peak *)peak)->account);
}

static void by_label(const tide_writer *writer, const char *key, const tide_split *split) {
    tide_json_key(writer->json, key);
    tide_json_begin_object(writer->json);
    for (size_t i = 0; i < split->n_shares; i++) {
        tide_write_object(writer, split->shares[i].label, &tide_writable_share, &split->shares[i]);
    }
    tide_json_end_object(writer->json);
}

/* `first`: the keys before the others of a share. */
static void in_a_list(const tide_writer *writer, const char *key, const tide_split *split,
                      const tide_writable *first) {
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < split->n_shares; i++) {
        tide_json_begin_object(writer->json);
        tide_write_members(writer, first, &split->shares[i]);
        tide_write_members(writer, &tide_writable_share, &split->shares[i]);
        tide_json_end_object(writer->json);
    }
    tide_json_end_array(writer->json);
}

void tide_write_peak_by_category(const tide_writer *writer, const char *key, const void *peak) {
    by_label(writer, key, &((const tide_summary_peak *)peak)->by_category);
}

void tide_write_peak_by_certainty(const tide_writer *writer, const char *key, const void *peak) {
    const tide_split *split = &((const tide_summary_peak *)peak)->by_certainty;
    if (split->n_shares > 0) {
        by_label(writer, key, split);
    }
}

void tide_write_peak_by_phase(const tide_writer *writer, const char *key, const void *peak) {
    in_a_list(writer, key, &((const tide_summary_peak *)peak)->by_phase, &tide_writable_path);
}

void tide_write_peak_by_scope(const tide_writer *writer, const char *key, const void *peak) {
    in_a_list(writer, key, &((const tide_summary_peak *)peak)->by_scope, &tide_writable_path);
}

void tide_write_peak_by_stack(const tide_writer *writer, const char *key, const void *peak) {
    in_a_list(writer, key, &((const tide_summary_peak *)peak)->by_stack, &tide_writable_stack);
}

void tide_write_stack_stack(const tide_writer *writer, const char *key, const void *share) {
    uint32_t stack = ((const tide_share *)share)->key;
    tide_json_key_integer(writer->json, key, stack == TIDE_NONE ? -1 : (int64_t)stack);
}

void tide_write_summary(const tide_writer *writer, const char *key) {
    const tide_summary *summary = writer->summary;
    const tide_row_list list = {summary->devices, summary->n_devices, sizeof(*summary->devices)};
    tide_write_rows(writer, key, &tide_writable_summary, list);
    tide_json_line(writer->json);
}
