/* The files of study assignment: tables in three formats, and a page with links to them. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "model/commands/study/internal.h"
#include "common/files/output_file.h"

tide_status tide_study_folder_open(const char *folder, tide_error *error) {
    TIDE_TRY(tide_file_make_folder(folder, error));
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return tide_fail(error, TIDE_IO, "%s cannot be read: %s", folder, strerror(errno));
    }
    bool is_empty = true;
    for (const struct dirent *entry = readdir(entries); entry != NULL && is_empty;
         entry = readdir(entries)) {
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(entries);
    return is_empty ? TIDE_OK
                    : tide_fail(error, TIDE_INVALID,
                                "%s holds files, which are not overwritten: name another folder "
                                "with -o",
                                folder);
}

/* Writes a text that was built in memory, and releases it. */
static tide_status write_text(const char *path, char *text, size_t n_bytes, tide_error *error) {
    tide_output_file file;
    tide_status status = tide_output_file_open(path, &file, error);
    if (status == TIDE_OK) {
        (void)tide_output_file_write(&file, text, n_bytes);
        status = tide_output_file_commit(&file, error);
    }
    free(text);
    return status;
}

static tide_status no_memory(const char *path, tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "no host memory to write %s", path);
}

static tide_status write_report(const char *path, const tide_report *report, tide_format format,
                                tide_error *error) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    FILE *notes = fopen("/dev/null", "w"); /* the sentences are in the other formats */
    tide_status status = out != NULL && notes != NULL ? TIDE_OK : no_memory(path, error);
    if (status == TIDE_OK) {
        status = tide_report_print(report, format, out, notes, error);
    }
    if (notes != NULL) {
        (void)fclose(notes);
    }
    if (out != NULL && fclose(out) != 0 && status == TIDE_OK) {
        status = no_memory(path, error);
    }
    if (status != TIDE_OK) {
        free(text);
        return status;
    }
    return write_text(path, text, n_bytes, error);
}

static tide_status path_of(char ret_path[TIDE_PATH_BYTES], const char *folder, const char *name,
                           const char *table, const char *ending, tide_error *error) {
    int n = snprintf(ret_path, TIDE_PATH_BYTES, "%s/%s%s%s%s", folder, name,
                     table[0] != '\0' ? "." : "", table, ending);
    return n < (int)TIDE_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "the path of %s%s is longer than %d bytes", name,
                           ending, (int)TIDE_PATH_BYTES - 1);
}

tide_status tide_study_write_tables(const char *folder, const tide_study_answer *answer,
                                    tide_error *error) {
    char path[TIDE_PATH_BYTES];
    TIDE_TRY(path_of(path, folder, answer->name, "", ".md", error));
    TIDE_TRY(
        write_report(path, answer->report, (tide_format){.kind = TIDE_FORMAT_MARKDOWN}, error));
    TIDE_TRY(path_of(path, folder, answer->name, "", ".tex", error));
    TIDE_TRY(write_report(path, answer->report, (tide_format){.kind = TIDE_FORMAT_LATEX}, error));
    const char *table = NULL;
    for (size_t i = 0; (table = tide_report_table_key(answer->report, i)) != NULL; i++) {
        TIDE_TRY(path_of(path, folder, answer->name, table, ".csv", error));
        TIDE_TRY(write_report(path, answer->report,
                              (tide_format){.kind = TIDE_FORMAT_CSV, .table = table}, error));
    }
    return TIDE_OK;
}

static void print_sentences(FILE *out, const tide_report *report, const char *key) {
    const char *sentence = NULL;
    for (size_t i = 0; (sentence = tide_report_sentence(report, key, i)) != NULL; i++) {
        fprintf(out, "- %s\n", sentence);
    }
}

static void print_answer(FILE *out, size_t number, const tide_study_answer *answer) {
    fprintf(out, "\n## %zu. %s\n\n%s\n\n```sh\n%s\n```\n\n", number, answer->name, answer->asks,
            answer->command);
    if (answer->report == NULL) {
        fprintf(out, "Not computed: %s\n", answer->reason);
        return;
    }
    /* A study of times has no other answer if there are no times. */
    bool has_no_times = tide_report_sentence(answer->report, "timing", 0) != NULL;
    print_sentences(out, answer->report, has_no_times ? "timing" : "conclusion");
    print_sentences(out, answer->report, "outcome");
    fprintf(out, "\nTables: [Markdown](%s.md), [LaTeX](%s.tex)", answer->name, answer->name);
    const char *table = NULL;
    for (size_t i = 0; (table = tide_report_table_key(answer->report, i)) != NULL; i++) {
        fprintf(out, ", [CSV of %s](%s.%s.csv)", table, answer->name, table);
    }
    fprintf(out, "\n");
    for (size_t i = 0; i < answer->n_pictures; i++) {
        fprintf(out, "\n![%s](%s)\n", answer->pictures[i], answer->pictures[i]);
    }
}

tide_status tide_study_write_page(const char *folder, const char *device,
                                  const tide_study_answer *answers, size_t n, tide_error *error) {
    char path[TIDE_PATH_BYTES];
    char *text = NULL;
    size_t n_bytes = 0;
    TIDE_TRY(path_of(path, folder, "README", "", ".md", error));
    FILE *out = open_memstream(&text, &n_bytes);
    if (out == NULL) {
        return no_memory(path, error);
    }
    fprintf(out,
            "# The assignment, on %s\n\nMade by `tidemark study assignment`. Each part has its "
            "question, the command that makes its tables again, and the answer in words that are "
            "made of the tables' figures.\n",
            device);
    for (size_t i = 0; i < n; i++) {
        print_answer(out, i + 1, &answers[i]);
    }
    if (fclose(out) != 0) {
        free(text);
        return no_memory(path, error);
    }
    return write_text(path, text, n_bytes, error);
}
