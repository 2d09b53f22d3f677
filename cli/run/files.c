/* The paths of the snapshots and the report of `tidemark run`. */
#include <stdio.h>
#include <string.h>

#include "cli/outputs.h"
#include "cli/run/internal.h"
#include "cli/run/numbers.h"
#include "common/files/file_name.h"
#include "programs/launch/names.h"

#define ENDING ".json.gz"

enum { MAX_INPUTS = 256 };

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void tide_run_name_program(char *const *arguments, char *ret_name, size_t n_room) {
    const char *name = base_of(arguments[0]);
    for (size_t i = 1; arguments[i] != NULL; i++) {
        if (ends_with(arguments[i], ".py")) {
            name = base_of(arguments[i]);
            break;
        }
        if (strcmp(arguments[i], "-m") == 0 && arguments[i + 1] != NULL &&
            strncmp(base_of(arguments[0]), "python", strlen("python")) == 0) {
            name = arguments[i + 1];
            break;
        }
    }
    snprintf(ret_name, n_room, "%s", name);
    if (ends_with(ret_name, ".py")) {
        ret_name[strlen(ret_name) - strlen(".py")] = '\0';
    }
}

/* `arguments`: files that the program may read. */
static tide_status check(const char *path, tide_content content, bool is_named,
                         char *const *arguments, tide_error *error) {
    const char *inputs[MAX_INPUTS];
    size_t n = 0;
    for (; arguments != NULL && arguments[n] != NULL && n < MAX_INPUTS; n++) {
        inputs[n] = arguments[n];
    }
    const tide_output output = {.path = path,
                                .content = content,
                                .name = is_named ? TIDE_OUTPUT_OWN : TIDE_OUTPUT_AGAIN,
                                .inputs = inputs,
                                .n_inputs = n};
    return tide_output_check(&output, error);
}

/* Names the snapshot, and reserves the name if the user did not choose it. */
static tide_status name_snapshot(const tide_run_command_options *options, char *const *arguments,
                                 tide_run_files *ret_files, tide_error *error) {
    char program[TIDE_PATH_BYTES];
    char base[TIDE_PATH_BYTES];
    char stem[TIDE_PATH_BYTES] = "";
    char card[64];
    int n = 0;
    ret_files->is_named = options->output != NULL;
    ret_files->reserved_fd = -1;
    if (ret_files->is_named) {
        n = snprintf(ret_files->snapshot, TIDE_PATH_BYTES, "%s", options->output);
    } else {
        tide_run_name_program(arguments, program, sizeof(program));
        snprintf(card, sizeof(card), "%s",
                 options->device != NULL ? base_of(options->device + strlen("virtual:")) : "gpu");
        n = snprintf(base, sizeof(base), "%s-%s", program, card);
        bool is_chosen =
            n > 0 && n < (int)sizeof(base) &&
            tide_run_choose_stem(base, options->page == NULL, stem, &ret_files->reserved_fd);
        n = is_chosen ? snprintf(ret_files->snapshot, TIDE_PATH_BYTES, "%s" ENDING, stem) : -1;
    }
    return n >= 0 && n < TIDE_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "-o: the path is longer than the limit of %d bytes",
                           (int)TIDE_PATH_BYTES);
}

tide_status tide_run_name_files(const tide_run_command_options *options, char *const *arguments,
                                tide_run_files *ret_files, tide_error *error) {
    TIDE_TRY(name_snapshot(options, arguments, ret_files, error));
    bool has_page = options->page == NULL || strcmp(options->page, TIDE_RUN_NO_PAGE) != 0;
    int n = options->page != NULL
                ? snprintf(ret_files->page, TIDE_PATH_BYTES, "%s", options->page)
                : snprintf(ret_files->page, TIDE_PATH_BYTES, "%.*s.html",
                           (int)tide_file_stem_bytes(ret_files->snapshot), ret_files->snapshot);
    if (n < 0 || n >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "--html: the path is longer than the limit of %d bytes",
                         (int)TIDE_PATH_BYTES);
    }
    TIDE_TRY(
        check(ret_files->snapshot, TIDE_CONTENT_SNAPSHOT, ret_files->is_named, arguments, error));
    if (has_page) {
        TIDE_TRY(
            check(ret_files->page, TIDE_CONTENT_PAGE, options->page != NULL, arguments, error));
    } else {
        ret_files->page[0] = '\0';
    }
    /* With %p, each process names its own. */
    return options->live.log == NULL || strstr(options->live.log, "%p") != NULL
               ? TIDE_OK
               : check(options->live.log, TIDE_CONTENT_LOG, true, arguments, error);
}

tide_status tide_run_name_moment(const tide_run_files *files, const char *word, size_t number,
                                 char ret_path[TIDE_PATH_BYTES], tide_error *error) {
    size_t n_stem = tide_file_stem_bytes(files->snapshot);
    int n = snprintf(ret_path, TIDE_PATH_BYTES, "%.*s-%s-%zu%s", (int)n_stem, files->snapshot, word,
                     number, files->snapshot + n_stem);
    return n >= 0 && n < TIDE_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "the path of a snapshot is longer than %d bytes",
                           (int)TIDE_PATH_BYTES - 1);
}

tide_status tide_run_name_process(const tide_run_files *files, const tide_left_list *list, size_t i,
                                  char ret_path[TIDE_PATH_BYTES], tide_error *error) {
    TIDE_TRY(tide_launch_name_snapshot(files->snapshot, list, i, ret_path, TIDE_PATH_BYTES, error));
    return strcmp(ret_path, files->snapshot) == 0
               ? TIDE_OK
               : check(ret_path, TIDE_CONTENT_SNAPSHOT, files->is_named, NULL, error);
}
