/* test_record_file.c - rows appended to a CSV file: its header grows, existing rows stay, several
 * writers take turns, and a failure changes nothing. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/commands/record_file.h"

static char folder[64];
static char path[96];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/tide-records-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/records.csv", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(path);
    return rmdir(folder); /* fails when anything else was left in it */
}

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* The caller frees it. */
static char *read_file(void) {
    enum { ROOM = 1 << 20 };
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(ROOM, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, ROOM - 1, file) < ROOM - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void assert_file(const char *want) {
    char *text = read_file();
    assert_string_equal(text, want);
    free(text);
}

static tide_status append(const char *const *columns, size_t n_columns, const char *const *cells,
                          size_t n_rows, tide_error *error) {
    const tide_record_rows rows = {columns, n_columns, cells, n_rows};
    return tide_record_append(path, &rows, error);
}

static const char *const TWO[] = {"name", "actual"};
static const char *const THREE[] = {"actual", "device", "name"};

static void the_first_row_writes_the_header(void **state) {
    (void)state;
    static const char *const CELLS[] = {"gemv", "1.500000", "a, \"b\"\nc", " blank"};
    assert_int_equal(append(TWO, 2, CELLS, 2, NULL), TIDE_OK);
    assert_file("name,actual\ngemv,1.500000\n\"a, \"\"b\"\"\nc\",\" blank\"\n");
}

/* Old rows come first and in their order, each with a 0 for the columns it did not know. */
static void the_header_grows(void **state) {
    (void)state;
    static const char *const FIRST[] = {"a", "1", "b", "2"};
    static const char *const SECOND[] = {"3", "cpu", "c"};
    static const char *const THIRD[] = {"d", "4"};
    assert_int_equal(append(TWO, 2, FIRST, 2, NULL), TIDE_OK);
    assert_int_equal(append(THREE, 3, SECOND, 1, NULL), TIDE_OK);
    assert_int_equal(append(TWO, 2, THIRD, 1, NULL), TIDE_OK);
    assert_file("name,actual,device\na,1,0\nb,2,0\nc,3,cpu\nd,4,0\n");
}

/* The file was edited elsewhere: quotes, short rows, other line ends, empty lines, no final
 * newline. */
static void older_rows_keep_their_text(void **state) {
    (void)state;
    static const char *const CELLS[] = {"7", "cpu", "new"};
    write_file("\xEF\xBB\xBF\"name\",extra\r\n\"x,\"\"y\"\"\n\",  1.50 \r\n\r\nshort\n\"\",\"\"");
    assert_int_equal(append(THREE, 3, CELLS, 1, NULL), TIDE_OK);
    assert_file("\xEF\xBB\xBF\"name\",extra,actual,device\n"
                "\"x,\"\"y\"\"\n\",  1.50 ,0,0\n"
                "short,0,0,0\n"
                "\"\",\"\",0,0\n"
                "new,0,7,cpu\n");
}

static void an_empty_file_gets_a_header(void **state) {
    (void)state;
    static const char *const CELLS[] = {"a", "1"};
    write_file("\n\n");
    assert_int_equal(append(TWO, 2, CELLS, 1, NULL), TIDE_OK);
    assert_file("name,actual\na,1\n");
}

/* The file is unchanged, the message names the position, and no other file remains. */
static void assert_refused(const char *text, tide_status status, const char *says) {
    static const char *const CELLS[] = {"a", "1"};
    tide_error error = {""};
    write_file(text);
    assert_int_equal(append(TWO, 2, CELLS, 1, &error), status);
    assert_int_equal(tide_record_check(path, NULL), status);
    if (strstr(error.message, says) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, says);
    }
    assert_file(text);
}

static void an_invalid_file_is_unchanged(void **state) {
    (void)state;
    assert_refused("name,actual\na,1\nb,2,3\n", TIDE_FORMAT,
                   "line 3 has 3 fields, but the header has 2");
    assert_refused("name,actual\n\"a\nb,2\n", TIDE_FORMAT, "line 2: the quotes of field 1");
    assert_refused("name,\"actual\"x\n", TIDE_FORMAT, "line 1: the quotes of field 2");
    assert_refused("name\n\n\"a\n\"\n\"b\"c\n", TIDE_FORMAT, "line 5: the quotes of field 1");
}

static void a_folder_is_refused(void **state) {
    (void)state;
    static const char *const CELLS[] = {"a", "1"};
    const tide_record_rows rows = {TWO, 2, CELLS, 1};
    tide_error error = {""};
    assert_int_equal(tide_record_append(folder, &rows, &error), TIDE_IO);
    assert_int_equal(tide_record_append("/dev/null", &rows, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "regular file"));
    assert_int_equal(tide_record_append("", &rows, &error), TIDE_INVALID);
    write_file("");
}

