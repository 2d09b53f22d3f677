/* fuzz_live.c - reading any bytes as the log of a live recording yields a valid document or an
 * error message. Checksums are corrected first: a fuzzer does not guess them, and would never reach
 * the code after them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/files/checksum.h"
#include "fuzz/fuzz.h"
#include "programs/launch/document/document.h"
#include "recorder/log_format_friend.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"

static void repair_record(uint8_t *at, size_t n_left) {
    tide_log_record record;
    memcpy(&record, at, sizeof(record));
    if (record.mark == TIDE_LOG_RECORD_MARK && record.n_bytes <= n_left - sizeof(record)) {
        record.checksum = tide_crc32(0, &record.kind, sizeof(record.kind));
        record.checksum = tide_crc32(record.checksum, &record.n_bytes, sizeof(record.n_bytes));
        record.checksum = tide_crc32(record.checksum, at + sizeof(record), record.n_bytes);
        memcpy(at, &record, sizeof(record));
    }
}

static void repair(uint8_t *bytes, size_t n_bytes) {
    tide_log_layout layout;
    if (n_bytes < TIDE_LOG_HEADER_BYTES) {
        return;
    }
    for (size_t at = TIDE_LOG_HEADER_BYTES; at + sizeof(tide_log_record) <= n_bytes; at += 8) {
        repair_record(bytes + at, n_bytes - at);
    }
    memcpy(&layout, bytes, sizeof(layout));
    layout.checksum = tide_crc32(0, &layout, offsetof(tide_log_layout, checksum));
    memcpy(bytes, &layout, sizeof(layout));
}

static void read_log(const char *path) {
    char place[TIDE_PLACE_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_recover_report report;
    tide_error error = {""};
    tide_status status = tide_launch_recover(path, &snapshot, &report, &error);
    if (status == TIDE_OK) {
        if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
            (void)fprintf(stderr, "%s: %s\n", place, error.message);
            abort();
        }
        status = tide_summary_create(snapshot, &summary, &error);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(snapshot);
    }
    if (status != TIDE_OK && error.message[0] == '\0') {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    const int file = memfd_create("log", 0);
    uint8_t *bytes = malloc(n_bytes + 1);
    if (file < 0 || bytes == NULL) {
        abort();
    }
    memcpy(bytes, data, n_bytes);
    repair(bytes, n_bytes);
    if (write(file, bytes, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    read_log(path);
    free(bytes);
    (void)close(file);
    return 0;
}
