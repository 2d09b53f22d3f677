/* peak_program.h - a program made by hand, call by call and block by block, whose causes a test
 * knows in advance.
 */
#ifndef TIDE_TESTS_PEAK_PROGRAM_H
#define TIDE_TESTS_PEAK_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/words/peak_words.h"
#include "snapshot/explain/words/plan_words.h"

#define MIB (UINT64_C(1) << 20)
#define TORCH "/opt/lib/python3.11/site-packages/torch/"
#define USER "/me/train.py"

enum { PEAK_ROWS = 512, PEAK_TEXT = 1024, PEAK_FACTS = 8 };

/* Tables that grow as the test adds to them. All stacks begin at a line of main. */
typedef struct peak_program {
    const char *strings[PEAK_ROWS];
    size_t n_strings;
    tide_frame_row frames[PEAK_ROWS];
    size_t n_frames;
    tide_stack_row stacks[PEAK_ROWS];
    size_t n_stacks;
    tide_scope_row scopes[PEAK_ROWS];
    size_t n_scopes;
    tide_event events[PEAK_ROWS];
    size_t n_events;
    uint8_t modes[PEAK_ROWS]; /* of the events */
    uint8_t mode;             /* of the events that follow: tide_autograd_mode */
    tide_source_row source[PEAK_ROWS];
    size_t n_source;
    bool is_pickle;
    /* For tidemark plan; NULL: not recorded. */
    const char *command, *torch, *card;
    tide_snapshot_setting plan[PEAK_FACTS];
    size_t n_plan;
    int64_t rank; /* 0: no job; else the rank + 1 */
} peak_program;

#define NONE TIDE_NONE

/* A call below another one (TIDE_NONE: the outermost), as a node of the stack tree. The same call
 * gives the same node. */
uint32_t peak_call(peak_program *to, uint32_t caller, const char *function, const char *file,
                   int line);

/* A call of a module below a line: Module._call_impl, then its own code. */
uint32_t peak_module(peak_program *to, uint32_t caller, const char *function, const char *file,
                     int line);

uint32_t peak_scope(peak_program *to, uint32_t parent, tide_scope_kind kind, const char *name);

/* Where and what a block is. */
typedef struct peak_block {
    uint64_t bytes;
    uint32_t stack, scope; /* TIDE_NONE */
    tide_category category;
    const char *name; /* NULL */
} peak_block;

/* Allocates a block, and returns its address. */
uint64_t peak_alloc(peak_program *to, const peak_block *block);
void peak_free(peak_program *to, uint64_t address);
/* The same in a scope. */
void peak_free_in(peak_program *to, uint64_t address, uint32_t scope);

/* A request that fails while the device has so many bytes free. */
void peak_fail(peak_program *to, uint64_t bytes, uint64_t free_bytes, uint32_t stack,
               uint32_t scope);

/* The text of a line of USER. Lines in ascending order. */
void peak_text(peak_program *to, int line, const char *text);

/* A line of main, and a block of so many MiB without a name. */
uint32_t peak_at(peak_program *to, int line);
uint64_t peak_put(peak_program *to, uint64_t mib, uint32_t stack, uint32_t scope,
                  tide_category category);

/* Asserts that the cause fires with a sentence that contains `part`, or that it does not fire. */
void peak_has(const peak_program *of, const char *id, const char *part);
void peak_lacks(const peak_program *of, const char *id);
/* Asserts that the cause fires, and that its cure contains `part`. */
void peak_cured_by(const peak_program *of, const char *id, const char *part);

/* The sentence that names `tidemark plan`. */
void peak_plan(const peak_program *of, char words[PEAK_TEXT]);

/* The sentence of the peak, and that of its kinds. */
void peak_sentences(const peak_program *of, char lines[PEAK_TEXT], char kinds[PEAK_TEXT]);

#endif
