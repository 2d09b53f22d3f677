/* peaks.h - the floating point operations per second that the vendor states for a card. */
#ifndef TIDE_DEVICE_PEAKS_H
#define TIDE_DEVICE_PEAKS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Dense rates of matrix products with fp32 accumulation, in FLOP/s, at the boost clock; -1: the
 * card lacks the type, or its vendor does not state the rate. */
typedef struct tide_stated_peak {
    const char *title;  /* the beginning of the driver's name of the card */
    double fp32_flops;  /* strict fp32, outside the tensor cores */
    double tf32_flops;  /* TF32 tensor cores */
    double bf16_flops;  /* bf16 tensor cores */
    double fp16_flops;  /* fp16 tensor cores */
    const char *source; /* for people */
} tide_stated_peak;

/* The row of the card that the driver calls `device_name`, or NULL if the table lacks it. The table
 * is static. */
const tide_stated_peak *tide_stated_peak_find(const char *device_name);

/* The share of the stated peak that was achieved: flops / seconds / peak. -1 if one of them is
 * unknown or not positive. */
double tide_stated_peak_share(double flops, double seconds, double peak_flops);

#ifdef __cplusplus
}
#endif

#endif
