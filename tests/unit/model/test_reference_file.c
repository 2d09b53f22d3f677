/* test_reference_file.c - reference files that are cut short, damaged, absent or beyond the limits.
 */
#define _POSIX_C_SOURCE 200809L /* unlink, getpid */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/reference/reference.h"
#include "model/reference/safetensors.h"
#include "support/hostmem_fault.h"

#define GOLDEN(name) TIDE_REFERENCE_DIR "/" name ".safetensors"

/* The name of a file that only this process uses. */
typedef struct scratch_file {
    char path[128];
    char *bytes; /* a copy of the edge file, to be damaged */
    size_t n_bytes;
} scratch_file;

static scratch_file copy_of_edge(void) {
    scratch_file file;
    (void)snprintf(file.path, sizeof(file.path), "/tmp/tidemark-reference-%ld", (long)getpid());
    FILE *stream = fopen(GOLDEN("edge_fp32"), "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    file.n_bytes = (size_t)ftell(stream);
    rewind(stream);
    file.bytes = malloc(file.n_bytes + 1);
    assert_non_null(file.bytes);
    assert_int_equal(fread(file.bytes, 1, file.n_bytes, stream), file.n_bytes);
    file.bytes[file.n_bytes] = '\0';
    assert_int_equal(fclose(stream), 0);
    return file;
}

static void remove_copy(scratch_file *file) {
    (void)unlink(file->path);
    free(file->bytes);
}

/* Writes the first n_bytes to a file, opens it, and returns the status. */
static tide_status open_damaged(const scratch_file *file, size_t n_bytes, tide_error *error) {
    FILE *stream = fopen(file->path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->bytes, 1, n_bytes, stream), n_bytes);
    assert_int_equal(fclose(stream), 0);
    tide_reference *reference = NULL;
    tide_status status = tide_reference_open(tide_hostmem_default(), file->path, &reference, error);
    if (status == TIDE_OK) {
        tide_reference_close(reference);
    } else {
        assert_null(reference);
        assert_non_null(strstr(error->message, file->path));
        assert_null(strchr(error->message, '\n'));
    }
    return status;
}

static void truncated_files(void **state) {
    (void)state;
    scratch_file file = copy_of_edge();
    tide_error error = {""};
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_OK);
    for (size_t n = 0; n < file.n_bytes; n += n < 40 ? 1 : 997) {
        assert_int_equal(open_damaged(&file, n, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "truncated"));
    }
    assert_int_equal(open_damaged(&file, file.n_bytes - 1, &error), TIDE_FORMAT);
    remove_copy(&file);
}

/* Replaces the first `from` of the header by `to`, of the same length. */
static void replace(scratch_file *file, const char *from, const char *to) {
    size_t n = strlen(from);
    assert_int_equal(n, strlen(to));
    for (size_t i = 8; i + n <= file->n_bytes; i++) {
        if (memcmp(file->bytes + i, from, n) == 0) {
            memcpy(file->bytes + i, to, n);
            return;
        }
    }
    fail_msg("the file has no %s", from);
}

static void damaged_headers(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        tide_status status;
        const char *says;
    } CASES[] = {
        {"{\"__meta", "x\"__meta", TIDE_FORMAT, "not JSON (at byte 8"},
        {"\"vocab_size\"", "\"vocab-size\"", TIDE_FORMAT, "vocab_size"},
        {"\"vocab_size\": \"37\"", "\"vocab_size\": \"-7\"", TIDE_FORMAT, "'-7', not a count"},
        {"\"vocab_size\": \"37\"", "\"vocab_size\": 1234", TIDE_FORMAT, "is not text"},
        {"\"d_model\": \"16\"", "\"d_model\": \"17\"", TIDE_INVALID, "17"},
        {"\"steps\": \"4\"", "\"steps\": \"x\"", TIDE_FORMAT, "steps"},
        {"\"eps\": \"1e-08\"", "\"eps\": \"1e-0z\"", TIDE_FORMAT, "'1e-0z', not a number"},
        {"\"precision\": \"fp32\"", "\"precision\": \"fp99\"", TIDE_FORMAT, "fp99"},
        {"\"num_layers\": \"2\"", "\"num_layers\": \"3\"", TIDE_FORMAT,
         "no tensor 'param/layers.2."},
        {"\"num_layers\": \"2\", \"num_heads\": \"2\", ",
         "\"num_layers\":\"99999\",\"num_heads\":\"2\",", TIDE_LIMIT, "layers is 99999"},
        {"\"vocab_size\": \"37\"", "\"vocab_size\": \"36\"", TIDE_FORMAT, "shape"},
        {"\"dtype\": \"F32\"", "\"dtype\": \"F64\"", TIDE_UNSUPPORTED, "F64"},
        {"\"dtype\": \"F32\"", "\"dtype\": \"I32\"", TIDE_FORMAT, "must be F32"},
        {"\"shape\": [37, 16]", "\"shape\": [37, -6]", TIDE_FORMAT, "not a count"},
        {"\"shape\": [37, 16]", "\"shape\": [37, 15]", TIDE_FORMAT, "its shape takes"},
        {"\"shape\": [37, 16]", "\"shape\": [1e9,16]", TIDE_FORMAT, "its shape takes"},
        {"\"shape\": [37, 16]", "\"shape\":[1e15,99]", TIDE_FORMAT, "its shape takes"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": [9, 2368]", TIDE_FORMAT, "its data has"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": [2, 2370]", TIDE_UNSUPPORTED,
         "not a multiple"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": [9,   1 ]", TIDE_FORMAT, "lie outside"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": [0, 9e99]", TIDE_FORMAT, "two counts"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": [0, 9e15]", TIDE_FORMAT, "lie outside"},
        {"\"data_offsets\": [0, 2368]", "\"data_offsets\": \"0, 2368\"", TIDE_FORMAT, "two counts"},
        {"\"expect/loss\"", "\"expect/lost\"", TIDE_FORMAT, "no tensor 'expect/loss'"},
        {"layers.0.attn.q_proj", "layers.0.attn.k_proj", TIDE_FORMAT, "twice"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        scratch_file file = copy_of_edge();
        tide_error error = {""};
        replace(&file, CASES[i].from, CASES[i].to);
        tide_status status = open_damaged(&file, file.n_bytes, &error);
        if (status != CASES[i].status || strstr(error.message, CASES[i].says) == NULL) {
            fail_msg("%s: %s: %s", CASES[i].to, tide_status_text(status), error.message);
        }
        remove_copy(&file);
    }
}

