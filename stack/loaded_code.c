/* loaded_code.c - finds the module of a return address in the list of the dynamic linker. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "stack/loaded_code_internal.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

typedef struct search {
    uint64_t pc;              /* of the call; in */
    uint64_t linker_address;  /* load address of the dynamic linker; 0: not known */
    size_t n_seen;            /* modules so far */
    bool is_linker_seen;      /* the dynamic linker was one of them */
    tide_code_rule *ret_rule; /* filled in */
} search;

static tide_code_counts counts_of(const struct dl_phdr_info *info) {
    return (tide_code_counts){.n_loaded = info->dlpi_adds, .n_unloaded = info->dlpi_subs};
}

static int take_counts(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    (void)n_bytes;
    *(tide_code_counts *)data = counts_of(info);
    return 1; /* the counts are the same for every module: one is enough */
}

tide_code_counts tide_loaded_code_count(void) {
    tide_code_counts counts = {0, 0};
    (void)dl_iterate_phdr(take_counts, &counts);
    return counts;
}

static const uint8_t *pointer_to(uint64_t address) {
    const uint8_t *pointer = NULL;
    memcpy(&pointer, &address, sizeof(pointer));
    return pointer;
}

/* The loaded segment of this module that holds the address; NULL: none does. */
static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, uint64_t address) {
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        /* For an address below the segment the difference wraps around to a huge number. */
        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            return segment;
        }
    }
    return NULL;
}

static const ElfW(Phdr) * header_of(const struct dl_phdr_info *info, uint32_t type) {
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == type) {
            return &info->dlpi_phdr[i];
        }
    }
    return NULL;
}

/* Whether the module was linked with -z nodelete. */
static bool stays_for_ever(const struct dl_phdr_info *info) {
    const ElfW(Phdr) *dynamic = header_of(info, PT_DYNAMIC);
    if (dynamic == NULL) {
        return false;
    }
    ElfW(Dyn) entry;
    const uint8_t *entries = pointer_to(info->dlpi_addr + dynamic->p_vaddr);
    for (size_t i = 0; i < dynamic->p_memsz / sizeof(entry); i++) {
        memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
        if (entry.d_tag == DT_NULL) {
            return false;
        }
        if (entry.d_tag == DT_FLAGS_1) {
            return (entry.d_un.d_val & DF_1_NODELETE) != 0;
        }
    }
    return false;
}

static tide_unwind_rule rule_in(const struct dl_phdr_info *info, uint64_t pc) {
    const tide_unwind_rule other = {.kind = TIDE_UNWIND_OTHER};
    const ElfW(Phdr) *header = header_of(info, PT_GNU_EH_FRAME);
    if (header == NULL) {
        return other;
    }
    uint64_t address = info->dlpi_addr + header->p_vaddr;
    const ElfW(Phdr) *segment = segment_of(info, address);
    if (segment == NULL) {
        return other;
    }
    const uint8_t *begin = pointer_to(info->dlpi_addr + segment->p_vaddr);
    tide_byte_range section = {begin, begin + segment->p_filesz};
    const uint8_t *fde = tide_eh_frame_find(section, pointer_to(address), pc);
    return fde == NULL ? other : tide_eh_frame_rule(section, fde, pc);
}

/* Modules are listed in the order in which they were loaded. The C library needs the dynamic
 * linker, so all modules up to it came with the program and stay until it ends. Some modules listed
 * later also stay; we do not recognise them, and their rules are checked needlessly. */
static int look_at(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    (void)n_bytes;
    search *s = data;
    s->ret_rule->counts = counts_of(info);
    if (segment_of(info, s->pc) != NULL) {
        bool came_with_program = s->n_seen == 0 || (s->linker_address != 0 && !s->is_linker_seen);
        s->ret_rule->may_go = !came_with_program && !stays_for_ever(info);
        s->ret_rule->rule = rule_in(info, s->pc);
        return 1;
    }
    s->n_seen++;
    s->is_linker_seen = s->is_linker_seen || info->dlpi_addr == s->linker_address;
    return 0;
}

tide_code_rule tide_loaded_code_rule(uint64_t return_address) {
    tide_code_rule found = {.rule = {.kind = TIDE_UNWIND_OTHER}, .may_go = true};
    search s = {.pc = return_address - 1,
                .linker_address = (uint64_t)getauxval(AT_BASE),
                .ret_rule = &found};
    (void)dl_iterate_phdr(look_at, &s);
    return found;
}
