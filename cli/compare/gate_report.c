/* The conditions of --fail-if: as a table, and as lines for the log of a script. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/compare/internal.h"
#include "report/harmless.h"

static tide_cell as_figure(const tide_gate *gate, double figure) {
    if (figure < 0.0) {
        return tide_as_none();
    }
    return gate->unit == TIDE_GATE_MS      ? tide_as_ms(figure)
           : gate->unit == TIDE_GATE_BYTES ? tide_as_bytes((int64_t)figure)
                                           : tide_as_count((int64_t)figure);
}

void tide_compare_report_gates(tide_report *report, const tide_compare *compare,
                               const tide_compare_gates *gates) {
    static const char *const VERDICTS[] = {"passes", "fails", "cannot be judged"};
    static const char *const UNITS[] = {"bytes", "ms", "count"};
    if (gates->n == 0) {
        return;
    }
    tide_table *table = tide_report_table(report, "fail_if", "Conditions to fail by");
    TIDE_COLUMNS(table, TIDE_TEXT("condition", "condition"), TIDE_TEXT("run", "run"),
                 TIDE_NUMBER("figure", "figure"), TIDE_NUMBER("base", "base"),
                 TIDE_NUMBER("limit", "limit"), TIDE_TEXT("unit", "unit"),
                 TIDE_TEXT("verdict", "verdict"));
    for (size_t i = 0; i < gates->n; i++) {
        for (size_t run = 1; run < compare->n_runs; run++) {
            const tide_gate *gate = &gates->gates[i];
            tide_gate_result result = tide_gate_judge(gate, compare, run);
            TIDE_ROW(table, tide_as_text(gate->text), tide_as_text(compare->runs[run].name),
                     as_figure(gate, result.figure), as_figure(gate, result.base),
                     as_figure(gate, result.limit), tide_as_text(UNITS[gate->unit]),
                     tide_as_text(VERDICTS[result.verdict]));
        }
    }
}

int tide_compare_say_gates(const tide_compare *compare, const tide_compare_gates *gates) {
    bool any_holds = false;
    bool any_unknown = false;
    char words[TIDE_GATE_WORDS_BYTES];
    (void)fflush(stdout); /* print the report before its verdict; tide_cli_finish detects errors */
    for (size_t i = 0; i < gates->n; i++) {
        for (size_t run = 1; run < compare->n_runs; run++) {
            tide_gate_result result = tide_gate_judge(&gates->gates[i], compare, run);
            any_holds = any_holds || result.verdict == TIDE_GATE_HOLDS;
            any_unknown = any_unknown || result.verdict == TIDE_GATE_UNKNOWN;
            if (result.verdict != TIDE_GATE_PASSES) {
                tide_text_harmless(result.words, words, sizeof(words));
                tide_cli_note("compare", "--fail-if '%s': %s", gates->gates[i].text, words);
            }
        }
    }
    return any_holds ? TIDE_EXIT_GATE : any_unknown ? TIDE_EXIT_FAILURE : TIDE_EXIT_SUCCESS;
}
