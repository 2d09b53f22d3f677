/* The list of shapes. */
#include "picture/drawing_internal.h"

void tide_picture_drawing_init(tide_picture_drawing *drawing, const tide_hostmem *mem) {
    *drawing = (tide_picture_drawing){.title = "", .content = ""};
    tide_arena_init(&drawing->arena, mem);
}

void tide_picture_drawing_fini(tide_picture_drawing *drawing) {
    const tide_hostmem *mem = drawing->arena.mem;
    if (mem == NULL) {
        return;
    }
    mem->release(mem->ctx, drawing->shapes);
    mem->release(mem->ctx, drawing->points);
    tide_arena_fini(&drawing->arena);
    *drawing = (tide_picture_drawing){.status = TIDE_OK};
}

static void add_shape(tide_picture_drawing *drawing, const tide_picture_shape *shape,
                      tide_picture_shape_kind kind) {
    void *grown = tide_hostmem_grow(drawing->arena.mem, drawing->shapes, &drawing->shapes_capacity,
                                    drawing->n_shapes + 1, sizeof(*drawing->shapes));
    if (grown == NULL) {
        drawing->status = TIDE_NO_MEMORY;
        return;
    }
    drawing->shapes = grown;
    tide_picture_shape *added = &drawing->shapes[drawing->n_shapes++];
    *added = *shape;
    added->kind = kind;
    added->first_point = drawing->n_points;
}

void tide_picture_add_rect(tide_picture_drawing *drawing, const tide_picture_shape *rect) {
    add_shape(drawing, rect, TIDE_PICTURE_RECT);
}

void tide_picture_add_path(tide_picture_drawing *drawing, const tide_picture_shape *path) {
    add_shape(drawing, path, path->stroke > 0 ? TIDE_PICTURE_LINE : TIDE_PICTURE_AREA);
}

void tide_picture_add_point(tide_picture_drawing *drawing, int32_t x, int32_t y, bool is_start) {
    void *grown = tide_hostmem_grow(drawing->arena.mem, drawing->points, &drawing->points_capacity,
                                    drawing->n_points + 1, sizeof(*drawing->points));
    if (grown == NULL || drawing->n_shapes == 0) {
        drawing->points = grown != NULL ? grown : drawing->points;
        drawing->status = TIDE_NO_MEMORY;
        return;
    }
    drawing->points = grown;
    drawing->points[drawing->n_points++] = (tide_picture_point){x, y, is_start};
    drawing->shapes[drawing->n_shapes - 1].n_points++;
}

void tide_picture_add_text(tide_picture_drawing *drawing, const tide_picture_shape *text,
                           const char *words) {
    tide_picture_shape shape = *text;
    shape.text = tide_picture_clean(drawing, words);
    if (shape.text != NULL && shape.text[0] != '\0') {
        shape.w = tide_picture_text_width(shape.text, shape.font, shape.is_bold);
        add_shape(drawing, &shape, TIDE_PICTURE_TEXT);
    }
}
