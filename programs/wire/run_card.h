/* run_card.h - the file PID.card of a run's folder: the values that the virtual card does not know
 * exactly, and the calls that it does not simulate (programs/virtual_cuda/process/inexact.h has its
 * lines).
 */
#ifndef TIDE_WIRE_RUN_CARD_H
#define TIDE_WIRE_RUN_CARD_H

/* The `call` of a line which reports that the program's kernels were not built for the card. That
 * is not a fault of the virtual card: the program fails as on a real one. */
#define TIDE_RUN_NO_KERNELS "kernels"

#endif
