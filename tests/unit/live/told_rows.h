/* told_rows.h - stands in for the recording and the driver: reported rows go into an array, and the
 * driver gives the test's answers.
 */
#ifndef TIDE_TESTS_TOLD_ROWS_H
#define TIDE_TESTS_TOLD_ROWS_H

#include "programs/live/record.h"

enum { MAX_TOLD = 4096 };

extern struct told {
    bool is_open;
    unsigned n_before; /* calls of tide_live_before_call */
    size_t n;
    tide_live_driver_call rows[MAX_TOLD];
    char described[64][2][256]; /* key and text */
    size_t n_described;
    bool has_driver;
    size_t total_bytes, free_bytes; /* what the driver answers */
    int device;                     /* the current one */
    uint64_t pool_reserved, pool_used, graph_reserved;
    unsigned n_asked; /* for memory */
    int capture_mode; /* capture mode of the calling thread; 2 is relaxed */
    int mode_when_asked;
    void *context; /* the current one */
} told;

void told_clear(void);

/* The memory that the rows show as held on the device, or on the host if on_host. */
int64_t told_bytes(int device, bool on_host);

#endif
