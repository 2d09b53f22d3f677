/* tidemark picture: the timeline of a snapshot as an SVG or PNG file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "cli/outputs.h"
#include "cli/words/snapshot_words.h"
#include "picture/picture.h"

#define ANY_DEVICE UINT64_MAX

enum { SUBTITLE_BYTES = 512, USUAL_WIDTH = 800 };

typedef struct picture_options {
    const char *output; /* NULL: not given */
    const char *axis;   /* NULL: chosen by the file */
    const char *by;     /* NULL: chosen by the file */
    const char *theme;
    const char *title; /* NULL: the file's name */
    tide_option_texts hidden;
    tide_load_options load;
    bool leaves_out_scopes;
    uint64_t width, height; /* height 0: chosen for the width */
    uint64_t scale;
    uint64_t device; /* ANY_DEVICE: the one with the highest peak */
} picture_options;

#define AXIS_TIME "time"
#define AXIS_EVENT "event"
#define BY_CATEGORY "category"
#define BY_LINE "line"
#define THEME_LIGHT "light"
#define THEME_DARK "dark"

static const char *axis_at(size_t i) {
    static const char *const WORDS[] = {AXIS_TIME, AXIS_EVENT, NULL};
    return WORDS[i < 2 ? i : 2];
}

static const char *by_at(size_t i) {
    static const char *const WORDS[] = {BY_CATEGORY, BY_LINE, NULL};
    return WORDS[i < 2 ? i : 2];
}

static const char *theme_at(size_t i) {
    static const char *const WORDS[] = {THEME_LIGHT, THEME_DARK, NULL};
    return WORDS[i < 2 ? i : 2];
}

#define AT(member) offsetof(picture_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_TEXT,
     .name = "output",
     .letter = "o",
     .value = "OUT",
     .help = "file of the picture; its name ends in .svg or .png",
     .offset = AT(output)},
    TIDE_OPTION_OF(
        CHOICE, "x", NULL, axis_at, AT(axis),
        "what the picture goes over; default time, or event where the file has no clock"),
    TIDE_OPTION_OF(CHOICE, "by", NULL, by_at, AT(by),
                   "what a band is; default category, or line where no block has a category or the "
                   "file has no history"),
    TIDE_OPTION(
        TEXTS, "hide", "CATEGORY", AT(hidden),
        "leave out categories, with commas between them, or bands as the legend names them; "
        "may be given several times"),
    TIDE_OPTION(COUNT, "width", "PIXELS", AT(width), "width of the picture; default 800"),
    TIDE_OPTION(COUNT, "height", "PIXELS", AT(height),
                "height of the picture; default what suits the width"),
    TIDE_OPTION(COUNT, "scale", "N", AT(scale),
                "with .png, make the file N times as wide and as high, letters included; default "
                "1"),
    TIDE_OPTION(COUNT, "device", "N", AT(device),
                "number of the device; default the one with the highest peak"),
    TIDE_OPTION(FLAG, "no-scopes", NULL, AT(leaves_out_scopes),
                "leave out the rows of steps, phases and layers"),
    TIDE_OPTION_OF(CHOICE, "theme", NULL, theme_at, AT(theme), "its colours; default light"),
    TIDE_OPTION(TEXT, "title", "TEXT", AT(title),
                "words before the peak's figure; default the file's name, '' for none"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "picture",
    .operands = "FILE",
    .intro = "Draws the timeline of a snapshot, as the page of view does, without a browser.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
    .notes = "Each column of pixels shows the instant of its span with the most bytes, so no peak "
             "is\nlost. The same file and options give the same picture, byte for byte.\n",
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n > strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* The format by the ending of the name. */
static tide_status find_format(const char *path, tide_picture_format *ret_format,
                               tide_error *error) {
    if (path == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "-o is missing: name the picture, such as memory.svg or memory.png");
    }
    *ret_format = TIDE_PICTURE_SVG;
    if (ends_with(path, ".svg")) {
        return TIDE_OK;
    }
    *ret_format = TIDE_PICTURE_PNG;
    return ends_with(path, ".png")
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "%s: the name must end in .svg (shapes, for papers) or .png (pixels)",
                           path);
}

static tide_status save(const picture_options *options, const char *input,
                        tide_picture_format format, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    char subtitle[SUBTITLE_BYTES];
    const char *slash = strrchr(input, '/');
    TIDE_TRY(tide_cli_load(input, &options->load, &snapshot, error));
    tide_words_run(snapshot, subtitle, sizeof(subtitle));
    const tide_picture_options chosen = {
        .format = format,
        .axis = options->axis == NULL                   ? TIDE_PICTURE_X_USUAL
                : strcmp(options->axis, AXIS_TIME) == 0 ? TIDE_PICTURE_X_TIME
                                                        : TIDE_PICTURE_X_EVENT,
        .by = options->by == NULL                     ? TIDE_PICTURE_BY_USUAL
              : strcmp(options->by, BY_CATEGORY) == 0 ? TIDE_PICTURE_BY_CATEGORY
                                                      : TIDE_PICTURE_BY_LINE,
        .is_dark = strcmp(options->theme, THEME_DARK) == 0,
        .leaves_out_scopes = options->leaves_out_scopes,
        .device =
            options->device == ANY_DEVICE ? TIDE_PICTURE_MAIN_DEVICE : (size_t)options->device,
        .width = (size_t)options->width,
        .height = (size_t)options->height,
        .scale = (size_t)options->scale,
        .title = options->title != NULL ? options->title
                 : slash != NULL        ? slash + 1
                                        : input,
        .subtitle = subtitle,
        .hidden = options->hidden.texts,
        .n_hidden = options->hidden.n};
    tide_status status = tide_picture_save(snapshot, &chosen, options->output, error);
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status picture(const picture_options *options, const char *input, tide_error *error) {
    tide_picture_format format = TIDE_PICTURE_SVG;
    TIDE_TRY(find_format(options->output, &format, error));
    if (format == TIDE_PICTURE_SVG && options->scale > 1) {
        return tide_fail(error, TIDE_INVALID,
                         "--scale is for .png: an .svg has no pixels of its own");
    }
    const tide_output output = {.path = options->output,
                                .content = format == TIDE_PICTURE_SVG ? TIDE_CONTENT_SVG
                                                                      : TIDE_CONTENT_PNG,
                                .name = TIDE_OUTPUT_NAMED,
                                .inputs = &input,
                                .n_inputs = 1};
    TIDE_TRY(tide_output_check(&output, error));
    TIDE_TRY(save(options, input, format, error));
    tide_cli_print(stdout, "picture: %s\n", options->output);
    return TIDE_OK;
}

static int run(int argc, char **argv) {
    picture_options options = {
        .width = USUAL_WIDTH, .scale = 1, .device = ANY_DEVICE, .theme = THEME_LIGHT};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    tide_status status = picture(&options, operands.texts[0], &error);
    return tide_cli_end("picture", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_picture = {
    .name = "picture",
    .summary = "the timeline of a snapshot as an SVG or PNG file",
    .options = &TABLE,
    .run = run,
};
