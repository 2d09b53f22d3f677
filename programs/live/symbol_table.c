#define _POSIX_C_SOURCE 200809L
#include "programs/live/symbol_table.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory. The process has loaded this library, but the file may have been replaced since,
 * so every offset is checked. */
typedef struct image {
    const unsigned char *bytes;
    uint64_t n_bytes;
} image;

static const void *part_of(image in, uint64_t offset, uint64_t n_bytes) {
    return offset <= in.n_bytes && n_bytes <= in.n_bytes - offset && offset % 8 == 0
               ? in.bytes + offset
               : NULL;
}

/* Visits one table of symbols. */
static int visit_table(image in, const Elf64_Shdr *table, const Elf64_Shdr *texts, uintptr_t base,
                       const char *part, int (*visit)(void *ctx, uintptr_t address), void *ctx) {
    const Elf64_Sym *symbols = part_of(in, table->sh_offset, table->sh_size);
    bool has_texts = texts->sh_offset <= in.n_bytes &&
                     texts->sh_size <= in.n_bytes - texts->sh_offset && texts->sh_size > 0;
    if (symbols == NULL || !has_texts) {
        return 0;
    }
    const char *names = (const char *)in.bytes + texts->sh_offset;
    if (names[texts->sh_size - 1] != '\0') {
        return 0;
    }
    int result = 0;
    for (uint64_t i = 0; i < table->sh_size / sizeof(*symbols) && result == 0; i++) {
        if (symbols[i].st_name < texts->sh_size && symbols[i].st_value != 0 &&
            strstr(names + symbols[i].st_name, part) != NULL) {
            result = visit(ctx, base + (uintptr_t)symbols[i].st_value);
        }
    }
    return result;
}

static int visit_image(image in, uintptr_t base, const char *part,
                       int (*visit)(void *ctx, uintptr_t address), void *ctx) {
    const Elf64_Ehdr *head = part_of(in, 0, sizeof(*head));
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_shentsize != sizeof(Elf64_Shdr)) {
        return 0;
    }
    const Elf64_Shdr *sections =
        part_of(in, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*sections));
    int result = 0;
    for (size_t i = 0; sections != NULL && i < head->e_shnum && result == 0; i++) {
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum) {
            result = visit_table(in, &sections[i], &sections[sections[i].sh_link], base, part,
                                 visit, ctx);
        }
    }
    return result;
}

int tide_symbol_table_visit(const char *file, uintptr_t base, const char *part,
                            int (*visit)(void *ctx, uintptr_t address), void *ctx) {
    struct stat status;
    int result = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            image in = {bytes, (uint64_t)status.st_size};
            result = visit_image(in, base, part, visit, ctx);
            (void)munmap(bytes, (size_t)status.st_size);
        }
    }
    (void)close(fd); /* was only read */
    return result;
}
