/* peak.h - the stated peak rate for a precision, the base of "share of peak". */
#ifndef TIDE_MODEL_PEAK_H
#define TIDE_MODEL_PEAK_H

#include "device/peaks.h"
#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rate for GEMMs of the precision (both bf16 ones have bf16 GEMMs); -1 unknown. */
double tide_stated_peak_flops(const char *device_name, tide_precision precision);

#ifdef __cplusplus
}
#endif

#endif
