/* The part of `tidemark summary` that accounts for every reserved byte. */
#include <stdbool.h>
#include <string.h>

#include "cli/summary/view.h"

/* `n_reserved` is -1 if it is not a part of them. */
static void line(tide_table *table, const char *name, int64_t n_bytes, int64_t n_reserved,
                 const char *meaning) {
    TIDE_ROW(table, tide_as_text(name), tide_as_bytes(n_bytes),
             n_reserved > 0 ? tide_as_share((double)n_bytes, (double)n_reserved) : tide_as_none(),
             tide_as_text(meaning));
}

/* With a limit on reserved bytes, free bytes count up to the limit, not up to the card's memory. */
static bool has_limit(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        const tide_snapshot_setting *setting = &snapshot->settings[i];
        if (strcmp(setting->name, "memory_limit") == 0 && setting->text == NULL &&
            setting->number >= 0.0) {
            return true;
        }
    }
    return snapshot->run.memory_limit_bytes >= 0;
}

/* The bytes that the driver counts in addition to the allocator's segments. They are known from a
 * failed allocation, whose row holds the device's free bytes. -1: unknown; the cpu has no driver
 * that counts. */
static int64_t outside_bytes(const tide_summary_view *of) {
    const tide_summary_device *device = of->device;
    int64_t total = of->snapshot->devices[of->device_number].total_bytes;
    bool is_cpu = strcmp(of->snapshot->devices[of->device_number].kind, "cpu") == 0;
    if (device->n_oom == 0 || device->oom_free_bytes < 0 || total < 0 || is_cpu ||
        has_limit(of->snapshot)) {
        return -1;
    }
    tide_totals then;
    const tide_instant at = {of->device_number, device->oom_event};
    tide_lifetimes_reserved_at(of->snapshot, &at, &then);
    if (device->oom_free_bytes > total || then.reserved_bytes > total - device->oom_free_bytes) {
        return -1;
    }
    return total - device->oom_free_bytes - then.reserved_bytes;
}

void tide_summary_account(const tide_summary_view *of) {
    const tide_account *account = &of->device->peak.account;
    int64_t all = account->reserved_bytes;
    tide_table *table = tide_summary_table(of, "account", "Where the reserved bytes are", "");
    TIDE_COLUMNS(table, TIDE_TEXT("line", "bytes"), TIDE_NUMBER("bytes", "reserved"),
                 TIDE_NUMBER("share_percent", "share"), TIDE_TEXT("meaning", "what they are"));
    line(table, "requested", account->asked_bytes, all, "what the program asked for");
    line(table, "rounding", account->rounding_bytes, all, "up to multiples of 512");
    line(table, "unsplit tails", account->unsplit_bytes, all, "too small a rest to be cut off");
    line(table, "pending", account->pending_bytes, all,
         "freed, but another stream still uses them");
    line(table, "cached, splittable", account->splittable_bytes, all,
         "free, in segments that blocks hold");
    line(table, "cached, releasable", account->releasable_bytes, all,
         "free, and the device's again if the cache is emptied");
    if (account->unexplained_bytes != 0) {
        TIDE_ROW(table, tide_as_text("unexplained"), tide_as_count(account->unexplained_bytes),
                 tide_as_percent(100.0 * (double)account->unexplained_bytes /
                                 (double)(all > 0 ? all : 1)),
                 tide_as_text("bytes by which the recording contradicts itself: it lacks rows"));
    }
    line(table, "reserved", all, all, "the sum: bought from the device");
    int64_t outside = outside_bytes(of);
    if (outside >= 0) {
        line(table, "outside", outside, -1,
             "context, libraries, other programs: seen as memory ran out");
        line(table, "in use", all + outside, -1, "as the driver reports it");
    }
}
