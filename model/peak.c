#include "model/peak.h"

#include <stddef.h>

double tide_stated_peak_flops(const char *device_name, tide_precision precision) {
    const tide_stated_peak *peak = tide_stated_peak_find(device_name);
    if (peak == NULL) {
        return -1.0;
    }
    switch (precision) {
    case TIDE_PRECISION_FP32:
        return peak->fp32_flops;
    case TIDE_PRECISION_TF32:
        return peak->tf32_flops;
    case TIDE_PRECISION_BF16_MIXED:
    case TIDE_PRECISION_BF16_TRUE:
        return peak->bf16_flops;
    case TIDE_PRECISION_FP16_MIXED:
        return peak->fp16_flops;
    case TIDE_N_PRECISIONS:
        break;
    }
    return -1.0;
}
