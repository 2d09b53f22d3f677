/* test_digests.c - files of digests, one or a list: what is refused and where, the limits, and that
 * a list is read digest by digest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "snapshot/ranks/digests.h"
#include "support/hostmem_fault.h"

enum { ROOM = 24 << 20, MOST_GROUPS = 256 };

#define BYTES                                                                                      \
    "{\"requested_bytes\":1,\"allocated_bytes\":2,\"active_bytes\":3,\"reserved_bytes\":4}"
#define BASE                                                                                       \
    "{\"format\":\"tidemark-digest\",\"version\":1,\"rank\":{\"rank\":3,\"groups\":[{}]},"         \
    "\"devices\":[{\"index\":0,\"headroom_bytes\":5,\"peak\":" BYTES ",\"max\":" BYTES             \
    ",\"end\":" BYTES ",\"rows\":[{\"line\":\"a\",\"bytes\":1,\"n_blocks\":1}],\"steps\":["        \
    "{\"index\":0,\"allocated_peak_bytes\":1,\"reserved_peak_bytes\":2,\"end_bytes\":3}],"         \
    "\"timeline\":{\"begin_unix_us\":8,\"time_ns\":[1,1,2],\"allocated_bytes\":[1,2,3],"           \
    "\"reserved_bytes\":[3,4,5]}}]}"
#define LIST "{\"format\":\"tidemark-ranks\",\"version\":1,\"digests\":["

/* A text in a file. */
typedef struct written {
    char path[32];
    char *bytes; /* owned; ROOM of them */
    size_t n;
} written;

static int set_up(void **state) {
    written *to = calloc(1, sizeof(*to));
    assert_non_null(to);
    to->bytes = malloc(ROOM);
    assert_non_null(to->bytes);
    (void)strcpy(to->path, "/tmp/test_digests_XXXXXX");
    (void)close(mkstemp(to->path));
    *state = to;
    return 0;
}

static int tear_down(void **state) {
    written *to = *state;
    (void)unlink(to->path);
    free(to->bytes);
    free(to);
    return 0;
}

static void add(written *to, const char *text) {
    size_t n = strlen(text);
    assert_true(to->n + n <= ROOM);
    memcpy(to->bytes + to->n, text, n);
    to->n += n;
}

/* BASE, in which `from` is `n` times `to` with commas between them. */
static void add_changed(written *out, const char *from, const char *to, size_t n) {
    const char *at = strstr(BASE, from);
    assert_non_null(at);
    assert_true(out->n + (size_t)(at - BASE) <= ROOM);
    memcpy(out->bytes + out->n, BASE, (size_t)(at - BASE));
    out->n += (size_t)(at - BASE);
    for (size_t i = 0; i < n; i++) {
        add(out, i > 0 ? "," : "");
        add(out, to);
    }
    add(out, at + strlen(from));
}

typedef struct taken {
    size_t n;
    int64_t rank;
    size_t n_groups;
    size_t n_line; /* bytes of the line of the first row */
    int64_t headroom_bytes, peak_bytes, n_dropped, requested_bytes, first_ns;
} taken;

static tide_status take(void *ctx, const tide_digest *digest) {
    taken *to = ctx;
    to->n++;
    to->rank = digest->rank.rank;
    to->n_groups = digest->rank.n_groups;
    for (size_t i = 0; i < digest->n_devices; i++) {
        const tide_digest_device *device = &digest->devices[i];
        to->n_line = device->n_rows > 0 ? strlen(device->rows[0].line) : 0;
        to->headroom_bytes = device->headroom_bytes;
        to->peak_bytes = device->max.allocated_bytes;
        to->n_dropped = device->n_dropped;
        to->requested_bytes = device->oom.requested_bytes;
        to->first_ns = device->n_points > 0 ? device->points[0].time_ns : -1;
    }
    return TIDE_OK;
}

/* Writes the text, and reads it. */
static tide_status load(written *from, const tide_hostmem *mem, taken *to, tide_error *error) {
    const tide_digests_sink sink = {take, to};
    FILE *file = fopen(from->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(from->bytes, 1, from->n, file), from->n);
    assert_int_equal(fclose(file), 0);
    from->n = 0;
    *to = (taken){0};
    *error = (tide_error){""};
    return tide_digests_load(from->path, mem, &sink, error);
}

