/* test_nsys.c - databases that Nsight Systems exports, made by Python's sqlite3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer_text.h"
#include "support/snapshot_files.h"

/* Comments with commas and brackets, as Nsight Systems writes them. */
#define TABLE                                                                                      \
    "db.execute('''CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (\n"                                  \
    "    start INTEGER NOT NULL, -- Event start timestamp (ns), the first.\n"                      \
    "    globalPid INTEGER,\n    deviceId INTEGER NOT NULL, -- Device ID.\n"                       \
    "    contextId INTEGER, address INTEGER, pc INTEGER,\n"                                        \
    "    bytes INTEGER NOT NULL, memKind INTEGER,\n"                                               \
    "    memoryOperationType INTEGER NOT NULL REFERENCES ENUM(id), name INTEGER)''')\n"

#define ROW "insert into CUDA_GPU_MEMORY_USAGE_EVENTS values (?,1,?,1,?,0,?,?,?,null)"

/* Runs the lines with `db`, and reads the database; skips the test without Python. */
static char *made_by(const char *lines, size_t *ret_bytes) {
    static char command[8192];
    if (system("python3 -c 'import sqlite3'") != 0) {
        skip();
    }
    char path[SNAPSHOT_PATH_BYTES];
    snapshot_path(path, "made.sqlite");
    (void)snprintf(
        command, sizeof(command),
        "python3 - '%s' <<'END'\nimport sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n"
        "db.execute('pragma page_size=512')\n%s\ndb.commit()\nEND\n",
        path, lines);
    assert_int_equal(system(command), 0);
    char *bytes = snapshot_file_text(path, ret_bytes);
    snapshot_remove(path);
    return bytes;
}

static void allocations_of_two_gpus(void **state) {
    (void)state;
    size_t n = 0;
    char found[ANSWER_BYTES];
    /* 5000 rows need inner pages; the events are not in the order of time. */
    char *bytes =
        made_by(TABLE "rows = [(2000000 + i, 0, i, 1024, 2, 0) for i in range(5000)]\n"
                      "rows += [(9000000, 1, 7, 1 << 30, 2, 0), (9500000, 1, 7, 1 << 30, 2, 1)]\n"
                      "rows += [(9600000, 1, 8, 1 << 40, 1, 0), (1000000, 1, 9, 4096, 2, 0)]\n"
                      "rows += [(9700000, 0, i, 1024, 2, 1) for i in range(5000)]\n"
                      "db.executemany('" ROW "', rows)",
                &n);
    answer_text(bytes, n, found);
    assert_non_null(
        strstr(found, "On GPU 0, calls of CUDA had allocated at most 4.88 MiB, 1.005 ms"));
    assert_non_null(strstr(found, "the largest of 5000 allocations has 1.00 KiB"));
    assert_non_null(
        strstr(found, "On GPU 1, calls of CUDA had allocated at most 1.00 GiB, 8.000 ms"));
    assert_non_null(strstr(found, "device=1"));
    /* Cuts and changed bytes are refused or read, without a crash. */
    for (size_t cut = 0; cut < n; cut += 8111) {
        answer_text(bytes, cut, found);
        assert_true(found[0] != '\0');
    }
    for (size_t at = 16; at < 4096 && at < n; at += 3) {
        char kept = bytes[at];
        bytes[at] = (char)(kept ^ 0x55);
        answer_text(bytes, n < 16384 ? n : 16384, found);
        assert_true(found[0] != '\0');
        bytes[at] = kept;
    }
    free(bytes);
}

static void other_databases(void **state) {
    (void)state;
    size_t n = 0;
    char found[ANSWER_BYTES];
    char *bytes = made_by("db.execute('create table a (b text)')", &n);
    answer_text(bytes, n, found);
    assert_non_null(strstr(found, "without events of GPU memory"));
    assert_non_null(strstr(found, "--cuda-memory-usage=true"));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_of_two_gpus),
        cmocka_unit_test(other_databases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
