#include "cli/words/recovery_words.h"

#include <inttypes.h>

#include "cli/cli.h"

static void say(const char *command, uint64_t n, const char *one, const char *many) {
    if (n > 0) {
        tide_cli_note(command, "%" PRIu64 " %s", n, n == 1 ? one : many);
    }
}

void tide_cli_tell_recovery(const char *command, const tide_recover_report *report) {
    if (report->is_live) {
        tide_cli_note(command, "process %" PRIu64 " still writes the log: this is how it stood",
                      report->process_id);
    }
    say(command, report->n_counters_damaged,
        "counter of the log is damaged: how much was lost is not known, and what is reported of it "
        "is "
        "the least that it can be",
        "counters of the log are damaged: how much was lost is not known, and what is reported of "
        "it "
        "is the least that it can be");
    say(command, report->n_dropped, "event was dropped: the log was full",
        "events were dropped: the log was full");
    say(command, report->n_missing,
        "event is missing: the file ends too early, or its row is empty",
        "events are missing: the file ends too early, or their rows are empty");
    say(command, report->n_damaged, "row is damaged and left out", "rows are damaged and left out");
    say(command, report->n_unfit, "row or block contradicts the others and is left out",
        "rows or blocks contradict the others and are left out");
    say(command, report->n_unpaired, "event is left out: recording was paused before it",
        "events are left out: recording was paused before them");
    say(command, report->n_base_missing,
        "block or segment that was alive before the first event is missing",
        "blocks or segments that were alive before the first event are missing");
    say(command, report->n_scopes_refused, "scope was not recorded: the table was full",
        "scopes were not recorded: the table was full");
    say(command, report->n_scopes_missing, "scope is missing: the file ends too early",
        "scopes are missing: the file ends too early");
    say(command, report->n_scopes_damaged, "scope was damaged", "scopes were damaged");
    say(command, report->n_records_refused,
        "call stack, name or text was not recorded: the journal was full",
        "call stacks, names or texts were not recorded: the journal was full");
    say(command, report->n_records_damaged,
        "place of the journal is damaged: what stood there is left out",
        "places of the journal are damaged: what stood there is left out");
    say(command, report->journal_missing_bytes,
        "byte of the journal is missing: the file ends too early",
        "bytes of the journal are missing: the file ends too early");
    say(command, report->n_references_lost,
        "row names a call stack, scope, name or stream that is not there",
        "rows name call stacks, scopes, names or streams that are not there");
    say(command, report->n_modules_absent,
        "program or library of the call stacks is not here any more, or another one: its functions "
        "have no names",
        "programs or libraries of the call stacks are not here any more, or others: their "
        "functions have no names");
}
