/* programs.h - the environment of a program that is started inside the run: without it the program
 * would not see the view or the virtual card.
 */
#ifndef TIDE_SCRATCH_PROGRAMS_H
#define TIDE_SCRATCH_PROGRAMS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns `environment`, or a copy with our variables added as they were when this process started:
 * those that begin with TIDEMARK_, our objects in LD_PRELOAD, and our folder in LD_LIBRARY_PATH.
 * The copy is valid until the calling thread's next call. NULL: no memory. */
char **tide_scratch_environment(char *const *environment);

/* Restores our variables that the process has removed from its own environment, for system() and
 * popen(). */
void tide_scratch_restore_environment(void);

#ifdef __cplusplus
}
#endif

#endif
