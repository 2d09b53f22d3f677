/* eh_frame.c - finds the frame description entry of an address, and makes a rule of it.
 *
 * Follows DWARF 5, section 6.4, and for the encodings and the header the Linux Standard Base 5.0,
 * core generic, section 10.6. The sections of a loaded file can be damaged, or belong to an unknown
 * file, so every read is bounded by the segment.
 */
#include "stack/eh_frame_internal.h"

#include <string.h>

#include "stack/cfa_program_internal.h"

enum { ENCODING_OMIT = 0xff, ENCODING_FORMAT = 0x0f, ENCODING_RELATIVE = 0x70 };
enum { RELATIVE_TO_SELF = 0x10, RELATIVE_TO_DATA = 0x30 };
enum { HEADER_VERSION = 1, TABLE_ENTRY_BYTES = 8 };

/* A common information entry (CIE): the part that several frame description entries (FDEs)
 * share. */
typedef struct cie {
    uint64_t code_alignment;
    int64_t data_alignment;
    uint8_t pointer_encoding;     /* of the FDE's addresses */
    bool has_augmentation;        /* FDEs carry a length and that many bytes to skip */
    tide_byte_range instructions; /* every FDE begins with these */
} cie;

/* A pointer in one of the encodings DW_EH_PE_*. Data-relative ones are offsets from `data`; "self"
 * is the place of the pointer in memory, which is why the section is read where it is loaded. */
static uint64_t read_encoded(tide_cfa_reader *reader, uint8_t encoding, uint64_t data) {
    uint64_t at = (uint64_t)(uintptr_t)reader->next;
    uint64_t value = 0;
    switch (encoding & ENCODING_FORMAT) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = tide_cfa_read(reader, 8);
        break;
    case 0x01:
        value = tide_cfa_read_uleb(reader);
        break;
    case 0x02:
        value = tide_cfa_read(reader, 2);
        break;
    case 0x03:
        value = tide_cfa_read(reader, 4);
        break;
    case 0x09:
        value = (uint64_t)tide_cfa_read_sleb(reader);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)tide_cfa_read(reader, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)tide_cfa_read(reader, 4);
        break;
    default:
        reader->is_bad = true;
    }
    switch (encoding & (0xff & ~ENCODING_FORMAT)) {
    case 0:
        return value;
    case RELATIVE_TO_SELF:
        return value + at;
    case RELATIVE_TO_DATA:
        return value + data;
    default:
        reader->is_bad = true; /* indirect, aligned, relative to text or function */
        return 0;
    }
}

/* A reader of the entry's content, which follows its length. An empty entry makes it bad. */
static tide_cfa_reader open_entry(tide_byte_range section, const uint8_t *entry) {
    tide_cfa_reader reader = {.next = entry, .end = section.end};
    if (entry < section.begin || entry >= section.end) {
        reader.is_bad = true;
        return reader;
    }
    uint64_t n_bytes = tide_cfa_read(&reader, 4);
    /* 0 ends the section. 0xffffffff would begin a 64-bit length: no linker writes one here, and
     * the comparison refuses it as too long. */
    if (reader.is_bad || n_bytes == 0 || n_bytes > (uint64_t)(section.end - reader.next)) {
        reader.is_bad = true;
        return reader;
    }
    reader.end = reader.next + n_bytes;
    return reader;
}

/* Reads the data of the letters that follow 'z'. False for an unknown letter, because its data
 * could change the meaning of the rest, and for 'S', a signal frame: its return address does not
 * follow a call, and all registers come from the signal's context. */
static bool read_augmentation(tide_cfa_reader *reader, const char *letters, cie *ret) {
    uint64_t n_bytes = tide_cfa_read_uleb(reader);
    const uint8_t *begin = reader->next;
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'R':
            ret->pointer_encoding = (uint8_t)tide_cfa_read(reader, 1);
            break;
        case 'L':
            (void)tide_cfa_read(reader, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)tide_cfa_read(reader, 1);
            /* Read only to skip it: the personality routine is for exceptions. */
            (void)read_encoded(reader, encoding & ENCODING_FORMAT, 0);
            break;
        }
        default:
            return false;
        }
    }
    if (reader->is_bad || n_bytes < (uint64_t)(reader->next - begin)) {
        return false;
    }
    tide_cfa_skip(reader, n_bytes - (uint64_t)(reader->next - begin));
    return !reader->is_bad;
}

