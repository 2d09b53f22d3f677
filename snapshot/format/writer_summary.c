#include "snapshot/format/writer_friend.h"

static void share_figures(tide_json_writer *json, const tide_share *share) {
    tide_json_key_integer(json, "bytes", share->bytes);
    tide_json_key_integer(json, "requested_bytes", share->requested_bytes);
    tide_json_key_integer(json, "count", share->n_blocks);
    tide_json_key_text(json, "largest", share->largest_name);
}

static void by_label(tide_json_writer *json, const char *key, const tide_split *split) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    for (size_t i = 0; i < split->n_shares; i++) {
        tide_json_key(json, split->shares[i].label);
        tide_json_begin_object(json);
        share_figures(json, &split->shares[i]);
        tide_json_end_object(json);
    }
    tide_json_end_object(json);
}

static void by_path(tide_json_writer *json, const char *key, const tide_split *split) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < split->n_shares; i++) {
        tide_json_begin_object(json);
        tide_json_key_text(json, "path", split->shares[i].label);
        share_figures(json, &split->shares[i]);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

static void by_stack(tide_json_writer *json, const tide_split *split) {
    tide_json_key(json, "by_stack");
    tide_json_begin_array(json);
    for (size_t i = 0; i < split->n_shares; i++) {
        uint32_t stack = split->shares[i].key;
        tide_json_begin_object(json);
        tide_json_key_integer(json, "stack", stack == TIDE_NONE ? -1 : (int64_t)stack);
        share_figures(json, &split->shares[i]);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

static void totals(tide_json_writer *json, const tide_totals *of) {
    tide_json_key_integer(json, "requested_bytes", of->requested_bytes);
    tide_json_key_integer(json, "allocated_bytes", of->allocated_bytes);
    tide_json_key_integer(json, "active_bytes", of->active_bytes);
    tide_json_key_integer(json, "reserved_bytes", of->reserved_bytes);
    tide_json_key_integer(json, "n_blocks", of->n_blocks);
    tide_json_key_integer(json, "n_segments", of->n_segments);
}

static void peak(tide_json_writer *json, const tide_summary_peak *of) {
    tide_json_key(json, "peak");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "event", of->event);
    tide_json_key_integer(json, "time", of->time_ns);
    tide_json_key_integer(json, "step", of->step);
    tide_json_key_text(json, "phase", of->phase);
    tide_json_key_text(json, "scope", of->scope_path);
    totals(json, &of->totals);
    tide_json_key(json, "accounting");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "requested_bytes", of->account.asked_bytes);
    tide_json_key_integer(json, "rounding_bytes", of->account.rounding_bytes);
    tide_json_key_integer(json, "unsplit_bytes", of->account.unsplit_bytes);
    tide_json_end_object(json);
    by_label(json, "by_category", &of->by_category);
    if (of->by_certainty.n_shares > 0) {
        by_label(json, "by_certainty", &of->by_certainty);
    }
    by_path(json, "by_phase", &of->by_phase);
    by_path(json, "by_scope", &of->by_scope);
    by_stack(json, &of->by_stack);
    tide_json_end_object(json);
}

static void device(tide_json_writer *json, const tide_summary_device *of, uint64_t n_dropped) {
    static const char *const MAX_KEYS[TIDE_N_MAX] = {"requested", "allocated", "active",
                                                     "reserved"};
    tide_json_begin_object(json);
    tide_json_key(json, "counts");
    tide_json_begin_object(json);
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        tide_json_key_integer(json, tide_action_name(i), of->counts[i]);
    }
    tide_json_end_object(json);
    tide_json_key_integer(json, "dropped", (int64_t)n_dropped);
    tide_json_key_integer(json, "unmatched", of->n_unmatched);
    peak(json, &of->peak);
    tide_json_key(json, "max");
    tide_json_begin_object(json);
    for (int i = 0; i < TIDE_N_MAX; i++) {
        tide_json_key(json, MAX_KEYS[i]);
        tide_json_begin_object(json);
        tide_json_key_integer(json, "bytes", of->max[i].bytes);
        tide_json_key_integer(json, "event", of->max[i].event);
        tide_json_end_object(json);
    }
    tide_json_end_object(json);
    tide_json_key(json, "end");
    tide_json_begin_object(json);
    totals(json, &of->end);
    tide_json_end_object(json);
    tide_json_end_object(json);
}

void tide_write_summary(tide_json_writer *json, const tide_summary *summary) {
    tide_json_key(json, "summary");
    tide_json_begin_array(json);
    for (size_t i = 0; i < summary->n_devices; i++) {
        device(json, &summary->devices[i], summary->n_dropped);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}
