/* test_config.c - presets, parameter counts, names, limits and the messages of bad configurations,
 * and the table of parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/hostmem.h"
#include "model/config.h"
#include "model/layers/parameters.h"

static tide_model_config preset(const char *size) {
    tide_model_config config;
    assert_int_equal(tide_model_config_preset(size, &config, NULL), TIDE_OK);
    return config;
}

/* Without its head a model has one matrix (V, C) less, and its name says so. */
static void expect_head(const tide_model_config *config) {
    tide_model_config base = *config;
    size_t VC = config->vocab_size * config->d_model;
    size_t R = config->batch_size * config->context_length;
    base.no_head = true;
    tide_model_config_name(&base, base.size);
    assert_int_equal(strncmp(base.size, config->size, strlen(config->size)), 0);
    assert_string_equal(base.size + strlen(config->size), "-no-head");
    assert_int_equal(tide_model_config_check(&base, NULL), TIDE_OK);
    assert_true(tide_model_n_parameters(&base) == tide_model_n_parameters(config) - VC);
    assert_int_equal(tide_model_n_component_parameters(&base, TIDE_COMPONENT_HEAD), 0);
    assert_int_equal(tide_model_n_tensors(&base), tide_model_n_tensors(config) - 1);
    assert_true(tide_model_forward_flops(config) - tide_model_forward_flops(&base) ==
                2.0 * (double)R * (double)VC);
    tide_model_config_name(&base, "a-name-as-long-as-it-may-be----");
    assert_string_equal(base.size, "a-name-as-long-as-it-ma-no-head");
}

static void presets_have_their_parameter_counts(void **state) {
    (void)state;
    static const struct {
        const char *size;
        size_t d_model, d_ff, n_layers, n_heads;
        uint64_t per_block, total;
        size_t n_tensors;
    } SIZES[] = {
        {"small", 768, 3072, 12, 12, 9438720, 128625408, 111},
        {"medium", 1024, 4096, 24, 16, 16779264, 423183360, 219},
        {"large", 1280, 5120, 36, 20, 26216960, 969411840, 327},
        {"xl", 1600, 6400, 48, 25, 40963200, 1998235200, 435},
        {"2.7B", 2560, 10240, 32, 32, 104862720, 3406809600, 291},
        {"10B", 4608, 12288, 50, 36, 254813184, 12832823808, 453},
    };
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        assert_string_equal(tide_model_preset_name(i), SIZES[i].size);
        tide_model_config config = preset(SIZES[i].size);
        assert_string_equal(config.size, SIZES[i].size);
        assert_int_equal(config.d_model, SIZES[i].d_model);
        assert_int_equal(config.d_ff, SIZES[i].d_ff);
        assert_int_equal(config.n_layers, SIZES[i].n_layers);
        assert_int_equal(config.n_heads, SIZES[i].n_heads);
        assert_int_equal(config.vocab_size, 10000);
        assert_int_equal(config.batch_size, 4);
        assert_int_equal(config.context_length, 128);
        assert_int_equal(tide_model_config_check(&config, NULL), TIDE_OK);
        assert_true(tide_model_n_parameters(&config) == SIZES[i].total);
        assert_int_equal(tide_model_n_tensors(&config), SIZES[i].n_tensors);
        expect_head(&config);
        config.n_layers++;
        assert_true(tide_model_n_parameters(&config) == SIZES[i].total + SIZES[i].per_block);
    }
    assert_null(tide_model_preset_name(6));
}

/* The part of the model that a parameter of the table belongs to, by its name. */
static tide_model_component component_of(const char *name) {
    static const struct {
        const char *part;
        tide_model_component component;
    } PARTS[] = {{"token_embeddings", TIDE_COMPONENT_EMBEDDING},
                 {"_proj", TIDE_COMPONENT_ATTENTION},
                 {"ffn", TIDE_COMPONENT_FFN},
                 {"ln", TIDE_COMPONENT_NORMS},
                 {"lm_head", TIDE_COMPONENT_HEAD}};
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strstr(name, PARTS[i].part) != NULL) {
            return PARTS[i].component;
        }
    }
    return TIDE_N_COMPONENTS;
}

