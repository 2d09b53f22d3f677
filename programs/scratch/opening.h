/* opening.h - opens a file of the view. A file opened for writing gets a copy first.
 */
#ifndef TIDE_SCRATCH_OPENING_H
#define TIDE_SCRATCH_OPENING_H

#ifdef __cplusplus
extern "C" {
#endif

/* As openat. The descriptor, or -errno. */
int tide_scratch_open(int at, const char *path, int flags, unsigned mode);

#ifdef __cplusplus
}
#endif

#endif
