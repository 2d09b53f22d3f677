/* elf.c - reads from a program's file its dynamic linker, and whether Go made it. */
#define _POSIX_C_SOURCE 200809L
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs/launch/launch_internal.h"

enum { LINE_BYTES = 512, MAX_HEADERS = 128, NOTE_BYTES = 1024 };

/* The dynamic linker that the program asks for; "" if none. */
static bool read_linker(int fd, const Elf64_Ehdr *header, char *ret_linker, size_t n_room) {
    ret_linker[0] = '\0';
    for (size_t i = 0; i < header->e_phnum && i < MAX_HEADERS; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(header->e_phoff + i * header->e_phentsize);
        if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part)) {
            return false;
        }
        if (part.p_type == PT_INTERP && part.p_filesz < n_room) {
            ssize_t n = pread(fd, ret_linker, part.p_filesz, (off_t)part.p_offset);
            ret_linker[n > 0 ? n : 0] = '\0';
        }
    }
    return true;
}

bool tide_launch_read_linker(const char *path, char *ret_linker, size_t n_room) {
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
              memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
              header.e_ident[EI_CLASS] == ELFCLASS64 &&
              read_linker(fd, &header, ret_linker, n_room);
    if (fd >= 0) {
        (void)close(fd); /* was only read */
    }
    return ok && ret_linker[0] != '\0';
}

tide_status tide_launch_check_elf(int fd, const char *path, tide_error *error) {
    Elf64_Ehdr header;
    char linker[LINE_BYTES];
    ssize_t n_read = pread(fd, &header, sizeof(header), 0);
    if (n_read < EI_NIDENT) {
        return tide_fail(error, TIDE_INVALID, "%s is no complete program", path);
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is a 32-bit program: CUDA and the virtual card are 64-bit", path);
    }
    if (n_read < (ssize_t)sizeof(header)) {
        return tide_fail(error, TIDE_INVALID, "%s is no complete program", path);
    }
    if (header.e_machine != EM_X86_64) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is a program for another processor: the virtual card runs on x86-64",
                         path);
    }
    if (!read_linker(fd, &header, linker, sizeof(linker))) {
        return tide_fail(error, TIDE_INVALID, "%s is no complete program", path);
    }
    if (linker[0] == '\0') {
        return tide_fail(error, TIDE_INVALID,
                         "%s is linked statically: the virtual card is a library that the dynamic "
                         "linker loads",
                         path);
    }
    if (strstr(linker, "musl") != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "%s uses the C library musl: the virtual card, like PyTorch with CUDA, "
                         "needs glibc",
                         path);
    }
    return TIDE_OK;
}

static size_t aligned(size_t n_bytes) {
    return (n_bytes + 3) & ~(size_t)3;
}

/* Go's linker adds a note of this name. */
static bool has_go_note(int fd, const Elf64_Phdr *part) {
    char notes[NOTE_BYTES];
    size_t n = part->p_filesz < sizeof(notes) ? (size_t)part->p_filesz : sizeof(notes);
    Elf64_Nhdr note;
    if (pread(fd, notes, n, (off_t)part->p_offset) != (ssize_t)n) {
        return false;
    }
    for (size_t at = 0; at + sizeof(note) + 4 <= n;
         at += sizeof(note) + aligned(note.n_namesz) + aligned(note.n_descsz)) {
        memcpy(&note, notes + at, sizeof(note));
        if (note.n_namesz == 4 && memcmp(notes + at + sizeof(note), "Go\0", 4) == 0) {
            return true;
        }
    }
    return false;
}

bool tide_launch_is_go(const char *path) {
    Elf64_Ehdr header;
    bool is_go = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_elf = fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
                  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                  header.e_ident[EI_CLASS] == ELFCLASS64;
    for (size_t i = 0; is_elf && !is_go && i < header.e_phnum && i < MAX_HEADERS; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(header.e_phoff + i * header.e_phentsize);
        is_go = pread(fd, &part, sizeof(part), at) == (ssize_t)sizeof(part) &&
                part.p_type == PT_NOTE && has_go_note(fd, &part);
    }
    if (fd >= 0) {
        (void)close(fd); /* was only read */
    }
    return is_go;
}
