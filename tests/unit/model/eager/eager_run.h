/* eager_run.h - shared by the tests of the forecast: an open forecast, its steps, and rows of the
 * page docs/model/pytorch-forecast.md.
 */
#ifndef TIDE_TESTS_UNIT_MODEL_EAGER_EAGER_RUN_H
#define TIDE_TESTS_UNIT_MODEL_EAGER_EAGER_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "model/eager/eager.h"

typedef struct eager_run {
    tide_device *device;
    tide_cache *cache;
    tide_eager *eager;
    tide_eager_config config;
} eager_run;

/* The forecast on a device of that name, set up; its capacity exceeds the needs of any model, to
 * learn the peak of runs that do not fit the card. */
eager_run eager_run_open(const char *device, const tide_eager_config *config);
/* Fails the test if memory is still alive. */
void eager_run_close(eager_run *r);
/* One step of the mode. */
void eager_run_step(eager_run *r, tide_mode mode);
/* A preset with naive attention and its graph kept. */
tide_eager_config eager_run_config(const char *size, size_t context, size_t batch,
                                   tide_precision precision, tide_edition edition);

/* The text of a page. The caller frees it. */
char *eager_page_read(const char *path);
/* Counts a row missing from the page, and prints the expected row. */
void eager_page_check_row(const char *page, const char *row, int *n_wrong);

#endif
