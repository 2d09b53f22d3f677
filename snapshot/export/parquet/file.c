#include "snapshot/export/parquet/file.h"

#include <limits.h>
#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

#include "common/files/output_file.h"
#include "snapshot/export/parquet/column_internal.h"

#define MAGIC "PAR1"

enum {
    LEVEL = 1, /* as for snapshots: 6 takes three times as long and saves a tenth */
    GZIP_WINDOW = 31,
    /* Numbers of parquet.thrift. */
    TYPE_BOOLEAN = 0,
    TYPE_INT32 = 1,
    TYPE_INT64 = 2,
    TYPE_BYTE_ARRAY = 6,
    ENCODING_PLAIN = 0,
    ENCODING_RLE = 3,
    ENCODING_DICTIONARY = 8,
    CODEC_GZIP = 2,
    PAGE_DATA = 0,
    PAGE_DICTIONARY = 2,
    CONVERTED_UTF8 = 0,
    LOGICAL_STRING = 1
};

struct tide_parquet_file {
    const tide_hostmem *mem;           /* borrowed */
    const tide_parquet_schema *schema; /* borrowed */
    tide_output_file file;             /* where the bytes go */
    int64_t n_bytes;                   /* written so far */
    tide_pq_column *columns;           /* owned; of the schema, for the current row group */
    size_t n_rows;                     /* in the current row group */
    int64_t n_all_rows;
    size_t n_groups;
    tide_pq_bytes groups; /* the row groups' entries of the footer */
    tide_pq_bytes raw;    /* a page before compression */
    tide_pq_bytes packed; /* a page after compression */
    tide_pq_bytes header; /* of a page; at the end, the footer */
    z_stream zip;         /* zlib's state */
    bool is_deflating;    /* zlib's state is initialised */
};

static void release(tide_parquet_file *file) {
    const tide_hostmem *mem = file->mem;
    for (size_t i = 0; file->columns != NULL && i < file->schema->n_columns; i++) {
        tide_pq_column_fini(&file->columns[i]);
    }
    tide_pq_bytes_fini(&file->groups);
    tide_pq_bytes_fini(&file->raw);
    tide_pq_bytes_fini(&file->packed);
    tide_pq_bytes_fini(&file->header);
    if (file->is_deflating) {
        deflateEnd(&file->zip);
    }
    mem->release(mem->ctx, file->columns);
    mem->release(mem->ctx, file);
}

static void write_bytes(tide_parquet_file *file, const void *bytes, size_t n_bytes) {
    (void)tide_output_file_write(&file->file, bytes, n_bytes); /* the file keeps the reason */
    file->n_bytes += (int64_t)n_bytes;
}

