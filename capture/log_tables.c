/* log_tables.c - reads the journal's records in order. After a record with a wrong checksum it
 * continues at the next intact one. */
#include <string.h>

#include "capture/capture_internal.h"
#include "capture/log_contents_internal.h"
#include "common/assert.h"
#include "common/files/checksum.h"
#include "common/files/elf_note.h"

enum {
    MAX_WRONG = 4096, /* wrong checksums; then the rest of the journal is skipped */
    MAX_STREAMS = 255,
    MAX_DEVICES = 256,
    MAX_POOLS = 1 << 16,
    MAX_PYTHON = 1 << 26, /* frames */
    MAX_MODULES = 4096
};

void tide_log_tables_init(tide_log_tables *tables, const tide_hostmem *mem) {
    *tables = (tide_log_tables){.mem = mem};
    tide_strings_init(&tables->strings, mem);
    tide_map_init(&tables->string_of, mem);
    tide_map_init(&tables->stack_of, mem);
}

void tide_log_tables_fini(tide_log_tables *tables) {
    const tide_hostmem *mem = tables->mem;
    tide_strings_fini(&tables->strings);
    tide_map_fini(&tables->string_of);
    tide_map_fini(&tables->stack_of);
    mem->release(mem->ctx, tables->pcs);
    mem->release(mem->ctx, tables->stack_first);
    mem->release(mem->ctx, tables->modules);
    mem->release(mem->ctx, tables->begins);
    mem->release(mem->ctx, tables->ends);
    mem->release(mem->ctx, tables->biases);
    mem->release(mem->ctx, tables->texts);
    mem->release(mem->ctx, tables->python);
    mem->release(mem->ctx, tables->pools);
}

/* The payload of a record. Its checksum is right, but its contents may still be anything. */
typedef struct payload {
    const unsigned char *bytes;
    size_t n_bytes;
} payload;

static tide_status take_text(tide_log_tables *tables, payload from) {
    const char *key = (const char *)from.bytes;
    const unsigned char *end = memchr(from.bytes, '\0', from.n_bytes);
    if (end == NULL || from.bytes[from.n_bytes - 1] != '\0' ||
        end + 1 == from.bytes + from.n_bytes) {
        return TIDE_FORMAT;
    }
    tide_log_key_value *texts = tide_hostmem_grow(
        tables->mem, tables->texts, &tables->texts_capacity, tables->n_texts + 1, sizeof(*texts));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables->texts = texts;
    texts[tables->n_texts++] = (tide_log_key_value){key, (const char *)end + 1};
    return TIDE_OK;
}

static tide_status take_string(tide_log_tables *tables, payload from) {
    tide_log_numbered head;
    uint32_t number = 0;
    if (from.n_bytes < sizeof(head)) {
        return TIDE_FORMAT;
    }
    memcpy(&head, from.bytes, sizeof(head));
    size_t n_text = from.n_bytes - sizeof(head);
    const char *text = (const char *)from.bytes + sizeof(head);
    if (memchr(text, '\0', n_text) != NULL) {
        return TIDE_FORMAT;
    }
    TIDE_TRY(tide_strings_intern_n(&tables->strings, text, n_text, &number));
    return tide_map_put(&tables->string_of, head.number, number);
}

/* The module that was last loaded at this address, or TIDE_SYMBOL_NO_MODULE. */
static uint64_t module_at(const tide_log_tables *tables, uint64_t pc) {
    for (size_t i = tables->n_modules; i > 0; i--) {
        if (pc > tables->begins[i - 1] && pc <= tables->ends[i - 1]) {
            return i - 1; /* a return address may be one byte past a call at the module's end */
        }
    }
    return TIDE_SYMBOL_NO_MODULE;
}

static uint64_t address_of(const tide_log_tables *tables, uint64_t pc) {
    if ((pc & TIDE_LOG_PYTHON_BIT) != 0) {
        return tide_symbol_address(TIDE_CAPTURE_PYTHON, pc & ~TIDE_LOG_PYTHON_BIT);
    }
    uint64_t module = module_at(tables, pc);
    return tide_symbol_address(module,
                               pc - (module == TIDE_SYMBOL_NO_MODULE ? 0 : tables->biases[module]));
}