static bool read_cie(tide_byte_range section, const uint8_t *entry, cie *ret) {
    tide_cfa_reader reader = open_entry(section, entry);
    uint64_t id = tide_cfa_read(&reader, 4);
    uint64_t version = tide_cfa_read(&reader, 1);
    if (reader.is_bad || id != 0 || (version != 1 && version != 3)) {
        return false;
    }
    const uint8_t *zero = memchr(reader.next, 0, (size_t)(reader.end - reader.next));
    if (zero == NULL) {
        return false;
    }
    const char *letters = (const char *)reader.next;
    reader.next = zero + 1;
    ret->code_alignment = tide_cfa_read_uleb(&reader);
    ret->data_alignment = tide_cfa_read_sleb(&reader);
    uint64_t return_register =
        version == 1 ? tide_cfa_read(&reader, 1) : tide_cfa_read_uleb(&reader);
    ret->pointer_encoding = 0;
    ret->has_augmentation = letters[0] == 'z';
    if (ret->has_augmentation ? !read_augmentation(&reader, letters + 1, ret)
                              : letters[0] != '\0') {
        return false;
    }
    ret->instructions = (tide_byte_range){reader.next, reader.end};
    return !reader.is_bad && return_register == TIDE_CFA_RETURN_ADDRESS;
}

tide_unwind_rule tide_eh_frame_rule(tide_byte_range section, const uint8_t *fde, uint64_t pc) {
    const tide_unwind_rule other = {.kind = TIDE_UNWIND_OTHER};
    tide_cfa_reader reader = open_entry(section, fde);
    const uint8_t *id = reader.next;
    uint64_t distance = tide_cfa_read(&reader, 4);
    if (reader.is_bad || distance == 0 || distance > (uint64_t)(id - section.begin)) {
        return other;
    }
    cie common;
    if (!read_cie(section, id - distance, &common)) {
        return other;
    }
    uint64_t begin = read_encoded(&reader, common.pointer_encoding, 0);
    uint64_t n_bytes = read_encoded(&reader, common.pointer_encoding & ENCODING_FORMAT, 0);
    if (common.has_augmentation) {
        tide_cfa_skip(&reader, tide_cfa_read_uleb(&reader));
    }
    if (reader.is_bad || (common.pointer_encoding & ENCODING_RELATIVE) == RELATIVE_TO_DATA ||
        pc < begin || pc - begin >= n_bytes) {
        return other;
    }
    return tide_cfa_run(&(tide_cfa_program){.common = common.instructions,
                                            .own = {reader.next, reader.end},
                                            .code_alignment = common.code_alignment,
                                            .data_alignment = common.data_alignment,
                                            .n_code_bytes = pc - begin});
}

static int32_t table_value(const uint8_t *at) {
    int32_t value = 0;
    memcpy(&value, at, sizeof(value));
    return value;
}

const uint8_t *tide_eh_frame_find(tide_byte_range section, const uint8_t *header, uint64_t pc) {
    enum { SIGNED_4_BYTES_RELATIVE_TO_DATA = 0x3b };
    tide_cfa_reader reader = {.next = header, .end = section.end};
    if (header < section.begin || header >= section.end) {
        return NULL;
    }
    uint64_t version = tide_cfa_read(&reader, 1);
    uint8_t frame_encoding = (uint8_t)tide_cfa_read(&reader, 1);
    uint8_t count_encoding = (uint8_t)tide_cfa_read(&reader, 1);
    uint64_t table_encoding = tide_cfa_read(&reader, 1);
    if (reader.is_bad || version != HEADER_VERSION || frame_encoding == ENCODING_OMIT ||
        count_encoding == ENCODING_OMIT || table_encoding != SIGNED_4_BYTES_RELATIVE_TO_DATA) {
        return NULL;
    }
    uint64_t base = (uint64_t)(uintptr_t)header;
    (void)read_encoded(&reader, frame_encoding, base);
    uint64_t n_entries = read_encoded(&reader, count_encoding, base);
    if (reader.is_bad || n_entries > (uint64_t)(reader.end - reader.next) / TABLE_ENTRY_BYTES) {
        return NULL;
    }
    /* Binary search: entries below `low` begin at or before pc, those from `high` on after it. */
    uint64_t low = 0;
    uint64_t high = n_entries;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *entry = reader.next + middle * TABLE_ENTRY_BYTES;
        if (base + (uint64_t)(int64_t)table_value(entry) <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    int32_t offset = table_value(reader.next + (low - 1) * TABLE_ENTRY_BYTES + 4);
    int64_t place = (int64_t)(header - section.begin) + offset;
    return place < 0 || place >= section.end - section.begin ? NULL : section.begin + place;
}
