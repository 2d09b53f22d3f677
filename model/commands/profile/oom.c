/* Prints on stderr the live memory when memory ran out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "model/commands/profile/internal.h"
#include "cli/words/snapshot_words.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"

enum { N_STACKS_SHOWN = 3, N_FRAMES_SHOWN = 3, FRAMES_TEXT = 512 };

/* Live blocks that one call stack allocated. */
typedef struct group {
    uint64_t n_bytes; /* whole blocks */
    size_t n_blocks;
    uint32_t stack;
    uint32_t name; /* of its largest block; TIDE_NONE */
} group;

static void print_group(const tide_snapshot *snapshot, const group *shown) {
    const char *name = tide_snapshot_text(snapshot, shown->name);
    char text[TIDE_BYTES_TEXT];
    tide_cli_print(stderr, "    %s", tide_bytes_format((int64_t)shown->n_bytes, text));
    tide_cli_print(stderr, " in %zu block%s%s%s: ", shown->n_blocks,
                   tide_plural(shown->n_blocks, "", "s"), name[0] != '\0' ? ", such as " : "",
                   name);
    char frames[FRAMES_TEXT];
    tide_words_stack(snapshot, shown->stack, N_FRAMES_SHOWN, frames, sizeof(frames));
    tide_cli_print(stderr, "%s\n", frames);
}

/* Groups of one block each: stack by stack, the largest block of a stack first. */
static int by_stack(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    if (a->stack != b->stack) {
        return a->stack < b->stack ? -1 : 1;
    }
    if (a->n_bytes != b->n_bytes) {
        return a->n_bytes > b->n_bytes ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_bytes(const void *left, const void *right) {
    uint64_t a = ((const group *)left)->n_bytes;
    uint64_t b = ((const group *)right)->n_bytes;
    return a > b ? -1 : a < b ? 1 : by_stack(left, right);
}

/* Merges the groups of one stack into one. Returns the number of remaining groups. */
static size_t merge(group *groups, size_t n) {
    size_t n_merged = 0;
    qsort(groups, n, sizeof(*groups), by_stack);
    for (size_t i = 0; i < n; i++) {
        if (n_merged > 0 && groups[n_merged - 1].stack == groups[i].stack) {
            groups[n_merged - 1].n_bytes += groups[i].n_bytes;
            groups[n_merged - 1].n_blocks++;
        } else {
            groups[n_merged++] = groups[i];
        }
    }
    qsort(groups, n_merged, sizeof(*groups), by_bytes);
    return n_merged;
}

static void print_stacks(const tide_snapshot *snapshot) {
    const tide_hostmem *mem = tide_hostmem_default();
    group *groups = tide_hostmem_zeroed(mem, snapshot->n_end_blocks, sizeof(*groups));
    if (groups == NULL) {
        return; /* the message above has the figures */
    }
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
        const tide_block_row *block = &snapshot->end_blocks[i];
        if (block->state == TIDE_BLOCK_ALLOCATED && block->stack != TIDE_NONE) {
            groups[n++] = (group){.n_bytes = block->block_bytes,
                                  .n_blocks = 1,
                                  .stack = block->stack,
                                  .name = block->name};
        }
    }
    n = merge(groups, n);
    if (n > 0) {
        tide_cli_print(stderr, "  largest call stacks:\n");
    }
    for (size_t i = 0; i < n && i < N_STACKS_SHOWN; i++) {
        print_group(snapshot, &groups[i]);
    }
    mem->release(mem->ctx, groups);
}

void tide_profile_print_oom(const tide_profile_run *run) {
    bool has_stacks = run->result.snapshot != NULL && run->result.snapshot->n_stacks > 0;
    const char *message = run->result.error.message;
    const char *end = message + strlen(message);
    /* After its list of categories the allocator's message shows call stacks as numbers. It is cut
     * there, because print_stacks has their names. */
    const char *alive = strstr(message, "\n  alive: ");
    if (alive != NULL && has_stacks) {
        end = alive + 1 + strcspn(alive + 1, "\n");
    }
    tide_cli_print(stderr, "tidemark profile: %s: %.*s\n", run->name, (int)(end - message),
                   message);
    if (has_stacks) {
        print_stacks(run->result.snapshot);
    }
}
