#include "cli/words/remedy_words.h"

#include "common/text/bytes.h"

void tide_remedy_words_add(const tide_remedy *remedy, bool has_failed, const char *variable,
                           tide_text *to) {
    char reserved[TIDE_BYTES_TEXT];
    char before[TIDE_BYTES_TEXT];
    if (remedy->settings[0] == '\0') {
        return;
    }
    (void)tide_bytes_format(remedy->reserved_bytes, reserved);
    if (has_failed) {
        tide_text_add(to,
                      "It would help to set %s%s: with it all recorded requests are served, in %s "
                      "of reserved memory (replayed; what the program requests after its failure "
                      "is not recorded: run it with the setting).",
                      variable, remedy->settings, reserved);
    } else {
        tide_text_add(to,
                      "To reserve less, set %s%s: %s of reserved memory instead of %s (both "
                      "replayed).",
                      variable, remedy->settings, reserved,
                      tide_bytes_format(remedy->recorded_bytes, before));
    }
}
