/* test_eager_launches.c - the launches that model/eager forecasts for a step, compared with those
 * of PyTorch 2.14.1 on a virtual card: kernels by family, bytes and elements, products by shapes,
 * types and layouts, in order. tests/pytorch/time/eager_launches.py made the lists; the first line
 * of each has precision, vocabulary, d_model, d_ff, layers, heads, context and batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/wire/launch_list.h"
#include "unit/model/recorded_run.h"

enum { LINE_BYTES = 160, PATH_BYTES = 512 };

static void say(const tide_run_launch *row, char line[LINE_BYTES]) {
    static const char *const FAMILIES[] = {
        "other", "vectorised", "casting", "strided", "reduction",    "softmax", "norm",
        "loss",  "dropout",    "gather",  "scatter", "multi-tensor", "sort"};
    static const char *const TYPES[] = {"fp32", "tf32", "bf16", "fp16"};
    switch (row->kind) {
    case TIDE_RUN_PRODUCT:
        (void)snprintf(line, LINE_BYTES, "product %u %u %u %u %s %s %u\n", row->m, row->n, row->k,
                       row->count, TYPES[row->type], TYPES[row->out_type], row->flags);
        return;
    case TIDE_RUN_COPY:
    case TIDE_RUN_FILL:
        (void)snprintf(line, LINE_BYTES, "%s %zu\n", row->kind == TIDE_RUN_COPY ? "copy" : "fill",
                       (size_t)row->bytes);
        return;
    default:
        assert_int_equal(row->kind, TIDE_RUN_KERNEL);
        (void)snprintf(line, LINE_BYTES, "kernel %s %zu %zu\n", FAMILIES[row->family],
                       (size_t)row->bytes, (size_t)row->elements);
    }
}

static tide_workload_config read_config(FILE *file) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    tide_model_config *m = &config.model;
    char precision[32];
    assert_int_equal(fscanf(file, "%31s %zu %zu %zu %zu %zu %zu %zu\n", precision, &m->vocab_size,
                            &m->d_model, &m->d_ff, &m->n_layers, &m->n_heads, &m->context_length,
                            &m->batch_size),
                     8);
    (void)snprintf(m->size, sizeof(m->size), "custom");
    config.precision = (tide_precision)tide_precision_from_name(precision);
    config.emulate = TIDE_EMULATE_PYTORCH;
    config.edition = TIDE_EDITION_2026;
    config.attention = TIDE_ATTENTION_NAIVE;
    config.mode = TIDE_TRAIN;
    config.warmup_steps = 0;
    config.steps = 2;
    return config;
}

static bool is_mark(const tide_launch_list *list, size_t i, const char *name) {
    return list->rows[i].kind == TIDE_RUN_LAUNCH_MARK &&
           strcmp(tide_strings_text(&list->texts, list->rows[i].name), name) == 0;
}

static void expect_same(const tide_launch_list *list, FILE *file, const char *name) {
    char expected[LINE_BYTES];
    char line[LINE_BYTES];
    size_t n_steps = 0;
    size_t n_compared = 0;
    for (size_t i = 0; i < list->n_rows; i++) {
        n_steps += is_mark(list, i, "step begins");
        if (n_steps != 2 || list->rows[i].kind == TIDE_RUN_LAUNCH_MARK) {
            continue;
        }
        say(&list->rows[i], line);
        assert_non_null(fgets(expected, sizeof(expected), file));
        if (strcmp(line, expected) != 0) {
            fail_msg("%s, launch %zu: PyTorch has %sours is %s", name, n_compared, expected, line);
        }
        n_compared++;
    }
    assert_null(fgets(expected, sizeof(expected), file));
    assert_true(n_compared > 400);
}

static void compare(const char *name) {
    char path[PATH_BYTES];
    recorded_run run;
    tide_launch_list list;
    (void)snprintf(path, sizeof(path), "%s/%s.txt", TIDE_LISTS, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    tide_workload_config config = read_config(file);
    tide_launch_list_init(&list, tide_hostmem_default());
    config.launches = &list;
    recorded_run_start(&run, "virtual:h100-80", &config, TIDE_UNLIMITED, TIDE_OK);
    recorded_run_end(&run);
    expect_same(&list, file, name);
    tide_launch_list_fini(&list);
    assert_int_equal(fclose(file), 0);
}

static void fp32(void **state) {
    (void)state;
    compare("fp32");
    compare("fp32-small");
}

/* The long list has sums over several blocks, whose counters are cleared first. */
static void bf16_mixed(void **state) {
    (void)state;
    compare("bf16-mixed");
    compare("bf16-mixed-long");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fp32), cmocka_unit_test(bf16_mixed)};
    return cmocka_run_group_tests_name("model.eager_launches", tests, NULL, NULL);
}
