#include "cli/outputs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "capture/log_source.h"
#include "cli/files.h"
#include "common/files/output_file.h"

/* ---- endings ---- */

enum { BEGINNING_BYTES = 4096 };

#define HOLDS(content) (1U << (content))

/* The content implied by each ending of a name, longest ending first; other endings imply
 * nothing. */
static const struct {
    const char *ending;
    unsigned contents; /* bits: HOLDS */
    const char *words; /* the meaning of the ending */
    const char *maker; /* the command that writes it, with one %s for the path; NULL: none */
} ENDINGS[] = {
    {".json.gz", HOLDS(TIDE_CONTENT_SNAPSHOT) | HOLDS(TIDE_CONTENT_JSON), "a snapshot, or JSON",
     NULL},
    {".json", HOLDS(TIDE_CONTENT_SNAPSHOT) | HOLDS(TIDE_CONTENT_JSON), "JSON", NULL},
    {".pickle.gz", HOLDS(TIDE_CONTENT_PICKLE), "a pickle of PyTorch",
     "tidemark export FILE --to pytorch -o %s makes one"},
    {".pkl.gz", HOLDS(TIDE_CONTENT_PICKLE), "a pickle of PyTorch",
     "tidemark export FILE --to pytorch -o %s makes one"},
    {".pickle", HOLDS(TIDE_CONTENT_PICKLE), "a pickle of PyTorch",
     "tidemark export FILE --to pytorch -o %s makes one"},
    {".pkl", HOLDS(TIDE_CONTENT_PICKLE), "a pickle of PyTorch",
     "tidemark export FILE --to pytorch -o %s makes one"},
    {".html", HOLDS(TIDE_CONTENT_PAGE), "an HTML page", "tidemark view FILE -o %s makes one"},
    {".htm", HOLDS(TIDE_CONTENT_PAGE), "an HTML page", "tidemark view FILE -o %s makes one"},
    {".csv.gz", HOLDS(TIDE_CONTENT_CSV), "a table",
     "tidemark export FILE --to csv -o %s makes one of a snapshot's events"},
    {".csv", HOLDS(TIDE_CONTENT_CSV), "a table",
     "tidemark export FILE --to csv -o %s makes one of a snapshot's events"},
    {".folded.gz", HOLDS(TIDE_CONTENT_STACKS), "folded call stacks",
     "tidemark export FILE --to folded -o %s makes them"},
    {".folded", HOLDS(TIDE_CONTENT_STACKS), "folded call stacks",
     "tidemark export FILE --to folded -o %s makes them"},
    {".jsonl", HOLDS(TIDE_CONTENT_ROWS), "rows of a sweep", NULL},
    {".svg", HOLDS(TIDE_CONTENT_SVG), "a picture", "tidemark picture FILE -o %s makes one"},
    {".png", HOLDS(TIDE_CONTENT_PNG), "a picture", "tidemark picture FILE -o %s makes one"},
    {".log", HOLDS(TIDE_CONTENT_LOG), "an event log", "tidemark profile --log %s keeps one"},
    {".launches", HOLDS(TIDE_CONTENT_LAUNCHES), "a launch log",
     "tidemark run --launch-log %s keeps one"},
};

