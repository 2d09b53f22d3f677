/* statistics_text.h - what torch.cuda.memory_stats() and memory_summary() print, read out of a
 * text.
 */
#ifndef TIDE_SNAPSHOT_STATISTICS_TEXT_H
#define TIDE_SNAPSHOT_STATISTICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -1: the text does not say. */
typedef struct tide_statistics_text {
    size_t n_read; /* figures of a table or a dict: 0: the text has none */
    bool is_summary;
    int64_t device;
    int64_t n_ooms, n_retries;
    int64_t allocated_bytes, allocated_peak_bytes;
    int64_t reserved_bytes, reserved_peak_bytes;
    int64_t stuck_bytes; /* reserved and free, in segments that also hold blocks */
} tide_statistics_text;

void tide_statistics_text_init(tide_statistics_text *statistics);

/* Reads the next line; of several figures of one name the last one counts. */
void tide_statistics_text_line(tide_statistics_text *statistics, const char *line);

#ifdef __cplusplus
}
#endif

#endif
