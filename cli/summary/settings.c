#include "cli/summary/settings.h"

#include <string.h>

#include "common/text/bytes.h"
#include "common/text/text.h"

enum { TEXT_BYTES = 1024 };
#define MIB 1048576.0

typedef enum setting_kind { BYTES, NUMBER, SWITCH } setting_kind;

/* PyTorch's defaults. Other settings of a file are omitted, because they do not affect the
 * bytes. */
static const struct {
    const char *name;
    double number; /* -1: unlimited */
    setting_kind kind;
} DEFAULTS[] = {
    {"memory_limit", -1, BYTES},
    {"per_process_memory_fraction", 1, NUMBER},
    {"min_block_size", 512, BYTES},
    {"small_size", MIB, BYTES},
    {"small_buffer", 2 * MIB, BYTES},
    {"min_large_alloc", 10 * MIB, BYTES},
    {"large_segment_size", 20 * MIB, BYTES},
    {"round_large", 2 * MIB, BYTES},
    {"max_split_size", -1, BYTES},
    {"max_non_split_rounding", 20 * MIB, BYTES},
    {"garbage_collection_threshold", 0, NUMBER},
    {"expandable_segments", 0, SWITCH},
    {"roundup_power2_divisions", 0, NUMBER},
};

static void add_value(tide_text *to, const tide_snapshot_setting *setting, setting_kind kind) {
    char bytes[TIDE_BYTES_TEXT];
    if (setting->text != NULL) {
        tide_text_add(to, "%.400s", setting->text);
    } else if (kind == SWITCH) {
        tide_text_add(to, "%s", setting->number > 0 ? "True" : "False");
    } else if (kind == BYTES && setting->number < 0) {
        tide_text_add(to, "unlimited");
    } else if (kind == BYTES && setting->number < 0x1p62) {
        tide_text_add(to, "%s", tide_bytes_format((int64_t)setting->number, bytes));
    } else {
        tide_text_add(to, "%g", setting->number);
    }
}

void tide_summary_settings(tide_report *report, const tide_snapshot *snapshot) {
    char all[TEXT_BYTES];
    tide_text to = tide_text_in(all, sizeof(all));
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        const tide_snapshot_setting *setting = &snapshot->settings[i];
        for (size_t k = 0; k < sizeof(DEFAULTS) / sizeof(DEFAULTS[0]); k++) {
            if (strcmp(setting->name, DEFAULTS[k].name) == 0 &&
                (setting->text != NULL || setting->number != DEFAULTS[k].number)) {
                tide_text_add_item(&to, ", ", "%s ", setting->name);
                add_value(&to, setting, DEFAULTS[k].kind);
            }
        }
    }
    if (to.n_used > 0) {
        tide_report_say(report, "allocator", "allocator: %s", all);
    }
}
