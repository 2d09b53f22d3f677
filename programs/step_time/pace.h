/* pace.h - the parameters of a running program's clock, as a text in its environment: the host's
 * factor and the constants, calibrated for its card.
 */
#ifndef TIDE_STEP_TIME_PACE_H
#define TIDE_STEP_TIME_PACE_H

#include <stdbool.h>

#include "programs/step_time/constants.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_time_pace {
    double host; /* factor of the host's time, above 0 */
    tide_time_constants constants;
} tide_time_pace;

enum { TIDE_TIME_PACE_TEXT = 2048 };

void tide_time_pace_write(const tide_time_pace *pace, char ret_text[TIDE_TIME_PACE_TEXT]);

/* False: tide_time_pace_write did not make the text. */
bool tide_time_pace_read(const char *text, tide_time_pace *ret_pace);

#ifdef __cplusplus
}
#endif

#endif
