/* unseen.h - programs that make their system calls themselves, or that nothing can be preloaded
 * into: they do not have the view, and their writes are real. Each is noted in FOLDER/unseen, one
 * line "PATH<TAB>REASON" with the path that the user knows.
 */
#ifndef TIDE_SCRATCH_UNSEEN_H
#define TIDE_SCRATCH_UNSEEN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Notes the program at this real path, if it does not have the view. `arguments`: of the program,
 * NULL-terminated, or NULL. */
void tide_scratch_note_program(const char *path, char *const *arguments);

/* The same for the program at `path` below the open folder `at`; "": `at` is the program. */
void tide_scratch_note_descriptor(int at, const char *path, char *const *arguments);

#ifdef __cplusplus
}
#endif

#endif
