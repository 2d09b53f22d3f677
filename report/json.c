/* A report as the JSON that docs/reference/json.md describes. */
#include <math.h>
#include <string.h>

#include "report/harmless.h"
#include "report/table_internal.h"
#include "snapshot/format/json_writer.h"

enum { REPORT_VERSION = 1 }; /* of the JSON; raised if a name changes its meaning */

static tide_status to_file(void *ctx, const char *text, size_t n_bytes) {
    tide_harmless *to = ctx;
    tide_harmless_write(to, text, n_bytes);
    return ferror(to->out) ? TIDE_IO : TIDE_OK;
}

static void json_cell(tide_json_writer *json, const tide_cell *cell) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        tide_json_text(json, cell->exact);
        break;
    case TIDE_CELL_BYTES:
    case TIDE_CELL_COUNT:
    case TIDE_CELL_CHANGE:
        tide_json_integer(json, cell->integer);
        break;
    case TIDE_CELL_NONE:
        tide_json_null(json);
        break;
    default: /* JSON cannot express a number that is not finite */
        if (isfinite(cell->real)) {
            tide_json_real(json, cell->real);
        } else {
            tide_json_null(json);
        }
        break;
    }
}

static void json_rows(tide_json_writer *json, const tide_table *table) {
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        tide_json_line(json);
        tide_json_begin_object(json);
        for (size_t i = 0; i < table->n_columns; i++) {
            tide_json_key(json, table->columns[i].key);
            json_cell(json, &row->cells[i]);
        }
        tide_json_end_object(json);
    }
}

/* All parts of the table that begins with `first`. */
static void json_table(tide_json_writer *json, const tide_report *report, const tide_table *first) {
    tide_json_line(json);
    tide_json_key(json, first->key);
    tide_json_begin_object(json);
    tide_json_key_text(json, "title", first->title);
    tide_json_key(json, "columns");
    tide_json_begin_array(json);
    for (size_t i = 0; i < first->n_columns; i++) {
        tide_json_text(json, first->columns[i].key);
    }
    tide_json_end_array(json);
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && strcmp(item->table->key, first->key) == 0) {
            json_rows(json, item->table);
        }
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
}

static void json_figures(tide_json_writer *json, const tide_report *report) {
    tide_json_key(json, "figures");
    tide_json_begin_object(json);
    for (const tide_report_figure *figure = report->figures; figure != NULL;
         figure = figure->next) {
        tide_json_line(json);
        tide_json_key(json, figure->key);
        json_cell(json, &figure->cell);
    }
    tide_json_end_object(json);
}

static const tide_report_item *first_sentence(const tide_report *report, const char *key) {
    const tide_report_item *item = report->first;
    while (item->table != NULL || strcmp(item->key, key) != 0) {
        item = item->next;
    }
    return item;
}

/* Several sentences may have one key, so each key has a list. */
static void json_sentences(tide_json_writer *json, const tide_report *report) {
    tide_json_key(json, "sentences");
    tide_json_begin_object(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL || item != first_sentence(report, item->key)) {
            continue;
        }
        tide_json_line(json);
        tide_json_key(json, item->key);
        tide_json_begin_array(json);
        for (const tide_report_item *same = item; same != NULL; same = same->next) {
            if (same->table == NULL && strcmp(same->key, item->key) == 0) {
                tide_json_text(json, same->text);
            }
        }
        tide_json_end_array(json);
    }
    tide_json_end_object(json);
}

static void json_report(tide_json_writer *json, const tide_report *report) {
    tide_json_begin_object(json);
    tide_json_key_text(json, "format", "tidemark-report");
    tide_json_key(json, "version");
    tide_json_integer(json, REPORT_VERSION);
    tide_json_key_text(json, "command", report->command);
    json_figures(json, report);
    tide_json_line(json);
    tide_json_key(json, "tables");
    tide_json_begin_object(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && item->table == tide_report_find(report, item->table->key)) {
            json_table(json, report, item->table);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
    json_sentences(json, report);
    tide_json_end_object(json);
}

tide_status tide_report_print_json(const tide_report *report, FILE *out) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_harmless to; /* its escapes are those of JSON */
    tide_harmless_begin(&to, out);
    tide_json_writer_init(json, to_file, &to);
    json_report(json, report);
    tide_status status = tide_json_writer_finish(json);
    tide_harmless_end(&to);
    fputc('\n', out);
    mem->release(mem->ctx, json);
    /* The caller checks `out` for failed writes. */
    return status == TIDE_IO ? TIDE_OK : status;
}
