#define _GNU_SOURCE /* syscall */
#include "programs/virtual_cuda/linked/object_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/assert.h"

static bool is_inside(const tide_vc_object_file *file, uint64_t at, uint64_t n_bytes) {
    return at <= file->n_bytes && n_bytes <= file->n_bytes - at;
}

static bool is_object(const tide_vc_object_file *file) {
    const ElfW(Ehdr) *head = (const void *)file->bytes;
    return file->n_bytes >= sizeof(*head) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_machine == EM_X86_64 &&
           head->e_phentsize == sizeof(ElfW(Phdr)) &&
           is_inside(file, head->e_phoff, (uint64_t)head->e_phnum * sizeof(ElfW(Phdr)));
}

/* By the system calls themselves: another preloaded library may show the program another file. */
bool tide_vc_object_file_open(const char *path, tide_vc_object_file *ret) {
    tide_vc_object_file file = {.fd =
                                    (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) {
        return false;
    }
    long n_bytes = syscall(SYS_lseek, file.fd, 0L, SEEK_END);
    void *bytes =
        n_bytes > 0 ? mmap(NULL, (size_t)n_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED) {
        (void)syscall(SYS_close, file.fd);
        return false;
    }
    file.bytes = bytes;
    file.n_bytes = (size_t)n_bytes;
    if (!is_object(&file)) {
        tide_vc_object_file_close(&file);
        return false;
    }
    *ret = file;
    return true;
}

void tide_vc_object_file_close(tide_vc_object_file *file) {
    TIDE_ASSERT(file->bytes != NULL);
    (void)munmap((void *)(uintptr_t)file->bytes, file->n_bytes);
    (void)syscall(SYS_close, file->fd);
    *file = (tide_vc_object_file){.fd = -1};
}

/* The section of that number; NULL if it is not in the file. */
static const ElfW(Shdr) * section_at(const tide_vc_object_file *file, size_t i) {
    const ElfW(Ehdr) *head = (const void *)file->bytes;
    bool is_there = i < head->e_shnum && head->e_shentsize == sizeof(ElfW(Shdr)) &&
                    head->e_shoff % sizeof(uint64_t) == 0 &&
                    is_inside(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)));
    return is_there ? (const ElfW(Shdr) *)(const void *)(file->bytes + head->e_shoff) + i : NULL;
}

bool tide_vc_object_file_symbols(const tide_vc_object_file *file, tide_vc_symbols *ret) {
    const ElfW(Shdr) *at = NULL;
    size_t i = 0;
    while ((at = section_at(file, i)) != NULL && at->sh_type != SHT_SYMTAB) {
        i++;
    }
    const ElfW(Shdr) *names = at != NULL ? section_at(file, at->sh_link) : NULL;
    if (names == NULL || !is_inside(file, at->sh_offset, at->sh_size) ||
        !is_inside(file, names->sh_offset, names->sh_size) || names->sh_size == 0 ||
        at->sh_offset % sizeof(uint64_t) != 0 ||
        file->bytes[names->sh_offset + names->sh_size - 1] != 0) {
        return false;
    }
    *ret = (tide_vc_symbols){
        .all = (const void *)(file->bytes + at->sh_offset),
        .n = at->sh_size / sizeof(ElfW(Sym)),
        .names = (const char *)file->bytes + names->sh_offset,
        .n_name_bytes = names->sh_size,
    };
    return true;
}

const char *tide_vc_symbol_name(const tide_vc_symbols *of, size_t i) {
    TIDE_ASSERT(i < of->n);
    return of->all[i].st_name < of->n_name_bytes ? of->names + of->all[i].st_name : "";
}

const unsigned char *tide_vc_object_file_at(const tide_vc_object_file *file, uint64_t address,
                                            size_t n_bytes) {
    const ElfW(Ehdr) *head = (const void *)file->bytes;
    const ElfW(Phdr) *segments = (const void *)(file->bytes + head->e_phoff);
    for (size_t i = 0; i < head->e_phnum; i++) {
        const ElfW(Phdr) *at = &segments[i];
        if (at->p_type == PT_LOAD && address >= at->p_vaddr &&
            address - at->p_vaddr <= at->p_filesz &&
            n_bytes <= at->p_filesz - (address - at->p_vaddr)) {
            uint64_t place = at->p_offset + (address - at->p_vaddr);
            return is_inside(file, place, n_bytes) ? file->bytes + place : NULL;
        }
    }
    return NULL;
}