/* Simulates a full disk: limits the size of files for the duration of one call. */
static tide_status append_without_room(rlim_t n_bytes, tide_error *error) {
    static const char *const CELLS[] = {"a long name", "1"};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit little = {n_bytes, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    tide_status status = append(TWO, 2, CELLS, 1, error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    return status;
}

/* An existing file is unchanged, and no new file appears. */
static void a_failed_write_changes_nothing(void **state) {
    (void)state;
    tide_error error = {""};
    assert_int_equal(append_without_room(4, &error), TIDE_IO);
    assert_int_equal(access(path, F_OK), -1);
    write_file("name,actual\na,1\n");
    assert_int_equal(append_without_room(20, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "nothing was changed"));
    assert_file("name,actual\na,1\n");
}

/* The check that runs before a benchmark does not modify the file. */
static void a_check_changes_nothing(void **state) {
    (void)state;
    assert_int_equal(tide_record_check(path, NULL), TIDE_OK);
    assert_int_equal(access(path, F_OK), -1);
    write_file("name\na,\n");
    assert_int_equal(tide_record_check(path, NULL), TIDE_FORMAT);
    write_file("other,name\na,b\n");
    assert_int_equal(tide_record_check(path, NULL), TIDE_OK);
    assert_file("other,name\na,b\n");
    assert_int_equal(tide_record_check(folder, NULL), TIDE_IO);
}

/* A table, or a text, that has none of the columns would be changed line by line. */
static void a_file_without_the_columns_is_unchanged(void **state) {
    (void)state;
    static const char *const CELLS[] = {"a", "1"};
    static const char *const FOREIGN[] = {"# A page\n\nwith text\n", "day,weight\nmonday,70\n"};
    for (size_t i = 0; i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++) {
        tide_error error = {""};
        write_file(FOREIGN[i]);
        assert_int_equal(append(TWO, 2, CELLS, 1, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "no column 'name'"));
        assert_int_equal(tide_record_check(path, NULL), TIDE_FORMAT);
        assert_file(FOREIGN[i]);
    }
}

static void permissions_are_kept(void **state) {
    (void)state;
    static const char *const CELLS[] = {"a", "1"};
    struct stat info;
    write_file("name,actual\n");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(append(TWO, 2, CELLS, 1, NULL), TIDE_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
}

static void a_link_is_followed(void **state) {
    (void)state;
    static const char *const CELLS[] = {"a", "1"};
    const tide_record_rows rows = {TWO, 2, CELLS, 1};
    char link[96];
    struct stat info;
    (void)snprintf(link, sizeof(link), "%s/link.csv", folder);
    write_file("");
    assert_int_equal(symlink("records.csv", link), 0);
    assert_int_equal(tide_record_append(link, &rows, NULL), TIDE_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(unlink(link), 0);
    assert_file("name,actual\na,1\n");
}

enum { N_WRITERS = 4, N_TURNS = 40 };

/* One writer's turns, some of which add a column. */
static void write_turns(unsigned writer) {
    for (unsigned turn = 0; turn < N_TURNS; turn++) {
        char own[16];
        char number[16];
        char name[16];
        (void)snprintf(own, sizeof(own), "own%u", writer);
        (void)snprintf(number, sizeof(number), "%u", turn);
        (void)snprintf(name, sizeof(name), "w%u", writer);
        const char *const columns[] = {"name", "turn", own};
        const char *const cells[] = {name, number, number};
        if (append(columns, turn < N_TURNS / 2 ? 2 : 3, cells, 1, NULL) != TIDE_OK) {
            _exit(1);
        }
    }
    _exit(0);
}

/* Every row occurs once, in the order of its writer, and is as long as the header. */
static void check_turns(char *text) {
    unsigned n_seen[N_WRITERS] = {0};
    size_t n_rows = 0;
    char *rest = NULL;
    char *line = strtok_r(text, "\n", &rest);
    assert_non_null(line);
    assert_int_equal(strncmp(line, "name,turn,", 10), 0);
    for (line = strtok_r(NULL, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        unsigned writer = 0;
        unsigned turn = 0;
        unsigned n_commas = 0;
        assert_int_equal(sscanf(line, "w%u,%u", &writer, &turn), 2);
        assert_true(writer < N_WRITERS);
        assert_int_equal(turn, n_seen[writer]++);
        for (const char *at = line; *at != '\0'; at++) {
            n_commas += *at == ',';
        }
        assert_int_equal(n_commas, 1 + N_WRITERS);
        n_rows++;
    }
    assert_int_equal(n_rows, N_WRITERS * N_TURNS);
}

static void writers_take_turns(void **state) {
    (void)state;
    for (unsigned writer = 0; writer < N_WRITERS; writer++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_turns(writer);
        }
    }
    for (unsigned writer = 0; writer < N_WRITERS; writer++) {
        int status = -1;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    char *text = read_file();
    check_turns(text);
    free(text);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_first_row_writes_the_header),
        CASE(the_header_grows),
        CASE(older_rows_keep_their_text),
        CASE(an_empty_file_gets_a_header),
        CASE(an_invalid_file_is_unchanged),
        CASE(a_folder_is_refused),
        CASE(a_failed_write_changes_nothing),
        CASE(a_check_changes_nothing),
        CASE(a_file_without_the_columns_is_unchanged),
        CASE(permissions_are_kept),
        CASE(a_link_is_followed),
        CASE(writers_take_turns),
    };
    return cmocka_run_group_tests_name("cli.record_file", tests, NULL, NULL);
}
