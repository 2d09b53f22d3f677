/* The functions of NVIDIA's libraries that the virtual card for programs supports. */
#include <string.h>

#include "cli/devices/internal.h"
#include "programs/virtual_cuda/libraries/list.h"

/* What happens to a call: the kinds in the order of the sentence below. */
typedef enum how { SIMULATED, HARMLESS, REFUSED, LEFT_TO_REAL, NOT_SERVED, N_HOWS } how;

static const char *const HOW[] = {"simulated", "harmless", "refused", "left to the real library",
                                  "not served"};

static how how_of(const tide_vc_function *function) {
    return (function->effects & TIDE_VC_REFUSED) != 0        ? REFUSED
           : (function->effects & TIDE_VC_NOT_SERVED) != 0   ? NOT_SERVED
           : (function->effects & TIDE_VC_LEFT_TO_REAL) != 0 ? LEFT_TO_REAL
           : (function->effects & TIDE_VC_SIMULATED) != 0    ? SIMULATED
                                                             : HARMLESS;
}

static const char *detail_of(const tide_vc_function *function) {
    return function->why != NULL                        ? function->why
           : (function->effects & TIDE_VC_INEXACT) != 0 ? "the size of a work area is not exact"
                                                        : NULL;
}

/* A row for each library, whose functions follow each other in the list. */
static void add_libraries(tide_report *report, const tide_vc_function *functions, size_t n) {
    tide_table *table =
        tide_report_table(report, "function_counts", "how many of each library's functions");
    TIDE_COLUMNS(table, TIDE_TEXT("library", "library"), TIDE_NUMBER("declared", "declared"),
                 TIDE_NUMBER("served", "served"), TIDE_NUMBER("refused", "refused"),
                 TIDE_NUMBER("real", "left to the real library"),
                 TIDE_NUMBER("not_served", "not served"));
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        int64_t counts[N_HOWS] = {0};
        for (; end < n && strcmp(functions[end].library, functions[begin].library) == 0; end++) {
            counts[how_of(&functions[end])]++;
        }
        TIDE_ROW(
            table, tide_as_text(functions[begin].library), tide_as_count((int64_t)(end - begin)),
            tide_as_count(counts[SIMULATED] + counts[HARMLESS]), tide_as_count(counts[REFUSED]),
            tide_as_count(counts[LEFT_TO_REAL]), tide_as_count(counts[NOT_SERVED]));
    }
}

void tide_devices_add_functions(tide_report *report) {
    size_t n = 0;
    int64_t counts[N_HOWS] = {0};
    const tide_vc_function *functions = tide_vc_functions(&n);
    tide_table *table = tide_report_table(
        report, "functions", "functions of NVIDIA's libraries on the virtual card for programs");
    TIDE_COLUMNS(table, TIDE_TEXT("library", "library"), TIDE_TEXT("function", "function"),
                 TIDE_TEXT("how", "how"), TIDE_TEXT("error", "error"),
                 TIDE_TEXT("detail", "what is refused or not exact"));
    for (size_t i = 0; i < n; i++) {
        how kind = how_of(&functions[i]);
        counts[kind]++;
        TIDE_ROW(table, tide_as_text(functions[i].library), tide_as_text(functions[i].name),
                 tide_as_text(HOW[kind]), tide_as_words(tide_vc_error_name(&functions[i])),
                 tide_as_words(detail_of(&functions[i])));
    }
    tide_report_figure_count(report, "functions", (int64_t)n);
    tide_report_figure_count(report, "simulated_functions", counts[SIMULATED]);
    tide_report_figure_count(report, "harmless_functions", counts[HARMLESS]);
    tide_report_figure_count(report, "refused_functions", counts[REFUSED]);
    tide_report_figure_count(report, "real_functions", counts[LEFT_TO_REAL]);
    tide_report_figure_count(report, "unserved_functions", counts[NOT_SERVED]);
    tide_report_say(report, "functions",
                    "Of %lld functions %lld are simulated, %lld have no output, %lld are refused "
                    "with the library's own error, %lld are left to the real library, and %lld are "
                    "not served: a call of them fails in the same way.",
                    (long long)n, (long long)counts[SIMULATED], (long long)counts[HARMLESS],
                    (long long)counts[REFUSED], (long long)counts[LEFT_TO_REAL],
                    (long long)counts[NOT_SERVED]);
    add_libraries(report, functions, n);
}
