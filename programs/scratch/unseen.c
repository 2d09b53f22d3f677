#define _GNU_SOURCE /* O_CLOEXEC, AT_EMPTY_PATH */
#include "programs/scratch/unseen.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/state.h"

enum { HEAD_BYTES = 512, NOTE_BYTES = 1024, MAX_PARTS = 64, MAX_SECTIONS = 256 };

/* The properties of an ELF file. */
typedef struct elf {
    Elf64_Ehdr header;
    bool is_dynamic; /* it has a table for a dynamic linker, as the linkers themselves have */
    bool is_named;   /* that table has a name: true for libraries and linkers, false for programs */
    bool is_go;
    bool has_linker; /* it asks for a dynamic linker */
    bool is_musl;    /* which is musl's */
} elf;

static bool read_at(int fd, uint64_t offset, void *to, size_t n_bytes) {
    return tide_scratch_call(SYS_pread64, fd, tide_scratch_word(to), (long)n_bytes, (long)offset,
                             0) == (long)n_bytes;
}

static bool has_name(int fd, const Elf64_Phdr *part) {
    Elf64_Dyn row = {.d_tag = DT_NULL};
    for (size_t i = 0; i < part->p_filesz / sizeof(row); i++) {
        if (!read_at(fd, part->p_offset + i * sizeof(row), &row, sizeof(row)) ||
            row.d_tag == DT_NULL) {
            return false;
        }
        if (row.d_tag == DT_SONAME) {
            return true;
        }
    }
    return false;
}

static size_t aligned(size_t n_bytes) {
    return (n_bytes + 3) & ~(size_t)3;
}

