/* programs.h - what a program needs that is started from inside the run: the environment without
 * which it would see nothing of the view and of the virtual card.
 */
#ifndef TIDE_SCRATCH_PROGRAMS_H
#define TIDE_SCRATCH_PROGRAMS_H

#ifdef __cplusplus
extern "C" {
#endif

/* `environment`, or one with what it lacks of our variables as they were when this process started:
 * those that begin with TIDEMARK_, our objects in LD_PRELOAD, and our folder in LD_LIBRARY_PATH.
 * The new one is valid until the calling thread asks again. NULL: no memory. */
char **tide_scratch_environment(char *const *environment);

/* Brings back what the process has taken out of its own environment, for system() and popen(). */
void tide_scratch_restore_environment(void);

#ifdef __cplusplus
}
#endif

#endif
