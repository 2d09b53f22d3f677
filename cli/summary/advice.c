/* How to record the missing data of a file: each recorder has its own switches. */
#include <string.h>

#include "cli/summary/verdict.h"
#include "snapshot/document/implementation.h"

/* A model that tidemark itself ran; else a program that `tidemark run` recorded. */
static bool is_own_model(const tide_summary_view *of) {
    return strcmp(of->snapshot->run.implementation, TIDE_IMPLEMENTATION_OWN) == 0;
}

const char *tide_advice_older(const tide_summary_view *of) {
    bool is_of_pytorch = tide_summary_is_of_pytorch(of);
    if (of->is_cut) {
        return is_of_pytorch ? "keep more events by max_entries" : "record with a larger log";
    }
    return is_of_pytorch ? "start it before the model is built" : "record from the program's start";
}

const char *tide_advice_stacks(const tide_summary_view *of) {
    return tide_summary_is_of_pytorch(of) ? "record with stacks='all'"
           : is_own_model(of)             ? "record it with call stacks"
                                          : "record with --stacks both and without --every";
}
