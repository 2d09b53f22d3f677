#include "device/peaks.h"

#include <stddef.h>
#include <string.h>

/* Longer names come first, because the first match wins. Data sheets state tensor core rates with
 * 2:4 sparsity; these are the dense rates. Their rate of fp16 is that with fp32
 * sums, which GeForce cards have at half of the rate with fp16 sums. */
static const tide_stated_peak PEAKS[] = {
    {"NVIDIA B200", 75e12, 1100e12, 2250e12, 2250e12,
     "NVIDIA HGX B200 data sheet, an eighth, dense"},
    {"NVIDIA H200", 66.9e12, 494.7e12, 989.4e12, 989.4e12, "NVIDIA H200 data sheet, dense"},
    {"NVIDIA H100 PCIe", 51.2e12, 378e12, 756e12, 756e12,
     "NVIDIA H100 architecture white paper, dense"},
    {"NVIDIA H100 80GB HBM3", 66.9e12, 494.7e12, 989.4e12, 989.4e12,
     "NVIDIA H100 architecture white paper, SXM5, dense"},
    {"NVIDIA A100 80GB PCIe", 19.5e12, 156e12, 312e12, 312e12,
     "NVIDIA A100 data sheet, 80GB PCIe, dense"},
    {"NVIDIA A100", 19.5e12, 156e12, 312e12, 312e12, "NVIDIA A100 data sheet, dense"},
    {"NVIDIA A40", 37.4e12, 74.8e12, 149.7e12, 149.7e12,
     "a published list of NVIDIA's figures, dense"},
    {"NVIDIA L40S", 91.6e12, 183e12, 362.05e12, 362.05e12, "NVIDIA L40S data sheet, dense"},
    {"NVIDIA GeForce RTX 4090", 82.6e12, 82.6e12, 165.2e12, 165.2e12,
     "NVIDIA Ada architecture white paper, dense"},
    /* NVIDIA's tables have fp32 only. The clock of the board gives the others: tf32 as fp32, and
     * bf16 and fp16 twice that, as on every card of Ada's white paper. */
    {"NVIDIA GeForce RTX 4060", 15.1e12, 15.1e12, 30.2e12, 30.2e12,
     "a published table of the card's specifications, dense"},
    {"NVIDIA GeForce RTX 3090", 35.6e12, 35.6e12, 71e12, 71e12,
     "NVIDIA GA102 architecture white paper, dense"},
    {"Tesla V100-SXM2", 15.7e12, -1.0, -1.0, 125e12, "NVIDIA's figures for the V100, SXM2"},
    {"Tesla T4", 8.1e12, -1.0, -1.0, 65e12, "NVIDIA T4 data sheet"},
};

const tide_stated_peak *tide_stated_peak_find(const char *device_name) {
    for (size_t i = 0; i < sizeof(PEAKS) / sizeof(PEAKS[0]); i++) {
        size_t n = strlen(PEAKS[i].title);
        /* A match must end at a word: "RTX 3090 Ti" is not an RTX 3090, but "A100-SXM4-80GB" is an
         * A100. */
        if (strncmp(device_name, PEAKS[i].title, n) == 0 &&
            (device_name[n] == '\0' || device_name[n] == '-')) {
            return &PEAKS[i];
        }
    }
    return NULL;
}
