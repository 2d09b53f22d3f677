#include "picture/picture.h"

#include <stdio.h>

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "picture/scene_internal.h"

/* The page's themes (viewer/style/base.css). */
static const tide_picture_theme LIGHT = {0xffffff, 0x1b1f26, 0x5d6673,
                                         0xe6e8ec, 0xc02f1d, 0xd8e1ec};
static const tide_picture_theme DARK = {0x181b21, 0xe8eaee, 0x9ba4b2, 0x292e37, 0xff7b68, 0x36445a};

#define RIGHT TIDE_PICTURE_PX(14) /* of the plot */
#define LEFT TIDE_PICTURE_PX(12)

static tide_status check_side(const char *name, size_t n, size_t least, size_t most,
                              tide_error *error) {
    return n >= least && n <= most
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "--%s %zu: it must lie between %zu and %zu", name,
                           n, least, most);
}

static tide_status check(const tide_picture_options *options, tide_error *error) {
    TIDE_TRY(check_side("width", options->width, TIDE_PICTURE_MIN_WIDTH, TIDE_PICTURE_MAX_PIXELS,
                        error));
    if (options->height != 0) {
        TIDE_TRY(check_side("height", options->height, TIDE_PICTURE_MIN_HEIGHT,
                            TIDE_PICTURE_MAX_PIXELS, error));
    }
    TIDE_TRY(check_side("scale", options->scale, 1, TIDE_PICTURE_MAX_SCALE, error));
    size_t longest = options->width > options->height ? options->width : options->height;
    if (options->scale > 1 && options->scale * longest > TIDE_PICTURE_MAX_PIXELS) {
        return tide_fail(error, TIDE_INVALID,
                         "--scale %zu: the file would have more than %d pixels on a side",
                         options->scale, (int)TIDE_PICTURE_MAX_PIXELS);
    }
    return TIDE_OK;
}

/* For readers who do not see the picture. */
static void describe(tide_picture_scene *scene) {
    char bytes[TIDE_BYTES_TEXT];
    char text[2 * TIDE_PICTURE_TEXT_BYTES];
    tide_bytes_format(scene->columns->peak_bytes, bytes);
    (void)snprintf(text, sizeof(text), "%s%s%s %s", scene->options->title,
                   scene->options->title[0] != '\0' ? ": " : "",
                   scene->snapshot->n_events > 0 ? "peak" : tide_picture_peak_word(scene), bytes);
    const char *title = tide_picture_clean(scene->drawing, text);
    (void)snprintf(text, sizeof(text),
                   "Allocated bytes by %s over %s. Each column of pixels shows the instant of its "
                   "span with the most bytes.",
                   scene->bands->is_by_line ? "line of the program" : "category",
                   scene->axis->is_time ? "time" : "event number");
    const char *content = tide_picture_clean(scene->drawing, text);
    scene->drawing->title = title != NULL ? title : "";
    scene->drawing->content = content != NULL ? content : "";
}

static tide_status write_file(const tide_picture_drawing *drawing,
                              const tide_picture_options *options, const char *path,
                              tide_error *error) {
    tide_output_file file;
    TIDE_TRY(tide_output_file_open(path, &file, error));
    if (options->format == TIDE_PICTURE_SVG) {
        tide_picture_write_svg(drawing, &file);
        return tide_output_file_commit(&file, error);
    }
    tide_status status = tide_picture_write_png(drawing, options->scale, drawing->arena.mem, &file);
    if (status != TIDE_OK) {
        tide_output_file_abandon(&file);
        return status;
    }
    return tide_output_file_commit(&file, error);
}

static tide_status draw(tide_picture_scene *scene, const char *path, tide_error *error) {
    tide_picture_columns columns;
    tide_picture_drawing drawing;
    const tide_picture_options *options = scene->options;
    const tide_hostmem *mem = scene->lifetimes->mem;
    scene->plot.x = (LEFT + tide_picture_byte_axis_width(scene) + 9) / 10 * 10;
    scene->plot.w = TIDE_PICTURE_PX((int32_t)options->width) - scene->plot.x - RIGHT;
    TIDE_TRY(tide_picture_columns_init(&columns, scene->axis, scene->lifetimes, scene->device,
                                       scene->bands, (size_t)scene->plot.w / 10));
    tide_picture_drawing_init(&drawing, mem);
    drawing.width = TIDE_PICTURE_PX((int32_t)options->width);
    drawing.background = scene->theme.background;
    scene->columns = &columns;
    scene->drawing = &drawing;
    tide_status status = tide_picture_lay_out(scene, error);
    if (status == TIDE_OK) {
        describe(scene);
        status = drawing.status;
    }
    if (status == TIDE_OK) {
        status = write_file(&drawing, options, path, error);
    }
    tide_picture_drawing_fini(&drawing);
    tide_picture_columns_fini(&columns);
    return status;
}

static void add_subtitle(tide_picture_scene *scene) {
    tide_text to = tide_text_in(scene->subtitle, sizeof(scene->subtitle));
    tide_text_add(&to, "%s", scene->options->subtitle);
    if (scene->snapshot->n_devices > 1) {
        tide_text_add_item(&to, ", ", "device %zu of %zu", scene->device,
                           scene->snapshot->n_devices);
    }
}

/* Continues with the axis; the bands depend on it and the device. */
static tide_status with_bands(tide_picture_scene *scene, const char *path, tide_error *error) {
    const tide_picture_options *options = scene->options;
    tide_picture_bands bands;
    TIDE_TRY(tide_picture_bands_init(&bands, scene->snapshot, scene->lifetimes, scene->device,
                                     options->by));
    tide_status status = tide_picture_bands_hide(&bands, options->hidden, options->n_hidden, error);
    if (status == TIDE_OK) {
        scene->bands = &bands;
        status = draw(scene, path, error);
    }
    tide_picture_bands_fini(&bands);
    return status;
}

static tide_status with_scene(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              const tide_picture_options *options, const char *path,
                              tide_error *error) {
    tide_picture_axis axis;
    size_t device = options->device == TIDE_PICTURE_MAIN_DEVICE
                        ? tide_lifetimes_main_device(lifetimes)
                        : options->device;
    TIDE_TRY(tide_picture_axis_init(&axis, snapshot, device, options->axis, error));
    tide_picture_scene *scene = tide_hostmem_zeroed(lifetimes->mem, 1, sizeof(*scene));
    if (scene == NULL) {
        return TIDE_NO_MEMORY;
    }
    scene->options = options;
    scene->snapshot = snapshot;
    scene->lifetimes = lifetimes;
    scene->device = device;
    scene->axis = &axis;
    scene->theme = options->is_dark ? DARK : LIGHT;
    add_subtitle(scene);
    tide_status status = with_bands(scene, path, error);
    lifetimes->mem->release(lifetimes->mem->ctx, scene);
    return status;
}

tide_status tide_picture_save(const tide_snapshot *snapshot, const tide_picture_options *options,
                              const char *path, tide_error *error) {
    tide_lifetimes lifetimes;
    TIDE_TRY(check(options, error));
    if (snapshot->n_devices == 0) {
        return tide_fail(error, TIDE_FORMAT, "the file records no device");
    }
    if (options->device != TIDE_PICTURE_MAIN_DEVICE && options->device >= snapshot->n_devices) {
        return tide_fail(error, TIDE_INVALID, "there is no device %zu: the file has %zu",
                         options->device, snapshot->n_devices);
    }
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, error));
    tide_status status = with_scene(snapshot, &lifetimes, options, path, error);
    tide_lifetimes_fini(&lifetimes);
    return status;
}
