/* inexact.h - what the virtual card cannot know exactly, or does not simulate, is said once.
 *
 * A call that is not simulated is refused with CUDA's own error. A call whose effect on memory is
 * not known, such as the size of a workspace that only the library could tell, is answered with the
 * best that is known. Each is said once by its name: under `tidemark run` as a line of the process'
 * file PID.card in the run's folder: "inexact" or "refused", the call, the sentence, the bound in
 * bytes or -1, and the line of the program, if known, with tabs between. What was refused, and
 * without a run all of it, is printed to stderr. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_INEXACT_H
#define TIDE_VIRTUAL_CUDA_INEXACT_H

#include <stdint.h>

/* `call`: the function, such as "cusolverDnSgetrf_bufferSize"; static. `what`: one phrase that says
 * what is not exact: "the workspace is unknown and counted as 0"; static. */
void tide_vc_inexact(const char *call, const char *what);

/* The same of a work area that probably takes no more than bound_bytes beyond what was given, which
 * a line of the file has as a fourth part. Of several lines of a call the last has the largest. */
void tide_vc_inexact_bytes(const char *call, const char *what, uint64_t bound_bytes);

/* `call`, static, was refused, because `why`: "graphs with conditional nodes are not simulated". */
void tide_vc_refused(const char *call, const char *why);

/* The machine that the program runs on had no memory for `what`, a static text, because `why`: a
 * line of the kind "host", which is no answer of the card's. Printed to stderr as well. */
void tide_vc_host_refused(const char *what, const char *why);

/* Prints a line on stderr at once, for what a person must know while the program runs. `text`: full
 * sentences, without the end of the line; each is said as often as it is called for. */
void tide_vc_say(const char *text);

#endif
