#define _GNU_SOURCE /* process_vm_readv */
#include "programs/virtual_cuda/launches/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    /* A record of .nv.info: one byte for the format, one for the kind, and 16 bits that hold the
     * value or, in this format, the length of the data that follow. */
    RECORD_BYTES = 4,
    FORMAT_LONG = 4,
    KIND_REGISTERS = 0x2f, /* 32 bits: the symbol; 32 bits: registers */
    MAX_REGISTERS = 255,
    RESERVED_BYTES = 1024 /* the system's share, which newer compilers include in a kernel's own */
};

typedef struct reader {
    const unsigned char *image;
    size_t n_bytes;
    Elf64_Ehdr header;
    const char *names; /* of the sections; ends in '\0' */
    size_t n_names;
    bool counts_reserved; /* shared memory includes the system's share */
    tide_vc_use *uses;
    size_t n_uses, n_room;
} reader;

uint64_t tide_vc_cubin_hash(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* ---- sections ---- */

static bool get(const reader *of, uint64_t at, void *to, size_t n_bytes) {
    if (at > of->n_bytes || n_bytes > of->n_bytes - at) {
        return false;
    }
    memcpy(to, of->image + at, n_bytes);
    return true;
}

static bool section(const reader *of, size_t i, Elf64_Shdr *ret) {
    return i < of->header.e_shnum && of->header.e_shentsize >= sizeof(*ret) &&
           get(of, of->header.e_shoff + i * of->header.e_shentsize, ret, sizeof(*ret));
}

/* The section's bytes in the image. False if the image does not have them. */
static bool content(const reader *of, const Elf64_Shdr *row, const unsigned char **ret) {
    if (row->sh_type == SHT_NOBITS || row->sh_offset > of->n_bytes ||
        row->sh_size > of->n_bytes - row->sh_offset) {
        return false;
    }
    *ret = of->image + row->sh_offset;
    return true;
}

/* A table of texts; its last byte must be '\0', so that every text in it ends. */
static bool texts(const reader *of, size_t i, const char **ret, size_t *ret_n) {
    Elf64_Shdr row;
    const unsigned char *bytes = NULL;
    if (!section(of, i, &row) || !content(of, &row, &bytes) || row.sh_size == 0 ||
        bytes[row.sh_size - 1] != '\0') {
        return false;
    }
    *ret = (const char *)bytes;
    *ret_n = row.sh_size;
    return true;
}

static const char *section_name(const reader *of, const Elf64_Shdr *row) {
    return row->sh_name < of->n_names ? of->names + row->sh_name : "";
}

static bool open_image(reader *of) {
    return get(of, 0, &of->header, sizeof(of->header)) &&
           memcmp(of->header.e_ident, ELFMAG, SELFMAG) == 0 &&
           of->header.e_ident[EI_CLASS] == ELFCLASS64 &&
           texts(of, of->header.e_shstrndx, &of->names, &of->n_names);
}

/* ---- kernels ---- */

static bool add(reader *to, const char *name, uint32_t n_registers) {
    if (to->n_uses == to->n_room) {
        size_t more = to->n_room > 0 ? 2 * to->n_room : 64;
        tide_vc_use *larger = realloc(to->uses, more * sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        to->uses = larger;
        to->n_room = more;
    }
    to->uses[to->n_uses++] =
        (tide_vc_use){.name_hash = tide_vc_cubin_hash(name), .n_registers = n_registers};
    return true;
}

/* The name of a symbol; NULL if there is no such symbol. */
static const char *symbol_name(const reader *of, const Elf64_Shdr *symbols, uint32_t i) {
    const char *names = NULL;
    size_t n_names = 0;
    Elf64_Sym symbol;
    if (i >= symbols->sh_size / sizeof(symbol) ||
        !get(of, symbols->sh_offset + i * sizeof(symbol), &symbol, sizeof(symbol)) ||
        !texts(of, symbols->sh_link, &names, &n_names) || symbol.st_name >= n_names) {
        return NULL;
    }
    return names + symbol.st_name;
}

/* The records of .nv.info. */
static bool read_records(reader *of, const Elf64_Shdr *row, const Elf64_Shdr *symbols) {
    const unsigned char *at = NULL;
    if (!content(of, row, &at)) {
        return false;
    }
    const unsigned char *end = at + row->sh_size;
    while ((size_t)(end - at) >= RECORD_BYTES) {
        uint16_t n_bytes = 0;
        uint32_t value[2] = {0, 0};
        bool is_long = at[0] == FORMAT_LONG;
        bool is_registers = is_long && at[1] == KIND_REGISTERS;
        memcpy(&n_bytes, at + 2, sizeof(n_bytes));
        at += RECORD_BYTES;
        if (!is_long) {
            continue;
        }
        if (n_bytes > (size_t)(end - at)) {
            return false;
        }
        if (is_registers && n_bytes == sizeof(value)) {
            memcpy(value, at, sizeof(value));
            const char *name = symbol_name(of, symbols, value[0]);
            if (name != NULL && value[1] > 0 && value[1] <= MAX_REGISTERS &&
                !add(of, name, value[1])) {
                return false;
            }
        }
        at += n_bytes;
    }
    return true;
}

/* A section .nv.shared.NAME is as large as the static shared memory of the kernel NAME. */
static void read_shared(reader *of, const Elf64_Shdr *row) {
    static const char PREFIX[] = ".nv.shared.";
    const char *name = section_name(of, row);
    if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0) {
        return;
    }
    uint64_t hash = tide_vc_cubin_hash(name + sizeof(PREFIX) - 1);
    uint64_t own = of->counts_reserved && row->sh_size >= RESERVED_BYTES
                       ? row->sh_size - RESERVED_BYTES
                       : row->sh_size;
    for (size_t i = 0; i < of->n_uses; i++) {
        if (of->uses[i].name_hash == hash) {
            of->uses[i].shared_bytes = own < UINT32_MAX ? (uint32_t)own : UINT32_MAX;
        }
    }
}

size_t tide_vc_cubin_read(const unsigned char *image, size_t n_bytes, tide_vc_use **ret_uses) {
    reader of = {.image = image, .n_bytes = n_bytes};
    Elf64_Shdr row;
    Elf64_Shdr info = {.sh_type = SHT_NULL};
    Elf64_Shdr symbols = {.sh_type = SHT_NULL};
    *ret_uses = NULL;
    if (!open_image(&of)) {
        return 0;
    }
    for (size_t i = 0; section(&of, i, &row); i++) {
        if (row.sh_type == SHT_SYMTAB) {
            symbols = row;
        } else if (strcmp(section_name(&of, &row), ".nv.info") == 0) {
            info = row;
        } else if (strcmp(section_name(&of, &row), ".nv.shared.reserved.0") == 0) {
            of.counts_reserved = true;
        }
    }
    if (info.sh_type == SHT_NULL || symbols.sh_type == SHT_NULL ||
        !read_records(&of, &info, &symbols)) {
        free(of.uses);
        return 0;
    }
    for (size_t i = 0; section(&of, i, &row); i++) {
        read_shared(&of, &row);
    }
    *ret_uses = of.uses;
    return of.n_uses;
}

/* ---- variables and parameters ---- */

enum {
    KIND_PARAMETER = 0x17, /* in .nv.info.KERNEL: 32 bits, then number and offset of 16 bits each */
    PARAMETER_BYTES = 12,
    SIZE_SHIFT = 18 /* of the size in the last 32 bits */
};

typedef struct items {
    tide_vc_cubin_item *all; /* from malloc */
    size_t n, room;
} items;

static bool add_item(items *to, tide_vc_cubin_item item) {
    if (to->n == to->room) {
        size_t more = to->room > 0 ? 2 * to->room : 16;
        tide_vc_cubin_item *larger = realloc(to->all, more * sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        to->all = larger;
        to->room = more;
    }
    to->all[to->n++] = item;
    return true;
}

/* Objects that a section holds. Compilers make them local symbols. */
static bool add_variables(const reader *of, const Elf64_Shdr *symbols, items *to) {
    Elf64_Sym symbol;
    const unsigned char *bytes = NULL;
    if (!content(of, symbols, &bytes)) { /* its size is not bounded by the image */
        return true;
    }
    for (uint32_t i = 0; i < symbols->sh_size / sizeof(symbol); i++) {
        const char *name = symbol_name(of, symbols, i);
        if (name == NULL ||
            !get(of, symbols->sh_offset + i * sizeof(symbol), &symbol, sizeof(symbol))) {
            continue;
        }
        bool is_variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT &&
                           symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0;
        if (is_variable && !add_item(to, (tide_vc_cubin_item){.name_hash = tide_vc_cubin_hash(name),
                                                              .n_bytes = symbol.st_size})) {
            return false;
        }
    }
    return true;
}

static bool add_parameters(const reader *of, const Elf64_Shdr *row, const char *kernel, items *to) {
    const unsigned char *at = NULL;
    if (!content(of, row, &at)) {
        return true;
    }
    const unsigned char *end = at + row->sh_size;
    while ((size_t)(end - at) >= RECORD_BYTES) {
        uint16_t n_bytes = 0;
        bool is_long = at[0] == FORMAT_LONG;
        bool is_parameter = is_long && at[1] == KIND_PARAMETER;
        memcpy(&n_bytes, at + 2, sizeof(n_bytes));
        at += RECORD_BYTES;
        n_bytes = is_long ? n_bytes : 0;
        if (n_bytes > (size_t)(end - at)) {
            return true;
        }
        if (is_parameter && n_bytes == PARAMETER_BYTES) {
            uint16_t place[2] = {0, 0};
            uint32_t rest = 0;
            memcpy(place, at + 4, sizeof(place));
            memcpy(&rest, at + 8, sizeof(rest));
            if (!add_item(to, (tide_vc_cubin_item){.kernel_hash = tide_vc_cubin_hash(kernel),
                                                   .number = place[0],
                                                   .offset = place[1],
                                                   .n_bytes = rest >> SIZE_SHIFT})) {
                return false;
            }
        }
        at += n_bytes;
    }
    return true;
}

bool tide_vc_cubin_items(const unsigned char *image, size_t n_bytes, tide_vc_cubin_item **ret_items,
                         size_t *ret_n) {
    static const char PREFIX[] = ".nv.info.";
    reader of = {.image = image, .n_bytes = n_bytes};
    items found = {.all = NULL};
    Elf64_Shdr row;
    bool is_read = open_image(&of);
    for (size_t i = 0; is_read && section(&of, i, &row); i++) {
        const char *name = section_name(&of, &row);
        if (row.sh_type == SHT_SYMTAB) {
            is_read = add_variables(&of, &row, &found);
        } else if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0) {
            is_read = add_parameters(&of, &row, name + sizeof(PREFIX) - 1, &found);
        }
    }
    if (!is_read) {
        free(found.all);
        return false;
    }
    *ret_items = found.all;
    *ret_n = found.n;
    return true;
}

/* ---- images in memory ---- */

/* False if no memory is mapped there. */
static bool get_from_memory(uint64_t address, void *to, size_t n_bytes) {
    struct iovec local = {to, n_bytes};
    struct iovec remote = {(void *)(uintptr_t)address, n_bytes};
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n < 0 && errno != EFAULT) { /* a sandbox may not allow the call */
        memcpy(to, (const void *)(uintptr_t)address, n_bytes);
        return true;
    }
    return n == (ssize_t)n_bytes;
}

