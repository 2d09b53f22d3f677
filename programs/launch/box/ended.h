/* ended.h - how a process ended that is no child of this one.
 *
 * The system reports the status of a process to its parent. Other processes of the same user and
 * group can read it as long as the parent has not, and from Linux 6.15 on also later, by a
 * descriptor from before the end.
 */
#ifndef TIDE_LAUNCH_BOX_ENDED_H
#define TIDE_LAUNCH_BOX_ENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_ENDED_BYTES = 32 };

/* "SIGSEGV" or "status 1" of the process, which has ended, as a digest has it. `descriptor`: by
 * pidfd_open, from before the end; -1: none. False: unknown. Waits for the status for up to a
 * second. */
bool tide_box_how_ended(int descriptor, int64_t process, char ret_text[TIDE_ENDED_BYTES]);

/* The text of a status as wait() returns it. */
void tide_box_ended_text(int status, char ret_text[TIDE_ENDED_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
