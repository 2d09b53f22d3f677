#define _GNU_SOURCE /* ftruncate, mmap */
#include "virtual_cuda/calls.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/run_folder.h"

/* A piece of the file is mapped at a time. It is a multiple of a page, and of the rows after a
 * header that is as long as a row and a half is not: so the header takes the room of one row. */
#define ROWS_OF_PIECE 16384
#define PIECE_BYTES (ROWS_OF_PIECE * sizeof(tide_run_call))

_Static_assert(sizeof(tide_run_calls_header) == sizeof(tide_run_call), "pieces hold whole rows");
_Static_assert(PIECE_BYTES % 65536 == 0, "a piece is whole pages");

static int file = -1;
static bool has_failed;     /* or there is no folder */
static tide_run_call *rows; /* the piece that is mapped */
static size_t n_pieces, n_rows;

static bool next_piece(void) {
    off_t at = (off_t)(n_pieces * PIECE_BYTES);
    if (rows != NULL) {
        (void)munmap(rows, PIECE_BYTES);
        rows = NULL;
    }
    if (ftruncate(file, at + (off_t)PIECE_BYTES) != 0) {
        return false;
    }
    void *mapped = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
    if (mapped == MAP_FAILED) {
        return false;
    }
    rows = mapped;
    n_pieces++;
    n_rows = 0;
    return true;
}

static bool begin(void) {
    char name[32];
    (void)snprintf(name, sizeof(name), "%ld.calls", (long)getpid());
    file = tide_vc_run_open(name, O_RDWR | O_CREAT | O_TRUNC);
    if (file < 0 || !next_piece()) {
        return false;
    }
    tide_run_calls_header *header = (tide_run_calls_header *)(void *)rows;
    *header = (tide_run_calls_header){
        .magic = TIDE_RUN_CALLS_MAGIC, .header_bytes = sizeof(*header), .row_bytes = sizeof(*rows)};
    n_rows = 1;
    return true;
}

void tide_vc_call_add(tide_run_call call) {
    if (has_failed || !tide_vc_has_run_folder()) {
        return;
    }
    if (rows == NULL ? !begin() : n_rows == ROWS_OF_PIECE && !next_piece()) {
        has_failed = true;
        return;
    }
    uint32_t action = call.action;
    call.time_ns = (int64_t)tide_clock_now_ns();
    call.action = TIDE_RUN_NONE;
    rows[n_rows] = call;
    __atomic_store_n(&rows[n_rows].action, action, __ATOMIC_RELEASE);
    n_rows++;
}

void tide_vc_calls_forget(void) {
    if (rows != NULL) {
        (void)munmap(rows, PIECE_BYTES);
    }
    if (file >= 0) {
        (void)close(file);
    }
    rows = NULL;
    file = -1;
    n_pieces = 0;
}
