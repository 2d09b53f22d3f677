/* fuzz_log.c - recovering any bytes as a log file yields a valid document or an error message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/recover.h"
#include "fuzz/fuzz.h"
#include "snapshot/summary.h"
#include "snapshot/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    char place[TIDE_PLACE_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_recover_report report;
    tide_error error = {""};
    const int file = memfd_create("log", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_status status = tide_recover(path, NULL, &snapshot, &report, &error);
    if (status == TIDE_OK) {
        if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
            abort();
        }
        status = tide_summary_create(snapshot, &summary, &error);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(snapshot);
    }
    if (status != TIDE_OK && error.message[0] == '\0') {
        abort();
    }
    (void)close(file);
    return 0;
}
