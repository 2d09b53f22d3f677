/* The part of `tidemark summary` about the owners of memory, as counted by the device's driver. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/summary/view.h"
#include "common/text/text.h"
#include "snapshot/document/owners.h"

enum { SENTENCE_BYTES = 1024, NUMBER_BYTES = 32 };

#define MIB (INT64_C(1) << 20)

/* To whole MiB, halves away from 0. */
static int64_t mib_of(int64_t n_bytes) {
    int64_t rest = n_bytes % MIB;
    return n_bytes / MIB + (rest >= MIB / 2) - (rest <= -MIB / 2);
}

/* "81,079" */
static const char *grouped(int64_t number, char text[NUMBER_BYTES]) {
    char digits[NUMBER_BYTES];
    size_t n_to = 0;
    size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, number);
    for (size_t i = 0; i < n; i++) {
        bool is_digit = digits[i] != '-';
        if (is_digit && i > 0 && digits[i - 1] != '-' && (n - i) % 3 == 0) {
            text[n_to++] = ',';
        }
        text[n_to++] = digits[i];
    }
    text[n_to] = '\0';
    return text;
}

/* The parts of a sum, in whole MiB that add up to the sum's: each is the difference that it makes
 * to the rounded sum of those before it. */
typedef struct sum_text {
    tide_text text;
    int64_t n_bytes; /* of the parts so far */
} sum_text;

static void add_part(sum_text *sum, const char *name, int64_t n_bytes) {
    char number[NUMBER_BYTES];
    int64_t before = mib_of(sum->n_bytes);
    sum->n_bytes += n_bytes;
    tide_text_add_item(&sum->text, " + ", "%.60s %s", name,
                       grouped(mib_of(sum->n_bytes) - before, number));
}

static bool is_others(const tide_snapshot_owner *owner) {
    return strcmp(owner->name, TIDE_OWNER_OTHERS) == 0;
}

static void add_owners(const tide_summary_view *of, sum_text *sum, bool others) {
    for (size_t i = 0; i < of->snapshot->n_owners; i++) {
        const tide_snapshot_owner *owner = &of->snapshot->owners[i];
        if (owner->device == of->device_number && is_others(owner) == others &&
            owner->peak_bytes > 0) {
            add_part(sum, owner->name, owner->peak_bytes);
        }
    }
}

static void say_peak(const tide_summary_view *of, const tide_snapshot_driver_account *account) {
    char parts[SENTENCE_BYTES];
    char number[NUMBER_BYTES];
    int64_t unexplained = 0;
    if (!tide_owners_unexplained(of->snapshot, of->device_number, &unexplained)) {
        return;
    }
    sum_text sum = {.text = tide_text_in(parts, sizeof(parts))};
    add_owners(of, &sum, false);
    if (account->context_bytes >= 0) {
        add_part(&sum, "context", account->context_bytes);
    }
    add_owners(of, &sum, true);
    add_part(&sum, account->context_bytes >= 0 ? "unexplained" : "context and unexplained",
             unexplained);
    tide_report_say(of->report, "driver", "in use on the device at its peak: %s MiB = %s",
                    grouped(mib_of(account->used_at_peak_bytes), number), parts);
}

static tide_cell known(int64_t n_bytes) {
    return n_bytes >= 0 ? tide_as_bytes(n_bytes) : tide_as_none();
}

static tide_table *open_table(const tide_summary_view *of) {
    tide_table *table = tide_report_table(of->report, "owners", "Whose memory the device holds");
    TIDE_COLUMNS(table, TIDE_TEXT("owner", "owner"),
                 TIDE_NUMBER("peak_bytes", "at the device's peak"),
                 TIDE_NUMBER("end_bytes", "at the end"), TIDE_NUMBER("allocations", "allocations"));
    return table;
}

static void owner_rows(const tide_summary_view *of, tide_table *table) {
    for (size_t i = 0; i < of->snapshot->n_owners; i++) {
        const tide_snapshot_owner *owner = &of->snapshot->owners[i];
        if (owner->device == of->device_number) {
            TIDE_ROW(
                table, tide_as_text(owner->name), known(owner->peak_bytes), known(owner->end_bytes),
                owner->n_allocations >= 0 ? tide_as_count(owner->n_allocations) : tide_as_none());
        }
    }
}

static void account_rows(const tide_summary_view *of, tide_table *table,
                         const tide_snapshot_driver_account *account) {
    int64_t unexplained = 0;
    if (account->context_bytes >= 0) {
        TIDE_ROW(table, tide_as_text("context"), tide_as_bytes(account->context_bytes),
                 tide_as_none(), tide_as_none());
    }
    if (tide_owners_unexplained(of->snapshot, of->device_number, &unexplained)) {
        TIDE_ROW(table, tide_as_text("unexplained"),
                 unexplained >= 0 ? tide_as_bytes(unexplained) : tide_as_change(unexplained),
                 tide_as_none(), tide_as_none());
    }
    TIDE_ROW(table, tide_as_text("in use"), known(account->used_at_peak_bytes),
             known(account->used_at_end_bytes), tide_as_none());
}

static bool has_owners(const tide_summary_view *of) {
    for (size_t i = 0; i < of->snapshot->n_owners; i++) {
        if (of->snapshot->owners[i].device == of->device_number) {
            return true;
        }
    }
    return false;
}

void tide_summary_owners(const tide_summary_view *of) {
    const tide_snapshot_driver_account *account =
        tide_owners_account(of->snapshot, of->device_number);
    if (account == NULL && !has_owners(of)) {
        return;
    }
    if (account != NULL) {
        say_peak(of, account);
    }
    tide_table *table = open_table(of);
    owner_rows(of, table);
    if (account == NULL) {
        return;
    }
    account_rows(of, table, account);
    tide_report_figure_bytes(of->report, "driver_total_bytes", account->total_bytes);
    tide_report_figure_bytes(of->report, "driver_start_bytes", account->used_at_start_bytes);
    tide_report_figure_bytes(of->report, "driver_peak_bytes", account->used_at_peak_bytes);
    tide_report_figure_bytes(of->report, "driver_end_bytes", account->used_at_end_bytes);
    tide_report_figure_bytes(of->report, "context_bytes", account->context_bytes);
}