static tide_status take_stack(tide_log_tables *tables, payload from) {
    tide_log_numbered head;
    size_t n_new = from.n_bytes < sizeof(head) ? 0 : (from.n_bytes - sizeof(head)) / 8;
    if (n_new == 0 || from.n_bytes != sizeof(head) + n_new * 8) {
        return TIDE_FORMAT;
    }
    memcpy(&head, from.bytes, sizeof(head));
    const tide_hostmem *mem = tables->mem;
    uint64_t *pcs = tide_hostmem_grow(mem, tables->pcs, &tables->pcs_capacity,
                                      tables->n_pcs + n_new, sizeof(*pcs));
    if (pcs == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables->pcs = pcs;
    size_t *first = tide_hostmem_grow(mem, tables->stack_first, &tables->stacks_capacity,
                                      tables->n_stacks + 2, sizeof(*first));
    if (first == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables->stack_first = first;
    for (size_t i = 0; i < n_new; i++) {
        uint64_t pc = 0;
        memcpy(&pc, from.bytes + sizeof(head) + i * sizeof(pc), sizeof(pc));
        pcs[tables->n_pcs + i] = address_of(tables, pc);
    }
    TIDE_ASSERT(tables->n_stacks == 0 || first[tables->n_stacks] == tables->n_pcs);
    first[tables->n_stacks] = tables->n_pcs;
    tables->n_pcs += n_new;
    first[tables->n_stacks + 1] = tables->n_pcs;
    return tide_map_put(&tables->stack_of, head.number, tables->n_stacks++);
}

static tide_status take_stream(tide_log_tables *tables, payload from) {
    tide_log_stream stream;
    if (from.n_bytes != sizeof(stream)) {
        return TIDE_FORMAT;
    }
    memcpy(&stream, from.bytes, sizeof(stream));
    if (stream.number >= MAX_STREAMS || stream.device >= MAX_DEVICES) {
        return TIDE_FORMAT;
    }
    tables->streams[stream.number] =
        (tide_stream_row){.handle = stream.handle, .device = (uint8_t)stream.device};
    if (stream.number >= tables->n_streams) {
        tables->n_streams = stream.number + 1;
    }
    return TIDE_OK;
}

/* Makes room for one more module. */
static tide_status grow_modules(tide_log_tables *tables) {
    const tide_hostmem *mem = tables->mem;
    size_t capacity = 2 * tables->modules_capacity + 32;
    if (tables->n_modules < tables->modules_capacity) {
        return TIDE_OK;
    }
    tide_symbol_module *modules =
        mem->resize(mem->ctx, tables->modules, capacity * sizeof(*modules));
    tables->modules = modules != NULL ? modules : tables->modules;
    uint64_t **columns[] = {&tables->begins, &tables->ends, &tables->biases};
    bool has_room = modules != NULL;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && has_room; i++) {
        uint64_t *column = mem->resize(mem->ctx, *columns[i], capacity * sizeof(*column));
        *columns[i] = column != NULL ? column : *columns[i];
        has_room = column != NULL;
    }
    tables->modules_capacity = has_room ? capacity : tables->modules_capacity;
    return has_room ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status take_module(tide_log_tables *tables, payload from) {
    tide_log_module module;
    if (from.n_bytes < sizeof(module) + 1 || from.bytes[from.n_bytes - 1] != '\0') {
        return TIDE_FORMAT;
    }
    memcpy(&module, from.bytes, sizeof(module));
    if (module.build_id_bytes > TIDE_MAX_BUILD_ID ||
        module.build_id_bytes >= from.n_bytes - sizeof(module) ||
        tables->n_modules >= MAX_MODULES) {
        return TIDE_FORMAT;
    }
    TIDE_TRY(grow_modules(tables));
    size_t i = tables->n_modules++;
    const unsigned char *id = from.bytes + sizeof(module);
    tables->modules[i] = (tide_symbol_module){.path = (const char *)id + module.build_id_bytes,
                                              .build_id = id,
                                              .build_id_bytes = module.build_id_bytes,
                                              .file_bytes = module.file_bytes,
                                              .modified_s = module.modified_s};
    tables->begins[i] = module.begin;
    tables->ends[i] = module.end;
    tables->biases[i] = module.bias;
    return TIDE_OK;
}

/* The number of a string in the tables; TIDE_NONE if the journal lacks it. */
static uint32_t string_of(const tide_log_tables *tables, uint32_t number) {
    uint64_t found = TIDE_NONE;
    (void)tide_map_find(&tables->string_of, number, &found);
    return (uint32_t)found;
}

static tide_status take_python(tide_log_tables *tables, payload from) {
    tide_log_python_frame frame;
    if (from.n_bytes != sizeof(frame)) {
        return TIDE_FORMAT;
    }
    memcpy(&frame, from.bytes, sizeof(frame));
    if (frame.number >= MAX_PYTHON || frame.line > INT32_MAX) {
        return TIDE_FORMAT;
    }
    tide_log_python_frame *python =
        tide_hostmem_grow(tables->mem, tables->python, &tables->python_capacity,
                          (size_t)frame.number + 1, sizeof(*python));
    if (python == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables->python = python;
    while (tables->n_python <= frame.number) { /* numbers whose records are damaged */
        python[tables->n_python++] =
            (tide_log_python_frame){.file = TIDE_NONE, .function = TIDE_NONE};
    }
    frame.file = string_of(tables, frame.file);
    frame.function = string_of(tables, frame.function);
    python[frame.number] = frame;
    return TIDE_OK;
}

static tide_status take_pool(tide_log_tables *tables, payload from) {
    tide_log_pool pool;
    if (from.n_bytes != sizeof(pool)) {
        return TIDE_FORMAT;
    }
    memcpy(&pool, from.bytes, sizeof(pool));
    if (pool.number == 0 || pool.number >= MAX_POOLS) {
        return TIDE_FORMAT;
    }
    uint64_t(*pools)[2] = tide_hostmem_grow(tables->mem, tables->pools, &tables->pools_capacity,
                                            pool.number, sizeof(*pools));
    if (pools == NULL) {
        return TIDE_NO_MEMORY;
    }
    tables->pools = pools;
    for (; tables->n_pools < pool.number; tables->n_pools++) {
        memset(pools[tables->n_pools], 0, sizeof(pools[0]));
    }
    memcpy(pools[pool.number - 1], pool.id, sizeof(pools[0]));
    return TIDE_OK;
}

const char *tide_log_text_of(const tide_log_tables *tables, const char *key) {
    for (size_t i = tables->n_texts; i > 0; i--) {
        if (strcmp(tables->texts[i - 1].key, key) == 0) {
            return tables->texts[i - 1].value;
        }
    }
    return NULL;
}

static tide_status take(tide_log_tables *tables, uint32_t kind, payload from) {
    switch (kind) {
    case TIDE_LOG_TEXT:
        return from.n_bytes > 0 ? take_text(tables, from) : TIDE_FORMAT;
    case TIDE_LOG_STRING:
        return take_string(tables, from);
    case TIDE_LOG_STACK:
        return take_stack(tables, from);
    case TIDE_LOG_STREAM:
        return take_stream(tables, from);
    case TIDE_LOG_MODULE:
        return take_module(tables, from);
    case TIDE_LOG_PYTHON_FRAME:
        return take_python(tables, from);
    case TIDE_LOG_POOL:
        return take_pool(tables, from);
    default:
        return TIDE_OK; /* a kind of record from a later version */
    }
}

/* Reads the record at this place, if it is intact. Counts a mark with a wrong checksum. */
static bool find_record(const unsigned char *bytes, size_t n_left, tide_log_record *ret_record,
                        size_t *n_wrong) {
    tide_log_record record;
    if (n_left < sizeof(record)) {
        return false;
    }
    memcpy(&record, bytes, sizeof(record));
    if (record.mark != TIDE_LOG_RECORD_MARK || record.n_bytes > TIDE_LOG_MAX_PAYLOAD ||
        record.n_bytes > n_left - sizeof(record)) {
        return false;
    }
    uint32_t checksum = tide_crc32(0, &record.kind, sizeof(record.kind));
    checksum = tide_crc32(checksum, &record.n_bytes, sizeof(record.n_bytes));
    checksum = tide_crc32(checksum, bytes + sizeof(record), record.n_bytes);
    *ret_record = record;
    *n_wrong += checksum != record.checksum ? 1 : 0;
    return checksum == record.checksum;
}

tide_status tide_log_tables_read(const unsigned char *journal, size_t n_bytes,
                                 tide_log_tables *tables, tide_recover_report *report) {
    size_t at = 0;
    size_t n_wrong = 0;
    bool was_whole = true;
    while (at < n_bytes && n_wrong < MAX_WRONG) {
        TIDE_ASSERT(at % 8 == 0); /* records begin there */
        tide_log_record record;
        bool is_whole = find_record(journal + at, n_bytes - at, &record, &n_wrong);
        if (is_whole) {
            const payload from = {journal + at + sizeof(record), record.n_bytes};
            tide_status status = take(tables, record.kind, from);
            if (status == TIDE_NO_MEMORY) {
                return status;
            }
            report->n_records_damaged += status != TIDE_OK ? 1 : 0;
            at += sizeof(record) + ((size_t)record.n_bytes + 7) / 8 * 8;
        } else {
            report->n_records_damaged += was_whole ? 1 : 0;
            at += 8;
        }
        was_whole = is_whole;
    }
    return TIDE_OK;
}