static void assert_loads(written *from, taken *to) {
    tide_error error;
    if (load(from, tide_hostmem_default(), to, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

static void assert_refused(written *from, size_t n_before, const char *place) {
    tide_error error;
    taken to;
    char named[64];
    (void)snprintf(named, sizeof(named), "cannot read '%s': byte ", from->path);
    assert_int_not_equal(load(from, tide_hostmem_default(), &to, &error), TIDE_OK);
    if (strncmp(error.message, named, strlen(named)) != 0 || strstr(error.message, place) == NULL) {
        fail_msg("%s is not in: %s", place, error.message);
    }
    assert_int_equal(to.n, n_before);
}

static void damage_is_refused_with_its_place(void **state) {
    char long_text[4200] = "\"line\":\"";
    memset(long_text + strlen(long_text), 'x', 4097);
    long_text[4105] = '"';
    const struct {
        const char *from, *to;
        size_t n;
        const char *place;
    } CASES[] = {
        {"\"version\":1", "\"version\":9", 1, "version: the digest has version 9"},
        {"\"rank\":{\"rank\":3,\"groups\":[{}]}", "\"rank\":\"rank\"", 1, "rank: "},
        {"\"rank\":3", "\"rank\":-2", 1, "rank.rank: -2 is out of range"},
        {"\"groups\":[{}]", "\"groups\":{}", 1, "rank.groups: "},
        {"{}", "{}", MOST_GROUPS + 1, "rank.groups[256]: more than the limit of 256"},
        {"\"line\":\"a\"", "\"line\":7", 1, "devices[0].rows[0].line: "},
        {"\"line\":\"a\"", long_text, 1, "devices[0].rows[0].line: "},
        {"\"bytes\":1", "\"bytes\":-1", 1, "devices[0].rows[0].bytes: -1 is out of range: 0 to"},
        {"\"n_blocks\":1", "\"n_blocks\":-1", 1, "devices[0].rows[0].n_blocks: -1 is out of"},
        {"\"requested_bytes\":1", "\"requested_bytes\":1152921504606846977", 1,
         "devices[0].peak.requested_bytes: 1152921504606846977 is out of range"},
        {"\"requested_bytes\":1", "\"requested_bytes\":-2", 1,
         "devices[0].peak.requested_bytes: -2 is out of range: -1 to"},
        {"\"requested_bytes\":1", "\"requested_bytes\":0.5", 1,
         "devices[0].peak.requested_bytes: 0.5 is not an integer"},
        {"\"headroom_bytes\":5", "\"headroom_bytes\":-1152921504606846977", 1,
         "devices[0].headroom_bytes: -1152921504606846977 is out of range"},
        {"{\"index\":0,\"allocated",
         "{\"index\":0,\"allocated_peak_bytes\":1,\"reserved_peak_bytes\":2,\"end_bytes\":3},"
         "{\"index\":-2,\"allocated",
         1, "devices[0].steps[1].index: -2 is out of range"},
        {"{\"line\":\"a\",\"bytes\":1,\"n_blocks\":1}",
         "{\"line\":\"a\",\"bytes\":1,\"n_blocks\":1}", 4097,
         "devices[0].rows[4096]: more than the limit of 4096"},
        {"\"time_ns\":[1,1,2]", "\"time_ns\":[1,2,1]", 1,
         "devices[0].timeline.time_ns[2]: 1 ns is before the point before it, 2 ns"},
        {"\"time_ns\":[1,1,2]", "\"time_ns\":[-2,1,2]", 1,
         "devices[0].timeline.time_ns[0]: -2 is out of range"},
        {"\"allocated_bytes\":[1,2,3]", "\"allocated_bytes\":[1,2]", 1,
         "devices[0].timeline.allocated_bytes: columns of different lengths"},
        {"1,1,2", "1", 257, "devices[0].timeline.time_ns[256]: more than the limit of 256"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char place[160];
        add_changed(*state, CASES[i].from, CASES[i].to, CASES[i].n);
        (void)snprintf(place, sizeof(place), ", %s", CASES[i].place);
        assert_refused(*state, 0, place);
        add(*state, LIST BASE ",");
        add_changed(*state, CASES[i].from, CASES[i].to, CASES[i].n);
        add(*state, "]}");
        (void)snprintf(place, sizeof(place), ", digests[1].%s", CASES[i].place);
        assert_refused(*state, 1, place);
    }
}

static void what_is_just_within_the_limits_is_read(void **state) {
    char line[4200] = "\"line\":\"";
    taken to;
    memset(line + strlen(line), 'x', 4096);
    line[4104] = '"';
    add_changed(*state, "\"line\":\"a\"", line, 1);
    assert_loads(*state, &to);
    assert_int_equal(to.n_line, 4096);
    assert_int_equal(to.first_ns, 1);
    add_changed(*state, "\"headroom_bytes\":5", "\"headroom_bytes\":-1152921504606846976", 1);
    assert_loads(*state, &to);
    assert_int_equal(to.headroom_bytes, -TIDE_DIGEST_MOST_NUMBER);
    add_changed(*state, "\"max\":{\"requested_bytes\":1,\"allocated_bytes\":2",
                "\"max\":{\"requested_bytes\":1,\"allocated_bytes\":1152921504606846976", 1);
    assert_loads(*state, &to);
    assert_int_equal(to.peak_bytes, TIDE_DIGEST_MOST_NUMBER);
    add_changed(*state, "{}", "{}", MOST_GROUPS);
    assert_loads(*state, &to);
    assert_int_equal(to.n_groups, MOST_GROUPS);
    add_changed(*state, "1,1,2", "-1,1,2", 1);
    assert_loads(*state, &to);
    assert_int_equal(to.first_ns, -1);
}

static void what_a_digest_does_not_say_is_unknown(void **state) {
    taken to;
    add_changed(*state, "\"headroom_bytes\":5", "\"oom\":{\"event\":4}", 1);
    assert_loads(*state, &to);
    assert_int_equal(to.headroom_bytes, -1);
    assert_int_equal(to.n_dropped, -1);
    assert_int_equal(to.requested_bytes, -1);
}

static void a_list_is_read_in_its_order(void **state) {
    taken to;
    add(*state, " " LIST);
    add(*state, BASE ",\n");
    add_changed(*state, "\"rank\":3", "\"rank\":8", 1);
    add(*state, "],\"more\":[{}]}\n");
    assert_loads(*state, &to);
    assert_int_equal(to.n, 2);
    assert_int_equal(to.rank, 8);
    add(*state, LIST "]}");
    assert_loads(*state, &to);
    assert_int_equal(to.n, 0);
}

static void what_is_no_list_is_refused(void **state) {
    add(*state, "{\"format\":\"tidemark-ranks\",\"version\":2,\"digests\":[]}");
    assert_refused(*state, 0, ", version: the list has version 2, this tidemark reads up to 1");
    add(*state, "{\"format\":\"tidemark-ranks\",\"version\":1}");
    assert_refused(*state, 0, "digests");
    add(*state, LIST "7]}");
    assert_refused(*state, 0, ", digests[0]");
    add(*state, LIST "{\"format\":\"tidemark-ranks\"}]}");
    assert_refused(*state, 0, ", digests[0].format: this is not a digest");
    add(*state, LIST BASE);
    assert_refused(*state, 1, "the end of the file");
    add(*state, LIST BASE "]}x");
    assert_refused(*state, 1, "");
    add(*state, "{\"format\":\"tidemark-snapshot\"}");
    assert_refused(*state, 0, ", format: this is not a digest");
    add(*state, "");
    assert_refused(*state, 0, "");
}

static void a_list_has_limits(void **state) {
    written *to = *state;
    taken ignored;
    add(to, LIST);
    for (size_t i = 0; i < TIDE_DIGESTS_MOST; i++) {
        add(to, i > 0 ? "," : "");
        add(to, BASE);
    }
    size_t n_full = to->n;
    add(to, "]}");
    assert_loads(to, &ignored);
    assert_int_equal(ignored.n, TIDE_DIGESTS_MOST);
    to->n = n_full; /* load took the text as it was, which is still there */
    add(to, "," BASE "]}");
    assert_refused(to, TIDE_DIGESTS_MOST, ", digests[16384]: more than the limit of 16384");
}

/* Blanks within the second digest of a list, of which the first is as long as may be. */
static void a_digest_of_a_list_has_a_limit(void **state) {
    written *to = *state;
    const size_t n_most = TIDE_DIGEST_READ_BYTES - (sizeof(BASE) - 1);
    taken ignored;
    for (size_t n_more = 0; n_more < 2; n_more++) {
        for (size_t i = 0; i < 2; i++) {
            add(to, i == 0 ? LIST : ",");
            add(to, "{");
            size_t n_blanks = i == 0 ? n_most : n_most + n_more;
            memset(to->bytes + to->n, ' ', n_blanks);
            to->n += n_blanks;
            add(to, &BASE[1]);
        }
        add(to, "]}");
        if (n_more == 0) {
            assert_loads(to, &ignored);
            assert_int_equal(ignored.n, 2);
        } else {
            assert_refused(to, 1, ", digests[1]: a digest with more than the limit of 8388608");
        }
    }
    /* One that is far too long is refused before it ends. */
    add(to, LIST "{");
    memset(to->bytes + to->n, ' ', TIDE_DIGEST_READ_BYTES);
    to->n += TIDE_DIGEST_READ_BYTES;
    add(to, &BASE[1]);
    add(to, "]}");
    assert_refused(to, 0, ", digests[0].rank.groups[0]: a digest with more than the limit");
}

/* Each allocation in turn fails: nothing is lost. */
static void no_host_memory(void **state) {
    size_t n_failed = 0;
    for (size_t call = 1;; call++) {
        tide_hostmem_fault fault;
        tide_error error;
        taken to;
        tide_hostmem_fault_init(&fault, call);
        add(*state, LIST BASE "," BASE "]}");
        tide_status status = load(*state, &fault.mem, &to, &error);
        assert_int_equal(fault.n_live, 0);
        if (status == TIDE_OK) {
            break;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 8);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(damage_is_refused_with_its_place),
        TEST(what_is_just_within_the_limits_is_read),
        TEST(what_a_digest_does_not_say_is_unknown),
        TEST(a_list_is_read_in_its_order),
        TEST(what_is_no_list_is_refused),
        TEST(a_list_has_limits),
        TEST(a_digest_of_a_list_has_a_limit),
        TEST(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