static const struct {
    const char *words;  /* a description of the content */
    const char *ending; /* that fits it */
} CONTENTS[TIDE_N_CONTENTS] = {
    [TIDE_CONTENT_SNAPSHOT] = {"a snapshot of tidemark", ".json.gz"},
    [TIDE_CONTENT_PAGE] = {"an HTML page", ".html"},
    [TIDE_CONTENT_PICKLE] = {"a pickle", ".pickle"},
    [TIDE_CONTENT_JSON] = {"JSON", ".json"},
    [TIDE_CONTENT_CSV] = {"CSV", ".csv"},
    [TIDE_CONTENT_STACKS] = {"folded call stacks", ".folded"},
    [TIDE_CONTENT_ROWS] = {"JSON Lines", ".jsonl"},
    [TIDE_CONTENT_LOG] = {"an event log", ".log"},
    [TIDE_CONTENT_LAUNCHES] = {"a launch log", ".launches"},
    [TIDE_CONTENT_SVG] = {"a picture of shapes", ".svg"},
    [TIDE_CONTENT_PNG] = {"a picture of pixels", ".png"},
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

static tide_status check_ending(const tide_output *output, tide_error *error) {
    size_t i = 0;
    size_t n = sizeof(ENDINGS) / sizeof(ENDINGS[0]);
    while (i < n && !ends_with(output->path, ENDINGS[i].ending)) {
        i++;
    }
    if (i == n && output->name == TIDE_OUTPUT_OWN && output->content != TIDE_CONTENT_LOG) {
        return tide_fail(error, TIDE_INVALID,
                         "%s: the name does not say that %s would be written there: choose a name "
                         "that ends in %s",
                         output->path, CONTENTS[output->content].words,
                         CONTENTS[output->content].ending);
    }
    if (i == n || (ENDINGS[i].contents & HOLDS(output->content)) != 0) {
        return TIDE_OK;
    }
    char maker[TIDE_PATH_BYTES + 64] = "";
    const char *at = ENDINGS[i].maker != NULL ? strstr(ENDINGS[i].maker, "%s") : NULL;
    if (at != NULL) {
        (void)snprintf(maker, sizeof(maker), "; %.*s%s%s", (int)(at - ENDINGS[i].maker),
                       ENDINGS[i].maker, output->path, at + 2);
    }
    return tide_fail(error, TIDE_INVALID,
                     "%s: the name says %s, but %s would be written there: choose a name that ends "
                     "in %s%s",
                     output->path, ENDINGS[i].words, CONTENTS[output->content].words,
                     CONTENTS[output->content].ending, maker);
}

/* ---- files that are there ---- */

static tide_status check_inputs(const tide_output *output, tide_error *error) {
    for (size_t i = 0; i < output->n_inputs; i++) {
        const char *input = output->inputs[i];
        if (input != NULL && tide_file_is_same(input, output->path)) {
            bool is_other_name = strcmp(input, output->path) != 0;
            return tide_fail(
                error, TIDE_INVALID,
                "%s is a file that this command reads%s%s%s and would replace: name another file",
                output->path, is_other_name ? " (as " : "", is_other_name ? input : "",
                is_other_name ? ")" : "");
        }
    }
    return TIDE_OK;
}

/* Whether this program wrote the file, by the first bytes of a page, a snapshot or a log. A
 * compressed file is decompressed for this. */
static bool is_own(const char *path, tide_content content) {
    char text[BEGINNING_BYTES + 1];
    if (content == TIDE_CONTENT_LOG) {
        return tide_log_source_is_log(path);
    }
    gzFile file = gzopen(path, "rbe");
    int n = file != NULL ? gzread(file, text, BEGINNING_BYTES) : -1;
    if (file != NULL) {
        (void)gzclose_r(file); /* was only read */
    }
    if (n < 0) {
        return false;
    }
    text[n] = '\0';
    return content == TIDE_CONTENT_PAGE ? strncmp(text, "<!doctype html>", 15) == 0 &&
                                              strstr(text, "<title>tidemark</title>") != NULL
                                        : strncmp(text, "{\"format\":\"tidemark-", 20) == 0;
}

static tide_status check_older(const tide_output *output, tide_error *error) {
    struct stat older;
    if (output->name == TIDE_OUTPUT_NAMED || stat(output->path, &older) != 0 ||
        !S_ISREG(older.st_mode)) {
        return TIDE_OK; /* anything other than a file is refused when it is opened */
    }
    if (output->name == TIDE_OUTPUT_NEW) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is there already, and without -o no file is replaced: name it with -o "
                         "to replace it, or name another file",
                         output->path);
    }
    return older.st_size == 0 || is_own(output->path, output->content)
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "%s is there, and tidemark did not write it: %s",
                           output->path,
                           output->name == TIDE_OUTPUT_OWN
                               ? "name another file, or move this one away"
                               : "name it with -o to replace it, or name another file");
}

tide_status tide_output_check_name(const tide_output *output, tide_error *error) {
    if (output->path[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "a file to write has no name: name it with -o");
    }
    TIDE_TRY(check_inputs(output, error));
    TIDE_TRY(check_ending(output, error));
    return check_older(output, error);
}

tide_status tide_output_check(const tide_output *output, tide_error *error) {
    tide_output_file trial;
    TIDE_TRY(tide_output_check_name(output, error));
    TIDE_TRY(tide_output_file_open(output->path, &trial, error));
    tide_output_file_abandon(&trial);
    return TIDE_OK;
}