/* Moves *end to the end of a part of the image. False: the image would be too large. */
static bool reaches(size_t *end, uint64_t at, uint64_t n_bytes) {
    if (at > TIDE_VC_CUBIN_MOST_BYTES || n_bytes > TIDE_VC_CUBIN_MOST_BYTES - at) {
        return false;
    }
    *end = at + n_bytes > *end ? at + n_bytes : *end;
    return true;
}

/* Bytes of the image, from its own headers; 0: they are damaged. */
static size_t measure(uint64_t image) {
    Elf64_Ehdr header;
    Elf64_Shdr row;
    size_t end = sizeof(header);
    if (!get_from_memory(image, &header, sizeof(header)) || header.e_shentsize < sizeof(row) ||
        !reaches(&end, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize)) {
        return 0;
    }
    for (uint64_t i = 0; i < header.e_shnum; i++) {
        if (!get_from_memory(image + header.e_shoff + i * header.e_shentsize, &row, sizeof(row)) ||
            (row.sh_type != SHT_NOBITS && !reaches(&end, row.sh_offset, row.sh_size))) {
            return 0;
        }
    }
    return end;
}

bool tide_vc_cubin_is(const void *image) {
    return memcmp(image, ELFMAG, SELFMAG) == 0;
}

unsigned char *tide_vc_cubin_copy(const void *image, size_t *ret_n_bytes) {
    size_t n_bytes = measure((uintptr_t)image);
    unsigned char *copy = n_bytes > 0 ? malloc(n_bytes) : NULL;
    if (copy == NULL || !get_from_memory((uintptr_t)image, copy, n_bytes)) {
        free(copy);
        return NULL;
    }
    *ret_n_bytes = n_bytes;
    return copy;
}
