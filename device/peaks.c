#include "device/peaks.h"

#include <stddef.h>
#include <string.h>

/* Longer names come first, because the first match wins. Data sheets state tensor core rates with
 * 2:4 sparsity; these are the dense rates. The fp16 rate is that with fp32 accumulation, which on
 * GeForce cards is half the rate with fp16 accumulation.
 *
 * tests/unit/device/test_peaks.c recomputes each rate from the multiprocessors and the clock of the
 * board. From compute capability 9.0 on, NVIDIA states tensor core rates at a lower clock than fp32
 * rates: 1830 instead of 1980 MHz for the H100 SXM. "As quoted" means that the source is a public
 * program or page that quotes the document. */
#define QUOTED ", as quoted, dense"
static const tide_stated_peak PEAKS[] = {
    {"NVIDIA GB200", 80e12, 1250e12, 2500e12, 2500e12,
     "NVIDIA GB200 NVL72 data sheet, a 72nd" QUOTED},
    {"NVIDIA B200", 75e12, 1100e12, 2250e12, 2250e12,
     "NVIDIA HGX B200 data sheet, an eighth, dense"},
    {"NVIDIA H200", 66.9e12, 494.7e12, 989.4e12, 989.4e12, "NVIDIA H200 data sheet, dense"},
    /* Its tables state 67, 494.5 and 989. It has the processor and the clock of the H100 SXM, whose
     * white paper has one more digit. */
    {"NVIDIA GH200 480GB", 66.9e12, 494.7e12, 989.4e12, 989.4e12,
     "NVIDIA GH200 data sheet" QUOTED "; digits of the H100 architecture white paper, SXM5"},
    {"NVIDIA H100 PCIe", 51.2e12, 378e12, 756e12, 756e12,
     "NVIDIA H100 architecture white paper, dense"},
    {"NVIDIA H100 NVL", 60e12, 417.5e12, 835.5e12, 835.5e12, "NVIDIA H100 data sheet, NVL" QUOTED},
    {"NVIDIA H100 80GB HBM3", 66.9e12, 494.7e12, 989.4e12, 989.4e12,
     "NVIDIA H100 architecture white paper, SXM5, dense"},
    {"NVIDIA A100 80GB PCIe", 19.5e12, 156e12, 312e12, 312e12,
     "NVIDIA A100 data sheet, 80GB PCIe, dense"},
    {"NVIDIA A100", 19.5e12, 156e12, 312e12, 312e12, "NVIDIA A100 data sheet, dense"},
    {"NVIDIA A40", 37.4e12, 74.8e12, 149.7e12, 149.7e12,
     "a published list of NVIDIA's figures, dense"},
    {"NVIDIA A30", 10.3e12, 82.5e12, 165e12, 165e12, "published lists of NVIDIA's figures, dense"},
    {"NVIDIA A10", 31.2e12, 62.5e12, 125e12, 125e12, "NVIDIA A10 data sheet" QUOTED},
    {"NVIDIA L40S", 91.6e12, 183e12, 362.05e12, 362.05e12, "NVIDIA L40S data sheet, dense"},
    {"NVIDIA L4", 30.3e12, 60e12, 121e12, 121e12, "NVIDIA L4 data sheet" QUOTED},
    {"NVIDIA RTX 6000 Ada Generation", 91.1e12, 182e12, 364e12, 364e12,
     "NVIDIA RTX PRO Blackwell architecture white paper (bf16, and fp16 as on all such cards) and "
     "NVIDIA's page of the card" QUOTED},
    {"NVIDIA RTX A6000", 38.7e12, 77.4e12, 154.8e12, 154.8e12,
     "NVIDIA GA102 architecture white paper" QUOTED},
    {"NVIDIA GeForce RTX 5090", 104.8e12, 104.8e12, 209.5e12, 209.5e12,
     "NVIDIA RTX Blackwell architecture white paper" QUOTED},
    {"NVIDIA GeForce RTX 4090", 82.6e12, 82.6e12, 165.2e12, 165.2e12,
     "NVIDIA Ada architecture white paper, dense"},
    {"NVIDIA GeForce RTX 4080", 48.7e12, 48.7e12, 97.5e12, 97.5e12,
     "NVIDIA Ada architecture white paper" QUOTED},
    {"NVIDIA GeForce RTX 4070", 29.1e12, 29.1e12, 58.3e12, 58.3e12,
     "NVIDIA's architecture white papers" QUOTED},
    /* NVIDIA's tables have fp32 only. The other rates follow from the clock of the board: tf32
     * equals fp32, and bf16 and fp16 are twice that, as on every card of Ada's white paper. */
    {"NVIDIA GeForce RTX 4060", 15.1e12, 15.1e12, 30.2e12, 30.2e12,
     "a published table of the card's specifications, dense"},
    {"NVIDIA GeForce RTX 3090", 35.6e12, 35.6e12, 71e12, 71e12,
     "NVIDIA GA102 architecture white paper, dense"},
    {"NVIDIA GeForce RTX 3080", 29.8e12, 29.8e12, 59.5e12, 59.5e12,
     "NVIDIA GA102 architecture white paper" QUOTED},
    {"NVIDIA GeForce RTX 3070", 20.3e12, 20.3e12, 40.6e12, 40.6e12,
     "NVIDIA GA102 architecture white paper" QUOTED},
    /* Every published TF32 rate contradicts the clock. A forecast uses the fp32 rate instead, which
     * is the TF32 rate of the other GeForce cards of this architecture. */
    {"NVIDIA GeForce RTX 3060", 12.7e12, -1.0, 25.4e12, 25.4e12,
     "published lists of the card's rates, dense"},
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