static void damaged_numbers(void **state) {
    (void)state;
    scratch_file file = copy_of_edge();
    tide_error error = {""};
    memset(file.bytes, 0xFF, 8); /* a header of 2^64 - 1 bytes */
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "18446744073709551615"));
    remove_copy(&file);
    file = copy_of_edge(); /* a token of 37 of 37 */
    tide_safetensors *original = NULL;
    assert_int_equal(
        tide_safetensors_open(tide_hostmem_default(), GOLDEN("edge_fp32"), &original, NULL),
        TIDE_OK);
    const int32_t *tokens = tide_safetensors_find(original, "input/tokens")->data;
    const float *first = tide_safetensors_find(original, "param/token_embeddings.weight")->data;
    size_t n_header_bytes = (unsigned char)file.bytes[0] + 256U * (unsigned char)file.bytes[1];
    size_t at = 8 + n_header_bytes + (size_t)((const char *)tokens - (const char *)first);
    assert_memory_equal(file.bytes + at, tokens, 16);
    file.bytes[at + 4] = 37;
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "input/tokens"));
    assert_non_null(strstr(error.message, "element 1 is 37"));
    tide_safetensors_close(original);
    remove_copy(&file);
}

/* A file with only a header of n_bytes: this text, padded with blanks. */
static scratch_file header_alone(const char *text, size_t n_bytes) {
    scratch_file file;
    (void)snprintf(file.path, sizeof(file.path), "/tmp/tidemark-reference-%ld", (long)getpid());
    file.n_bytes = 8 + n_bytes;
    file.bytes = malloc(file.n_bytes);
    assert_non_null(file.bytes);
    for (size_t i = 0; i < 8; i++) { /* little-endian */
        file.bytes[i] = (char)(n_bytes >> (8 * i));
    }
    memset(file.bytes + 8, ' ', n_bytes);
    memcpy(file.bytes + 8, text, strlen(text));
    return file;
}

/* The size of a header is checked before it is parsed. */
static void headers_beyond_the_limits(void **state) {
    (void)state;
    enum { MAX_HEADER_BYTES = 4 << 20, N_TENSORS = 8193, ITEM_BYTES = 12 };
    tide_error error = {""};
    scratch_file file = header_alone("{}", MAX_HEADER_BYTES);
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_FORMAT);
    remove_copy(&file);
    file = header_alone("{}", MAX_HEADER_BYTES + 1);
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "the limit is 4194304"));
    remove_copy(&file);
    char *text = calloc(N_TENSORS + 2, ITEM_BYTES);
    assert_non_null(text);
    size_t n_chars = 0;
    for (size_t i = 0; i < N_TENSORS; i++) {
        n_chars += (size_t)sprintf(text + n_chars, "%c\"t%zu\":0", i == 0 ? '{' : ',', i);
    }
    text[n_chars++] = '}';
    file = header_alone(text, n_chars);
    free(text);
    assert_int_equal(open_damaged(&file, file.n_bytes, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "8193 tensors; the limit is 8192"));
    remove_copy(&file);
}

static void absent_files(void **state) {
    (void)state;
    tide_reference *reference = NULL;
    tide_error error = {""};
    assert_int_equal(
        tide_reference_open(tide_hostmem_default(), "/nowhere/x.safetensors", &reference, &error),
        TIDE_IO);
    assert_non_null(strstr(error.message, "/nowhere/x.safetensors: cannot be opened"));
    assert_int_equal(tide_reference_open(tide_hostmem_default(), "/tmp", &reference, &error),
                     TIDE_IO);
    assert_non_null(strstr(error.message, "/tmp: cannot be read"));
}

/* Every allocation fails in turn; nothing may leak or crash. */
static void host_memory_runs_out(void **state) {
    (void)state;
    size_t n = 1;
    for (;; n++) {
        tide_hostmem_fault fault;
        tide_hostmem_fault_init(&fault, n);
        tide_reference *reference = NULL;
        tide_error error = {""};
        tide_status status =
            tide_reference_open(&fault.mem, GOLDEN("edge_fp32"), &reference, &error);
        if (status == TIDE_OK) {
            tide_reference_close(reference);
            assert_int_equal(fault.n_live, 0);
            break;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        assert_true(error.message[0] != '\0');
        assert_int_equal(fault.n_live, 0);
    }
    assert_true(n > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_files), cmocka_unit_test(damaged_headers),
        cmocka_unit_test(damaged_numbers), cmocka_unit_test(headers_beyond_the_limits),
        cmocka_unit_test(absent_files),    cmocka_unit_test(host_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
