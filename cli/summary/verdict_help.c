/* Possible remedies: the recorded requests under other settings of the allocator. */
#include <string.h>

#include "cli/summary/verdict.h"
#include "cli/progress.h"
#include "cli/words/remedy_words.h"
#include "replay/remedy.h"
#include "snapshot/document/implementation.h"

enum { WORDS_BYTES = 512 };

static void show_progress(void *ctx, size_t n_done, size_t n_total) {
    tide_progress_update(ctx, n_done, n_total);
}

/* The variable that takes PyTorch's settings; "" for tidemark's own model, which has an option. */
static const char *variable_of(const tide_summary_view *of) {
    bool is_own = strcmp(of->snapshot->run.implementation, TIDE_IMPLEMENTATION_OWN) == 0;
    return is_own ? "" : "PYTORCH_CUDA_ALLOC_CONF=";
}

static void say(const tide_summary_view *of, const tide_remedy *remedy) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_remedy_words_add(remedy, of->device->n_oom > 0, variable_of(of), &text);
    if (text.n_used > 0) {
        tide_report_say(of->report, "help", "%s", words);
    }
}

tide_status tide_say_help(const tide_summary_view *of, const tide_verdict *verdict,
                          tide_error *error) {
    tide_progress line;
    const tide_replay_progress progress = {&line, show_progress};
    tide_remedy remedy;
    if (of->device->counts[TIDE_ACTION_ALLOC] == 0 ||
        !tide_causes_admit_setting(&verdict->facts, &verdict->causes)) {
        return TIDE_OK;
    }
    tide_progress_begin(&line, "replaying under other settings");
    tide_status status = tide_remedy_find(of->snapshot, of->device_number,
                                          verdict->facts.failure.event, &progress, &remedy, error);
    tide_progress_end(&line);
    if (status == TIDE_OK) {
        say(of, &remedy);
    } else if (status == TIDE_FORMAT || status == TIDE_UNSUPPORTED || status == TIDE_INVALID) {
        tide_report_say(of->report, "help",
                        "What would help is not known, because the recording cannot be replayed: "
                        "%s.",
                        error->message);
        *error = (tide_error){""};
        status = TIDE_OK;
    }
    return status;
}