tide_status tide_parquet_open(const char *path, const tide_parquet_schema *schema,
                              const tide_hostmem *mem, tide_parquet_file **ret_file,
                              tide_error *error) {
    tide_parquet_file *file = tide_hostmem_zeroed(mem, 1, sizeof(*file));
    if (file == NULL) {
        return TIDE_NO_MEMORY;
    }
    file->mem = mem;
    file->schema = schema;
    tide_pq_bytes_init(&file->groups, mem);
    tide_pq_bytes_init(&file->raw, mem);
    tide_pq_bytes_init(&file->packed, mem);
    tide_pq_bytes_init(&file->header, mem);
    file->columns = tide_hostmem_zeroed(mem, schema->n_columns, sizeof(*file->columns));
    tide_status status = TIDE_NO_MEMORY;
    if (file->columns == NULL) {
        goto fail;
    }
    for (size_t i = 0; i < schema->n_columns; i++) {
        tide_pq_column_init(&file->columns[i], &schema->columns[i], mem);
    }
    if (deflateInit2(&file->zip, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        goto fail;
    }
    file->is_deflating = true;
    status = tide_output_file_open(path, &file->file, error);
    if (status != TIDE_OK) {
        goto fail;
    }
    write_bytes(file, MAGIC, strlen(MAGIC));
    *ret_file = file;
    return TIDE_OK;

fail:
    release(file);
    return status;
}

/* ---- rows ---- */

void tide_parquet_put_integer(tide_parquet_file *file, size_t column, int64_t value) {
    tide_pq_column_put_integer(&file->columns[column], value);
}

void tide_parquet_put_text(tide_parquet_file *file, size_t column, const char *text) {
    if (text == NULL) {
        tide_pq_column_put_null(&file->columns[column]);
    } else {
        tide_pq_column_put_text(&file->columns[column], text);
    }
}

void tide_parquet_put_null(tide_parquet_file *file, size_t column) {
    tide_pq_column_put_null(&file->columns[column]);
}

/* ---- pages ---- */

/* Makes room, without a change of the bytes in use. */
static bool reserve(tide_pq_bytes *to, size_t n_bytes) {
    unsigned char *grown = tide_hostmem_grow(to->mem, to->bytes, &to->capacity, n_bytes, 1);
    to->bytes = grown != NULL ? grown : to->bytes;
    return grown != NULL;
}

static tide_status compress_page(tide_parquet_file *file, const tide_pq_bytes *raw) {
    if (raw->has_failed || deflateReset(&file->zip) != Z_OK || raw->n_bytes > INT_MAX / 2) {
        return TIDE_NO_MEMORY;
    }
    uLong n_most = deflateBound(&file->zip, (uLong)raw->n_bytes);
    if (!reserve(&file->packed, n_most)) {
        return TIDE_NO_MEMORY;
    }
    file->zip.next_in = raw->bytes;
    file->zip.avail_in = (uInt)raw->n_bytes;
    file->zip.next_out = file->packed.bytes;
    file->zip.avail_out = (uInt)n_most;
    if (deflate(&file->zip, Z_FINISH) != Z_STREAM_END) {
        return TIDE_NO_MEMORY;
    }
    file->packed.n_bytes = n_most - file->zip.avail_out;
    return TIDE_OK;
}

/* The extent of one column of a row group. */
typedef struct chunk {
    int64_t dictionary_at; /* offset of its dictionary; -1: none */
    int64_t data_at;
    int64_t raw_bytes, packed_bytes; /* with the headers of the pages */
} chunk;

/* Compresses a page and writes it. `n_values`: with nulls. */
static tide_status write_page(tide_parquet_file *file, const tide_pq_bytes *raw, int page,
                              size_t n_values, chunk *to) {
    TIDE_TRY(compress_page(file, raw));
    file->header.n_bytes = 0;
    tide_pq_struct header = tide_pq_struct_begin(&file->header);
    tide_pq_field_i32(&header, 1, page);
    tide_pq_field_i32(&header, 2, (int32_t)raw->n_bytes);
    tide_pq_field_i32(&header, 3, (int32_t)file->packed.n_bytes);
    tide_pq_field_i32(&header, 4,
                      (int32_t)crc32(0, file->packed.bytes, (uInt)file->packed.n_bytes));
    tide_pq_struct kind = tide_pq_field_struct(&header, page == PAGE_DATA ? 5 : 7);
    tide_pq_field_i32(&kind, 1, (int32_t)n_values);
    if (page == PAGE_DATA) {
        tide_pq_field_i32(&kind, 2, to->dictionary_at >= 0 ? ENCODING_DICTIONARY : ENCODING_PLAIN);
        tide_pq_field_i32(&kind, 3, ENCODING_RLE); /* of the levels */
        tide_pq_field_i32(&kind, 4, ENCODING_RLE);
    } else {
        tide_pq_field_i32(&kind, 2, ENCODING_PLAIN);
    }
    tide_pq_struct_end(&kind);
    tide_pq_struct_end(&header);
    if (file->header.has_failed) {
        return TIDE_NO_MEMORY;
    }
    to->raw_bytes += (int64_t)(file->header.n_bytes + raw->n_bytes);
    to->packed_bytes += (int64_t)(file->header.n_bytes + file->packed.n_bytes);
    write_bytes(file, file->header.bytes, file->header.n_bytes);
    write_bytes(file, file->packed.bytes, file->packed.n_bytes);
    return TIDE_OK;
}

static int physical_type(tide_parquet_type type) {
    static const int TYPES[] = {[TIDE_PARQUET_INT64] = TYPE_INT64,
                                [TIDE_PARQUET_INT32] = TYPE_INT32,
                                [TIDE_PARQUET_STRING] = TYPE_BYTE_ARRAY,
                                [TIDE_PARQUET_BOOLEAN] = TYPE_BOOLEAN};
    return TYPES[type];
}

/* Puts the column's entry of the footer. */
static void describe_chunk(tide_parquet_file *file, const tide_pq_column *column, const chunk *of) {
    bool has_dictionary = of->dictionary_at >= 0;
    tide_pq_struct entry = tide_pq_struct_begin(&file->groups);
    tide_pq_field_i64(&entry, 2, 0); /* file_offset: no longer used, and 0 by the format */
    tide_pq_struct meta = tide_pq_field_struct(&entry, 3);
    tide_pq_field_i32(&meta, 1, physical_type(column->kind->type));
    tide_pq_field_list(&meta, 2, TIDE_PQ_I32, has_dictionary ? 3 : 2);
    tide_pq_item_i32(&file->groups, ENCODING_PLAIN);
    tide_pq_item_i32(&file->groups, ENCODING_RLE);
    if (has_dictionary) {
        tide_pq_item_i32(&file->groups, ENCODING_DICTIONARY);
    }
    tide_pq_field_list(&meta, 3, TIDE_PQ_BINARY, 1);
    tide_pq_item_text(&file->groups, column->kind->name);
    tide_pq_field_i32(&meta, 4, CODEC_GZIP);
    tide_pq_field_i64(&meta, 5, (int64_t)column->n_rows);
    tide_pq_field_i64(&meta, 6, of->raw_bytes);
    tide_pq_field_i64(&meta, 7, of->packed_bytes);
    tide_pq_field_i64(&meta, 9, of->data_at);
    if (has_dictionary) {
        tide_pq_field_i64(&meta, 11, of->dictionary_at);
    }
    tide_pq_column_statistics(column, &meta, 12);
    tide_pq_struct_end(&meta);
    tide_pq_struct_end(&entry);
}

static tide_status write_chunk(tide_parquet_file *file, tide_pq_column *column, chunk *ret_chunk) {
    chunk of = {.dictionary_at = -1};
    if (column->kind->type == TIDE_PARQUET_STRING && column->n_texts > 0) {
        of.dictionary_at = file->n_bytes;
        TIDE_TRY(write_page(file, &column->texts, PAGE_DICTIONARY, column->n_texts, &of));
    }
    of.data_at = file->n_bytes;
    file->raw.n_bytes = 0;
    tide_pq_column_encode(column, &file->raw);
    TIDE_TRY(write_page(file, &file->raw, PAGE_DATA, column->n_rows, &of));
    describe_chunk(file, column, &of);
    *ret_chunk = of;
    return TIDE_OK;
}

static tide_status write_group(tide_parquet_file *file) {
    int64_t first_at = file->n_bytes;
    int64_t raw_bytes = 0;
    if (file->n_rows == 0) {
        return TIDE_OK;
    }
    tide_pq_struct group = tide_pq_struct_begin(&file->groups);
    tide_pq_field_list(&group, 1, TIDE_PQ_STRUCT, file->schema->n_columns);
    for (size_t i = 0; i < file->schema->n_columns; i++) {
        chunk of = {.dictionary_at = -1};
        TIDE_TRY(write_chunk(file, &file->columns[i], &of));
        raw_bytes += of.raw_bytes;
        tide_pq_column_clear(&file->columns[i]);
    }
    tide_pq_field_i64(&group, 2, raw_bytes);
    tide_pq_field_i64(&group, 3, (int64_t)file->n_rows);
    tide_pq_field_i64(&group, 5, first_at);
    tide_pq_field_i64(&group, 6, file->n_bytes - first_at);
    tide_pq_struct_end(&group);
    file->n_groups++;
    file->n_rows = 0;
    return file->groups.has_failed ? TIDE_NO_MEMORY : file->file.reason != 0 ? TIDE_IO : TIDE_OK;
}

tide_status tide_parquet_end_row(tide_parquet_file *file) {
    bool is_full = ++file->n_rows >= TIDE_PARQUET_GROUP_ROWS;
    file->n_all_rows++;
    for (size_t i = 0; i < file->schema->n_columns; i++) {
        const tide_pq_column *column = &file->columns[i];
        if (column->has_failed) {
            return TIDE_NO_MEMORY;
        }
        is_full = is_full || column->texts.n_bytes >= TIDE_PARQUET_DICTIONARY_BYTES;
    }
    return is_full ? write_group(file) : TIDE_OK;
}

/* ---- the footer ---- */

static void put_schema(tide_pq_struct *footer, const tide_parquet_schema *schema) {
    tide_pq_bytes *to = footer->to;
    tide_pq_field_list(footer, 2, TIDE_PQ_STRUCT, schema->n_columns + 1);
    tide_pq_struct root = tide_pq_struct_begin(to);
    tide_pq_field_text(&root, 4, schema->table);
    tide_pq_field_i32(&root, 5, (int32_t)schema->n_columns);
    tide_pq_struct_end(&root);
    for (size_t i = 0; i < schema->n_columns; i++) {
        const tide_parquet_column *column = &schema->columns[i];
        tide_pq_struct element = tide_pq_struct_begin(to);
        tide_pq_field_i32(&element, 1, physical_type(column->type));
        tide_pq_field_i32(&element, 3, column->is_optional ? 1 : 0);
        tide_pq_field_text(&element, 4, column->name);
        if (column->type == TIDE_PARQUET_STRING) {
            tide_pq_field_i32(&element, 6, CONVERTED_UTF8); /* for older readers */
            tide_pq_struct logical = tide_pq_field_struct(&element, 10);
            tide_pq_struct text = tide_pq_field_struct(&logical, LOGICAL_STRING);
            tide_pq_struct_end(&text);
            tide_pq_struct_end(&logical);
        }
        tide_pq_struct_end(&element);
    }
}

static void put_keys(tide_pq_struct *footer, const tide_parquet_schema *schema) {
    tide_pq_field_list(footer, 5, TIDE_PQ_STRUCT, schema->n_keys);
    for (size_t i = 0; i < schema->n_keys; i++) {
        tide_pq_struct entry = tide_pq_struct_begin(footer->to);
        tide_pq_field_text(&entry, 1, schema->keys[i].key);
        tide_pq_field_text(&entry, 2, schema->keys[i].value);
        tide_pq_struct_end(&entry);
    }
}

static tide_status write_footer(tide_parquet_file *file) {
    tide_pq_bytes *to = &file->header;
    to->n_bytes = 0;
    tide_pq_struct footer = tide_pq_struct_begin(to);
    tide_pq_field_i32(&footer, 1, 2); /* version of the format */
    put_schema(&footer, file->schema);
    tide_pq_field_i64(&footer, 3, file->n_all_rows);
    tide_pq_field_list(&footer, 4, TIDE_PQ_STRUCT, file->n_groups);
    tide_pq_put(to, file->groups.bytes, file->groups.n_bytes);
    put_keys(&footer, file->schema);
    tide_pq_field_text(&footer, 6, TIDE_PARQUET_CREATED_BY);
    /* The order of values in the statistics: that of their types. */
    tide_pq_field_list(&footer, 7, TIDE_PQ_STRUCT, file->schema->n_columns);
    for (size_t i = 0; i < file->schema->n_columns; i++) {
        tide_pq_struct order = tide_pq_struct_begin(to);
        tide_pq_struct by_type = tide_pq_field_struct(&order, 1);
        tide_pq_struct_end(&by_type);
        tide_pq_struct_end(&order);
    }
    tide_pq_struct_end(&footer);
    tide_pq_put_u32(to, (uint32_t)to->n_bytes);
    tide_pq_put(to, MAGIC, strlen(MAGIC));
    if (to->has_failed) {
        return TIDE_NO_MEMORY;
    }
    write_bytes(file, to->bytes, to->n_bytes);
    return TIDE_OK;
}

tide_status tide_parquet_finish(tide_parquet_file *file) {
    TIDE_TRY(write_group(file));
    TIDE_TRY(write_footer(file));
    return file->file.reason != 0 ? TIDE_IO : TIDE_OK;
}

bool tide_parquet_has_failed(const tide_parquet_file *file) {
    return file->file.reason != 0;
}

tide_status tide_parquet_commit(tide_parquet_file *file, tide_error *error) {
    tide_status status = tide_output_file_commit(&file->file, error);
    release(file);
    return status;
}

void tide_parquet_abandon(tide_parquet_file *file) {
    if (file != NULL) {
        tide_output_file_abandon(&file->file);
        release(file);
    }
}
