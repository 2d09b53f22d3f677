/* inexact.h - reports, once each, the calls that the virtual card cannot answer exactly or does not
 * simulate.
 *
 * A call that is not simulated is refused with CUDA's own error. A call with an unknown effect on
 * memory, such as a workspace whose size only the library knows, gets the best known answer. Each
 * is reported once by its name. Under `tidemark run` that is a line of the file PID.card in the
 * run's folder: "inexact" or "refused", the call, the sentence, the bound in bytes or -1, and the
 * line of the program, if known, separated by tabs. Refusals, and without a run all reports, are
 * printed to stderr. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_INEXACT_H
#define TIDE_VIRTUAL_CUDA_INEXACT_H

#include <stdint.h>

/* `call`: the function, such as "cusolverDnSgetrf_bufferSize"; static. `what`: one phrase for the
 * inexactness: "the workspace is unknown and counted as 0"; static. */
void tide_vc_inexact(const char *call, const char *what);

/* The same for a workspace that probably needs at most bound_bytes more than the size returned. The
 * bound is the fourth part of the line. If a call has several lines, the last has the largest
 * bound. */
void tide_vc_inexact_bytes(const char *call, const char *what, uint64_t bound_bytes);

/* The same for a call whose answers are of several kinds: each `what` is reported once. */
void tide_vc_inexact_kind(const char *call, const char *what, uint64_t bound_bytes);

/* `call`, static, was refused, because `why`: "graphs with conditional nodes are not simulated". */
void tide_vc_refused(const char *call, const char *why);

/* The host had no memory for `what`, a static text, because `why`: a line of the kind "host", which
 * is not an answer of the card. Also printed to stderr. */
void tide_vc_host_refused(const char *what, const char *why);

/* The virtual card answers instead of the CUDA runtime `version`, such as "13.0", that is linked
 * into the file at `path`: a line of the kind "linked", which is also not an answer of the card. */
void tide_vc_linked_runtime(const char *version, const char *path);

/* Prints a line on stderr immediately, for a fact that the user needs while the program runs.
 * `text`: full sentences, without the end of the line. Repeated calls print it again. */
void tide_vc_say(const char *text);

#endif