/* Go's linker adds a note of this name. */
static bool has_go_note(int fd, const Elf64_Phdr *part) {
    char notes[NOTE_BYTES];
    size_t n = part->p_filesz < sizeof(notes) ? (size_t)part->p_filesz : sizeof(notes);
    Elf64_Nhdr note;
    if (!read_at(fd, part->p_offset, notes, n)) {
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

/* The same note as a section, if no part of the program covers it. */
static bool has_go_section(int fd, const Elf64_Ehdr *header) {
    static const char NAME[] = ".note.go.buildid";
    Elf64_Shdr names;
    Elf64_Shdr section = {.sh_type = SHT_NULL};
    char name[sizeof(NAME)];
    if (header->e_shentsize != sizeof(section) || header->e_shstrndx >= header->e_shnum ||
        !read_at(fd, header->e_shoff + header->e_shstrndx * sizeof(names), &names, sizeof(names))) {
        return false;
    }
    for (size_t i = 0; i < header->e_shnum && i < MAX_SECTIONS; i++) {
        if (read_at(fd, header->e_shoff + i * sizeof(section), &section, sizeof(section)) &&
            section.sh_type == SHT_NOTE &&
            read_at(fd, names.sh_offset + section.sh_name, name, sizeof(name)) &&
            memcmp(name, NAME, sizeof(NAME)) == 0) {
            return true;
        }
    }
    return false;
}

static bool names_musl(int fd, const Elf64_Phdr *part) {
    char linker[256];
    size_t n = part->p_filesz;
    if (n >= sizeof(linker) || !read_at(fd, part->p_offset, linker, n)) {
        return false;
    }
    linker[n] = '\0';
    return strstr(linker, "musl") != NULL;
}

static void read_parts(int fd, elf *to) {
    const Elf64_Ehdr *header = &to->header;
    for (size_t i = 0; i < header->e_phnum && i < MAX_PARTS; i++) {
        Elf64_Phdr part = {.p_type = PT_NULL};
        if (!read_at(fd, header->e_phoff + i * sizeof(part), &part, sizeof(part))) {
            return;
        }
        if (part.p_type == PT_INTERP) {
            to->has_linker = true;
            to->is_musl = names_musl(fd, &part);
        } else if (part.p_type == PT_DYNAMIC) {
            to->is_dynamic = true;
            to->is_named = has_name(fd, &part);
        } else if (part.p_type == PT_NOTE) {
            to->is_go = to->is_go || has_go_note(fd, &part);
        }
    }
    to->is_go = to->is_go || has_go_section(fd, header);
}

static bool has_other_rights(int fd) {
    struct stat status = {.st_mode = 0};
    char value[64];
    if (tide_sys_stat(fd, "", &status, AT_EMPTY_PATH) != 0) {
        return false;
    }
    return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
           ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()) ||
           (geteuid() != 0 &&
            tide_scratch_call(SYS_fgetxattr, fd, tide_scratch_word("security.capability"),
                              tide_scratch_word(value), sizeof(value), 0) > 0);
}

/* The program that a directly started dynamic linker runs; NULL if none. */
static const char *operand_of(char *const *arguments) {
    static const char *const WITH_VALUE[] = {
        "--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
        "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
    size_t i = arguments != NULL && arguments[0] != NULL ? 1 : 0;
    while (i > 0 && arguments[i] != NULL && arguments[i][0] == '-') {
        if (strcmp(arguments[i], "--list") == 0 || strcmp(arguments[i], "--verify") == 0) {
            return NULL; /* it runs nothing */
        }
        bool has_value = false;
        for (size_t k = 0; k < sizeof(WITH_VALUE) / sizeof(WITH_VALUE[0]); k++) {
            has_value = has_value || strcmp(arguments[i], WITH_VALUE[k]) == 0;
        }
        i += has_value && arguments[i + 1] != NULL ? 2 : 1;
    }
    return i > 0 ? arguments[i] : NULL;
}

static const char *why_elf_unseen(int fd, bool is_direct, elf *of) {
    if (!read_at(fd, 0, &of->header, sizeof(of->header)) ||
        memcmp(of->header.e_ident, ELFMAG, SELFMAG) != 0) {
        return NULL;
    }
    if (of->header.e_ident[EI_CLASS] != ELFCLASS64) {
        return "is a program of 32 bits";
    }
    if (of->header.e_type != ET_EXEC && of->header.e_type != ET_DYN) {
        return NULL;
    }
    read_parts(fd, of);
    if (of->is_go) {
        return "is a Go program";
    }
    if (of->is_musl) {
        return "uses the C library musl";
    }
    bool is_library = of->is_dynamic && of->is_named; /* a dynamic linker, if it is started */
    return !of->has_linker && !(is_direct && is_library) ? "is linked statically" : NULL;
}

/* The interpreter of a script, in `head`, which holds its first line; NULL if it is not a
 * script. */
static char *interpreter_of(char *head, long n) {
    if (n < 3 || head[0] != '#' || head[1] != '!') {
        return NULL;
    }
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    return name;
}

/* Why the open program cannot see the view; NULL if it can. `ret_by`: the interpreter of a script,
 * or the program that a dynamic linker runs, if that is the reason; otherwise "". */
static const char *why_unseen(int fd, char *const *arguments, char ret_by[HEAD_BYTES]) {
    char head[HEAD_BYTES];
    elf of = {.is_go = false};
    ret_by[0] = '\0';
    long n = tide_scratch_call(SYS_pread64, fd, tide_scratch_word(head), sizeof(head) - 1, 0, 0);
    head[n > 0 ? n : 0] = '\0';
    if (has_other_rights(fd)) {
        return "runs with the rights of another user";
    }
    const char *next = interpreter_of(head, n);
    if (next == NULL) {
        const char *why = why_elf_unseen(fd, true, &of);
        bool is_linker = why == NULL && of.is_named && !of.has_linker;
        next = is_linker ? operand_of(arguments) : NULL;
        if (next == NULL) {
            return why;
        }
    }
    int other = tide_sys_open(AT_FDCWD, next, O_RDONLY | O_CLOEXEC, 0);
    const char *why = NULL;
    if (other >= 0) {
        of = (elf){.is_go = false};
        why = why_elf_unseen(other, false, &of);
        (void)tide_sys_close(other);
    }
    if (why != NULL && strlen(next) < HEAD_BYTES) {
        memcpy(ret_by, next, strlen(next) + 1);
    }
    return why;
}

/* Python's ctypes and others use this to list the loader's cache; it writes nothing. */
static bool lists_cache(const char *path, char *const *arguments) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && strcmp(slash, "/ldconfig") == 0 && arguments != NULL &&
           arguments[0] != NULL && arguments[1] != NULL && strcmp(arguments[1], "-p") == 0;
}

/* The user knows a copy by the path that it replaces. */
static const char *known_path(const tide_scratch_state *state, const char *path) {
    bool is_copy = strncmp(path, state->files, state->n_files) == 0 && path[state->n_files] == '/';
    return is_copy ? path + state->n_files : path;
}

static char *add(char *end, const char *limit, const char *text) {
    size_t n = strlen(text);
    if (n >= (size_t)(limit - end)) {
        return end;
    }
    memcpy(end, text, n + 1);
    return end + n;
}

static void note(int fd, const char *path, char *const *arguments) {
    const tide_scratch_state *state = tide_scratch_state_get();
    char by[HEAD_BYTES];
    char line[2 * TIDE_SCRATCH_PATH_BYTES];
    const char *why = why_unseen(fd, arguments, by);
    if (why == NULL) {
        return;
    }
    memcpy(line, state->files, state->n_folder);
    memcpy(line + state->n_folder, "/unseen", sizeof("/unseen"));
    int to = tide_sys_open(AT_FDCWD, line, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (to < 0) {
        return;
    }
    const char *limit = line + sizeof(line);
    char *end = add(line, limit, known_path(state, path));
    end = add(end, limit, "\t");
    if (by[0] != '\0') {
        end = add(add(add(end, limit, "runs "), limit, by), limit, ", which ");
    }
    end = add(add(end, limit, why), limit, "\n");
    (void)tide_scratch_call(SYS_write, to, tide_scratch_word(line), end - line, 0, 0);
    (void)tide_sys_close(to);
}

void tide_scratch_note_descriptor(int at, const char *path, char *const *arguments) {
    enum { DESCRIPTOR_BYTES = 40 };
    char link[DESCRIPTOR_BYTES] = "/proc/self/fd/";
    char name[TIDE_SCRATCH_PATH_BYTES];
    if (tide_scratch_state_get()->mode != TIDE_SCRATCH_ON) {
        return;
    }
    /* Opened again: `at` may be a path only (O_PATH), which cannot be read. */
    size_t n = strlen(link);
    char digits[DESCRIPTOR_BYTES];
    size_t n_digits = 0;
    int fd = path[0] != '\0' ? tide_sys_open(at, path, O_RDONLY | O_CLOEXEC, 0) : at;
    for (int rest = fd; fd >= 0 && (n_digits == 0 || rest != 0); rest /= 10) {
        digits[n_digits++] = (char)('0' + rest % 10);
    }
    while (n_digits > 0) {
        link[n++] = digits[--n_digits];
    }
    link[n] = '\0';
    long n_name = fd >= 0 ? tide_sys_readlink(AT_FDCWD, link, name, sizeof(name) - 1) : -1;
    int opened = n_name > 0 ? tide_sys_open(AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (opened >= 0) {
        name[n_name] = '\0';
        note(opened, name, arguments);
        (void)tide_sys_close(opened);
    }
    if (path[0] != '\0' && fd >= 0) {
        (void)tide_sys_close(fd);
    }
}

void tide_scratch_note_program(const char *path, char *const *arguments) {
    if (tide_scratch_state_get()->mode != TIDE_SCRATCH_ON || lists_cache(path, arguments)) {
        return;
    }
    int fd = tide_sys_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        note(fd, path, arguments);
        (void)tide_sys_close(fd);
    }
}
