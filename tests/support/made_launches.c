#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "support/made_launches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

void made_launches_begin(made_launches *to, const char *card) {
    memset(to, 0, sizeof(*to));
    to->header = (tide_run_launches_header){.magic = TIDE_RUN_LAUNCHES_MAGIC,
                                            .header_bytes = sizeof(tide_run_launches_header),
                                            .row_bytes = sizeof(tide_run_launch)};
    (void)snprintf(to->header.card, sizeof(to->header.card), "%s", card);
}

void made_launches_add(made_launches *to, tide_run_launch row, int64_t us) {
    assert_true(to->n_rows < MADE_ROWS);
    row.host_ns = to->host_ns;
    to->rows[to->n_rows++] = row;
    to->host_ns += 1000 * us;
}

uint32_t made_launches_text(made_launches *to, const char *text) {
    size_t n = strlen(text);
    size_t n_rows = (n + sizeof(tide_run_launch) - 1) / sizeof(tide_run_launch);
    assert_true(to->n_rows + 1 + n_rows <= MADE_ROWS);
    to->rows[to->n_rows++] = (tide_run_launch){.kind = TIDE_RUN_TEXT, .bytes = n};
    memcpy(&to->rows[to->n_rows], text, n);
    to->n_rows += n_rows;
    return to->n_texts++;
}

void made_launches_mark(made_launches *to, const char *name) {
    uint32_t number = made_launches_text(to, name);
    made_launches_add(to, (tide_run_launch){.kind = TIDE_RUN_LAUNCH_MARK, .name = number}, 0);
}

tide_run_launch made_kernel(tide_run_family family, uint64_t n_bytes) {
    return (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                             .family = (uint8_t)family,
                             .bytes = n_bytes,
                             .elements = n_bytes / 8,
                             .name = UINT32_MAX};
}

tide_run_launch made_product(tide_run_type type, uint32_t m, uint32_t n, uint32_t k) {
    return (tide_run_launch){.kind = TIDE_RUN_PRODUCT,
                             .m = m,
                             .n = n,
                             .k = k,
                             .count = 1,
                             .type = (uint8_t)type,
                             .out_type = (uint8_t)type,
                             .flags = TIDE_RUN_TRANSPOSED_A,
                             .name = UINT32_MAX};
}

size_t made_launches_bytes(const made_launches *from) {
    return sizeof(from->header) + from->n_rows * sizeof(from->rows[0]);
}

tide_status made_launches_read_cut(const made_launches *from, size_t n_bytes,
                                   tide_time_log *ret_log, tide_error *error) {
    char path[] = "/tmp/tidemark-test-XXXXXX";
    int number = mkstemp(path);
    assert_true(number >= 0);
    FILE *file = fdopen(number, "wb");
    assert_non_null(file);
    size_t n_header = n_bytes < sizeof(from->header) ? n_bytes : sizeof(from->header);
    assert_int_equal(fwrite(&from->header, 1, n_header, file), n_header);
    assert_int_equal(fwrite(from->rows, 1, n_bytes - n_header, file), n_bytes - n_header);
    assert_int_equal(fclose(file), 0);
    tide_status status = tide_time_log_read(tide_hostmem_default(), path, ret_log, error);
    (void)unlink(path);
    return status;
}

tide_status made_launches_read(const made_launches *from, tide_time_log *ret_log,
                               tide_error *error) {
    return made_launches_read_cut(from, made_launches_bytes(from), ret_log, error);
}
