#include "cli/options/program_options.h"

#include <string.h>

#define CHOOSE(names, n, i) ((i) < (n) ? (names)[i] : NULL)

const char *tide_choice_values(size_t i) {
    static const char *const NAMES[] = {"auto", "zero"};
    return CHOOSE(NAMES, 2, i);
}

static const char *const STREAMS[] = {"now", "late", "both"};

const char *tide_choice_streams(size_t i) {
    return CHOOSE(STREAMS, 2, i);
}

const char *tide_choice_streams_or_both(size_t i) {
    return CHOOSE(STREAMS, 3, i);
}

const char *tide_choice_writes(size_t i) {
    static const char *const NAMES[] = {"scratch", "allow"};
    return CHOOSE(NAMES, 2, i);
}

tide_status tide_program_options_check(const tide_program_options *options, uint64_t n_steps,
                                       tide_error *error) {
    return n_steps > 0 && options->n_calls > 0
               ? tide_fail(error, TIDE_INVALID, "give --steps or --calls, not both")
               : TIDE_OK;
}

tide_status tide_program_options_refuse(const tide_option_table *table,
                                        const tide_operands *operands, tide_error *error) {
    static const char *const NAMES[] = {"calls", "values", "streams",    "writes",
                                        "time",  "host",   "host-factor"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (tide_options_is_given(table, operands, NAMES[i])) {
            return tide_fail(error, TIDE_INVALID,
                             "--%s needs a command after the options: python train.py%s", NAMES[i],
                             strcmp(NAMES[i], "time") == 0
                                 ? "; for tidemark's own model leave it out: on a virtual:CARD "
                                   "its steps are forecast without it"
                                 : "");
        }
    }
    return TIDE_OK;
}