static void the_table_sums_to_the_counts(void **state) {
    (void)state;
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t s = 0; tide_model_preset_name(s) != NULL; s++) {
        tide_model_config config = preset(tide_model_preset_name(s));
        tide_parameter *parameters = NULL;
        assert_int_equal(tide_parameters_create(mem, &config, &parameters, NULL), TIDE_OK);
        uint64_t total = 0;
        uint64_t of_component[TIDE_N_COMPONENTS + 1] = {0};
        for (size_t i = 0; i < tide_model_n_tensors(&config); i++) {
            assert_true(parameters[i].n_elements ==
                        parameters[i].shape[0] * parameters[i].shape[1]);
            total += parameters[i].n_elements;
            of_component[component_of(parameters[i].name)] += parameters[i].n_elements;
        }
        assert_true(total == tide_model_n_parameters(&config));
        assert_true(of_component[TIDE_N_COMPONENTS] == 0);
        for (int i = 0; i < TIDE_N_COMPONENTS; i++) {
            assert_true(of_component[i] ==
                        tide_model_n_component_parameters(&config, (tide_model_component)i));
        }
        mem->release(mem->ctx, parameters);
    }
}

static void parameters_are_named_and_shaped(void **state) {
    (void)state;
    static const struct {
        size_t i;
        const char *name;
        size_t n_dims, rows, columns;
    } ROWS[] = {
        {0, "token_embeddings.weight", 2, 10000, 768},
        {1, "layers.0.attn.q_proj.weight", 2, 768, 768},
        {2, "layers.0.attn.k_proj.weight", 2, 768, 768},
        {3, "layers.0.attn.v_proj.weight", 2, 768, 768},
        {4, "layers.0.attn.output_proj.weight", 2, 768, 768},
        {5, "layers.0.ffn.w1.weight", 2, 3072, 768},
        {6, "layers.0.ffn.w2.weight", 2, 768, 3072},
        {7, "layers.0.ffn.w3.weight", 2, 3072, 768},
        {8, "layers.0.ln1.weight", 1, 768, 1},
        {9, "layers.0.ln2.weight", 1, 768, 1},
        {10, "layers.1.attn.q_proj.weight", 2, 768, 768},
        {108, "layers.11.ln2.weight", 1, 768, 1},
        {109, "ln_final.weight", 1, 768, 1},
        {110, "lm_head.weight", 2, 10000, 768},
    };
    const tide_hostmem *mem = tide_hostmem_default();
    tide_model_config config = preset("small");
    tide_parameter *parameters = NULL;
    assert_int_equal(tide_parameters_create(mem, &config, &parameters, NULL), TIDE_OK);
    for (size_t r = 0; r < sizeof(ROWS) / sizeof(ROWS[0]); r++) {
        const tide_parameter *parameter = &parameters[ROWS[r].i];
        assert_string_equal(parameter->name, ROWS[r].name);
        assert_int_equal(parameter->n_dims, ROWS[r].n_dims);
        assert_int_equal(parameter->shape[0], ROWS[r].rows);
        assert_int_equal(parameter->shape[1], ROWS[r].columns);
    }
    /* sigma: 1, sqrt(2 / (768 + 768)), sqrt(2 / (768 + 3072)), ones, sqrt(2 / (768 + 10000)). */
    assert_true(parameters[0].sigma == 1);
    assert_true(parameters[1].sigma * parameters[1].sigma * 768 - 1 < 1e-12);
    assert_true(1 - parameters[1].sigma * parameters[1].sigma * 768 < 1e-12);
    assert_true(parameters[6].sigma * parameters[6].sigma * 1920 - 1 < 1e-12);
    assert_true(1 - parameters[6].sigma * parameters[6].sigma * 1920 < 1e-12);
    assert_true(parameters[109].sigma == 0);
    assert_true(parameters[110].sigma * parameters[110].sigma * 5384 - 1 < 1e-12);
    mem->release(mem->ctx, parameters);
}

static void names_go_both_ways(void **state) {
    (void)state;
    assert_string_equal(tide_mode_name(TIDE_FORWARD_BACKWARD), "forward-backward");
    assert_string_equal(tide_precision_name(TIDE_PRECISION_BF16_TRUE), "bf16-true");
    assert_string_equal(tide_attention_name(TIDE_ATTENTION_NAIVE), "naive");
    assert_string_equal(tide_recompute_name(TIDE_RECOMPUTE_BLOCK), "block");
    assert_string_equal(tide_mode_name(3), "?");
    assert_string_equal(tide_mode_name(-1), "?");
    assert_int_equal(tide_mode_from_name("train"), TIDE_TRAIN);
    assert_int_equal(tide_precision_from_name("bf16"), TIDE_PRECISION_BF16_MIXED);
    assert_int_equal(tide_precision_from_name("fp16"), TIDE_PRECISION_FP16_MIXED);
    assert_int_equal(tide_precision_from_name("fp16-mixed"), TIDE_PRECISION_FP16_MIXED);
    assert_int_equal(tide_precision_from_name("tf32"), TIDE_PRECISION_TF32);
    assert_int_equal(tide_attention_from_name("flash"), TIDE_ATTENTION_FLASH);
    assert_int_equal(tide_recompute_from_name("none"), TIDE_RECOMPUTE_NONE);
    assert_int_equal(tide_precision_from_name("fp8"), -1);
    assert_int_equal(tide_mode_from_name(NULL), -1);
}

static void unknown_sizes_are_refused_with_the_list(void **state) {
    (void)state;
    tide_model_config config;
    tide_error error = {""};
    assert_int_equal(tide_model_config_preset("huge", &config, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "huge"));
    assert_non_null(strstr(error.message, "small, medium, large, xl, 2.7B, 10B"));
    assert_int_equal(tide_model_config_preset(NULL, &config, &error), TIDE_INVALID);
}

/* One invalid field of the small preset, and the words that the message must contain. */
typedef struct bad_case {
    size_t offset; /* of the field */
    size_t value;
    tide_status status;
    const char *text;
} bad_case;

static void bad_configurations_are_refused(void **state) {
    (void)state;
    static const bad_case CASES[] = {
        {offsetof(tide_model_config, context_length), 0, TIDE_INVALID, "context is 0"},
        {offsetof(tide_model_config, batch_size), 0, TIDE_INVALID, "batch is 0"},
        {offsetof(tide_model_config, n_layers), 0, TIDE_INVALID, "layers is 0"},
        {offsetof(tide_model_config, n_heads), 0, TIDE_INVALID, "heads is 0"},
        {offsetof(tide_model_config, d_ff), 0, TIDE_INVALID, "d_ff is 0"},
        {offsetof(tide_model_config, vocab_size), 0, TIDE_INVALID, "vocab_size is 0"},
        {offsetof(tide_model_config, n_heads), 7, TIDE_INVALID,
         "7 heads do not divide d_model 768"},
        {offsetof(tide_model_config, n_heads), 768, TIDE_INVALID, "even"},
        {offsetof(tide_model_config, vocab_size), (size_t)1 << 31, TIDE_LIMIT, "2147483647"},
        {offsetof(tide_model_config, context_length), SIZE_MAX, TIDE_LIMIT, "context"},
        {offsetof(tide_model_config, context_length), 536870912, TIDE_LIMIT, "tokens"},
        {offsetof(tide_model_config, context_length), 536870911, TIDE_LIMIT, "2^60"},
        {offsetof(tide_model_config, n_layers), 65536, TIDE_OK, ""},
        {offsetof(tide_model_config, n_layers), 65537, TIDE_LIMIT, "layers is 65537"},
        {offsetof(tide_model_config, d_ff), 2147483647, TIDE_OK, ""},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_model_config config = preset("small");
        tide_error error = {""};
        memcpy((char *)&config + CASES[i].offset, &CASES[i].value, sizeof(CASES[i].value));
        assert_int_equal(tide_model_config_check(&config, &error), CASES[i].status);
        assert_non_null(strstr(error.message, CASES[i].text));
    }
    tide_model_config config = preset("small");
    config.rope_theta = 0;
    assert_int_equal(tide_model_config_check(&config, NULL), TIDE_INVALID);
}

static void forward_flops_are_as_published(void **state) {
    (void)state;
    /* TFLOP at batch 4, to the printed digit. */
    static const struct {
        const char *size;
        size_t context_length;
        double tflop;
    } ROWS[] = {{"small", 128, 0.126},
                {"medium", 512, 1.794},
                {"xl", 1024, 17.526},
                {"2.7B", 2048, 60.893},
                {"10B", 2048, 224.952}};
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        tide_model_config config = preset(ROWS[i].size);
        config.context_length = ROWS[i].context_length;
        double difference = tide_model_forward_flops(&config) * 1e-12 - ROWS[i].tflop;
        assert_true(difference < 0.0005 && difference > -0.0005);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_their_parameter_counts),
        cmocka_unit_test(the_table_sums_to_the_counts),
        cmocka_unit_test(parameters_are_named_and_shaped),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(unknown_sizes_are_refused_with_the_list),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(forward_flops_are_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
