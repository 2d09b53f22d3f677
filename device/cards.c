#include "device/cards.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* CUBLAS_WORKSPACE_CONFIG's default as PyTorch sets it: 4096 KiB * 2 + 16 KiB * 8, and 32 MiB for
 * compute capability 9.0 exactly. */
#define WORKSPACE_HOPPER ((size_t)33554432)
#define WORKSPACE_OTHERS ((size_t)8519680)
#define WORKSPACE_SOURCE "what PyTorch gives cuBLAS on this compute capability"
#define NOT_MEASURED "not measured"
#define CARD(title) title, "virtual:" title
#define MIB(n) (INT64_C(n) << 20)
#define MHZ(n) ((n)*1000)
/* tide_card_board, member by member. */
#define BOARD(...)                                                                                 \
    { __VA_ARGS__ }
/* Bytes in use by a process minus the bytes reserved by its allocator, from one message each.
 * Messages have two decimals of a GiB, so the figures are accurate to 15 MiB. A program with fewer
 * kernels than PyTorch uses less. */
#define IN_USE "PyTorch's out-of-memory message, as published: in use less reserved: "

/* The sources of the boards' figures. XLA's descriptions state a bandwidth, which is the product of
 * the driver's memory clock and bus width, so each of those two follows from the other. */
#define DEVICE_QUERY "published deviceQuery output"
#define PROPERTIES "PyTorch's device properties, as published"
#define SPECIFICATIONS "a published table of the card's specifications"
#define XLA "XLA target description of "

/* Drivers differ by a few MiB from version to version; each figure is one report. If a report has
 * only whole MiB, the card has up to one MiB more. If it has two decimals of a GiB, the figure is
 * the smallest number that rounds to them. */
static const tide_card CARDS[] = {
    {CARD("b200"), NULL, "NVIDIA B200", INT64_C(191514411008), MIB(712), WORKSPACE_OTHERS, 100,
     "XLA target description of NVIDIA B200, CUDA 12.8 (device_memory_size); PyTorch's messages "
     "say 178.35 and 178.36 GiB",
     IN_USE "168.34 - 167.64 GiB - 4.62 MiB", WORKSPACE_SOURCE,
     BOARD(148, MHZ(1965), MHZ(3996), 7680, INT64_C(132644864), -1, 1, XLA "NVIDIA B200")},
    {CARD("gb200"), NULL, "NVIDIA GB200", INT64_C(197897748480), -1, WORKSPACE_OTHERS, 100,
     "XLA target description of NVIDIA GB200, CUDA 12.8 (device_memory_size)", NOT_MEASURED,
     WORKSPACE_SOURCE,
     BOARD(152, MHZ(2062), MHZ(3996), 7936, INT64_C(135528448), -1, 1, XLA "NVIDIA GB200")},
    {CARD("h200"), "h200-141", "NVIDIA H200", MIB(143156), MIB(670), WORKSPACE_HOPPER, 90,
     "PyTorch's device properties, as published: total_memory=143156MB",
     IN_USE "139.60 - 138.14 GiB - 824.86 MiB", WORKSPACE_SOURCE,
     BOARD(132, MHZ(1980), MHZ(3201), 6144, MIB(60), 0x2335, -1,
           PROPERTIES "; clocks and bus: a published calibration")},
    {CARD("gh200-96"), NULL, "NVIDIA GH200 480GB", INT64_C(102005473280), -1, WORKSPACE_HOPPER, 90,
     "published deviceQuery output, driver CUDA 12.2: 97280 MBytes", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(132, MHZ(1980), MHZ(2619), 6144, MIB(60), 0x2342, -1, DEVICE_QUERY)},
    {CARD("h100-80"), NULL, "NVIDIA H100 80GB HBM3", INT64_C(84929347584), MIB(666),
     WORKSPACE_HOPPER, 90,
     "XLA target description of NVIDIA H100 80GB HBM3, CUDA 12.8 (device_memory_size); PyTorch's "
     "messages say 79.10 GiB",
     IN_USE "72.18 - 36.69 - 34.84 GiB", WORKSPACE_SOURCE,
     BOARD(132, MHZ(1980), MHZ(2619), 5120, MIB(50), 0x2330, 1, XLA "NVIDIA H100 80GB HBM3")},
    {CARD("h100-pcie"), NULL, "NVIDIA H100 PCIe", INT64_C(85045477376), -1, WORKSPACE_HOPPER, 90,
     "published nvaccelinfo output, driver CUDA 12.7: 85045477376 bytes", NOT_MEASURED,
     WORKSPACE_SOURCE,
     BOARD(114, MHZ(1755), MHZ(1593), 5120, MIB(50), 0x2331, 1, "published nvaccelinfo output")},
    {CARD("h100-nvl"), NULL, "NVIDIA H100 NVL", MIB(95227), MIB(675), WORKSPACE_HOPPER, 90,
     "PyTorch's out-of-memory message, as published: 93.00 GiB", IN_USE "91.91 - 86.10 - 5.15 GiB",
     WORKSPACE_SOURCE,
     BOARD(132, MHZ(1785), MHZ(2619), 6016, MIB(60), 0x2321, -1,
           PROPERTIES "; clocks and bus: NVIDIA's product brief, as quoted")},
    {CARD("a100-80"), NULL, "NVIDIA A100-SXM4-80GB", INT64_C(84987740160), MIB(409),
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.2: 81051 MBytes",
     IN_USE "16.54 - 15.94 GiB - 205.65 MiB", WORKSPACE_SOURCE,
     BOARD(108, MHZ(1410), MHZ(1593), 5120, MIB(40), 0x20b2, -1,
           XLA "NVIDIA A100-SXM4-80GB; memory clock and bus: from its bandwidth")},
    {CARD("a100-80-pcie"), NULL, "NVIDIA A100 80GB PCIe", INT64_C(84974239744), -1,
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.4: 81038 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(108, MHZ(1410), MHZ(1512), 5120, MIB(40), 0x20b5, 1,
           DEVICE_QUERY "; cache and ECC: published mixbench output")},
    {CARD("a100-40"), NULL, "NVIDIA A100-SXM4-40GB", INT64_C(42298834944), MIB(501),
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.2: 40339 MBytes",
     IN_USE "14.25 - 12.87 GiB - 912.01 MiB", WORKSPACE_SOURCE,
     BOARD(108, MHZ(1410), MHZ(1215), 5120, MIB(40), 0x20b0, 1,
           DEVICE_QUERY "; " XLA "NVIDIA A100-SXM4-40GB")},
    {CARD("a100-40-pcie"), NULL, "NVIDIA A100-PCIE-40GB", INT64_C(42298834944), -1,
     WORKSPACE_OTHERS, 80, "published deviceQuery output, driver CUDA 12.2: 40339 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(108, MHZ(1410), MHZ(1215), 5120, MIB(40), 0x20f1, -1, DEVICE_QUERY)},
    {CARD("a40"), NULL, "NVIDIA A40", INT64_C(47608692736), -1, WORKSPACE_OTHERS, 86,
     "published deviceQuery output, driver CUDA 12.4: 45403 MBytes", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(84, MHZ(1740), MHZ(7251), 384, MIB(6), 0x2235, -1, DEVICE_QUERY)},
    {CARD("a30"), NULL, "NVIDIA A30", MIB(24059), -1, WORKSPACE_OTHERS, 80,
     "PyTorch's out-of-memory message, as published: 23.50 GiB", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(56, MHZ(1440), MHZ(1215), 3072, MIB(24), 0x20b7, -1, SPECIFICATIONS)},
    {CARD("a10"), NULL, "NVIDIA A10", INT64_C(23696375808), MIB(223), WORKSPACE_OTHERS, 86,
     "published deviceQuery output, driver CUDA 12.8: 22599 MBytes",
     IN_USE "21.91 - 21.69 GiB - 1.55 MiB", WORKSPACE_SOURCE,
     BOARD(72, MHZ(1695), MHZ(6251), 384, MIB(6), 0x2236, 1, DEVICE_QUERY)},
    {CARD("rtxpro6000"), NULL, "NVIDIA RTX PRO 6000 Blackwell Server Edition", MIB(97250), -1,
     WORKSPACE_OTHERS, 120, "PyTorch's device properties, as published: total_memory=97250MB",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(188, -1, -1, 512, MIB(128), -1, -1, PROPERTIES "; bus: " SPECIFICATIONS)},
    {CARD("l40s-48"), NULL, "NVIDIA L40S", MIB(45589), -1, WORKSPACE_OTHERS, 89,
     "PyTorch's device properties, as published: total_memory=45589MB", NOT_MEASURED,
     WORKSPACE_SOURCE,
     BOARD(142, MHZ(2520), MHZ(9001), 384, MIB(96), 0x26b9, 1,
           "published cuda-device-query output")},
    {CARD("rtx6000ada"), NULL, "NVIDIA RTX 6000 Ada Generation", MIB(48622), MIB(429),
     WORKSPACE_OTHERS, 89, "PyTorch's device properties, as published: total_memory=48622MB",
     IN_USE "44.40 - 43.94 GiB - 41.95 MiB", WORKSPACE_SOURCE,
     BOARD(142, MHZ(2505), MHZ(10000), 384, MIB(96), 0x26b1, -1,
           PROPERTIES "; clocks, bus and cache: " SPECIFICATIONS)},
    {CARD("l4"), NULL, "NVIDIA L4", INT64_C(23583784960), MIB(235), WORKSPACE_OTHERS, 89,
     "published deviceQuery output, driver CUDA 12.2: 22491 MBytes",
     IN_USE "20.78 - 18.66 - 1.89 GiB", WORKSPACE_SOURCE,
     BOARD(58, MHZ(2040), MHZ(6251), 192, MIB(48), 0x27b8, 1, DEVICE_QUERY)},
    {CARD("rtxa6000"), NULL, "NVIDIA RTX A6000", INT64_C(51160023040), MIB(262), WORKSPACE_OTHERS,
     86, "published deviceQuery output, driver CUDA 12.7: 48790 MBytes",
     IN_USE "47.35 - 47.08 GiB - 14.45 MiB", WORKSPACE_SOURCE,
     BOARD(84, MHZ(1800), MHZ(8001), 384, MIB(6), 0x2230, -1, DEVICE_QUERY)},
    {CARD("rtx5090"), NULL, "NVIDIA GeForce RTX 5090", INT64_C(33680457728), MIB(595),
     WORKSPACE_OTHERS, 120, "published deviceQuery output, driver CUDA 12.8: 32120 MBytes",
     IN_USE "31.34 - 30.74 GiB - 19.41 MiB", WORKSPACE_SOURCE,
     BOARD(170, MHZ(2550), MHZ(14001), 512, MIB(96), -1, -1, DEVICE_QUERY)},
    {CARD("rtx4090"), "rtx4090-24", "NVIDIA GeForce RTX 4090", MIB(24202), MIB(504),
     WORKSPACE_OTHERS, 89, "PyTorch's out-of-memory messages, as published: 23.64 GiB",
     IN_USE "14.56 - 13.86 GiB - 213.20 MiB", WORKSPACE_SOURCE,
     BOARD(128, MHZ(2520), MHZ(10501), 384, MIB(72), 0x2684, 0,
           DEVICE_QUERY "; ECC: published trtexec output")},
    {CARD("rtx4080"), NULL, "NVIDIA GeForce RTX 4080", MIB(16049), -1, WORKSPACE_OTHERS, 89,
     "PyTorch's device properties, as published: total_memory=16049MB", NOT_MEASURED,
     WORKSPACE_SOURCE,
     BOARD(76, MHZ(2505), MHZ(11200), 256, MIB(64), 0x2704, -1,
           PROPERTIES "; clocks, bus and cache: " SPECIFICATIONS)},
    {CARD("rtx4070"), NULL, "NVIDIA GeForce RTX 4070", MIB(11874), -1, WORKSPACE_OTHERS, 89,
     "a program's check of a card in a virtual machine, as published: totalmem=11874MiB",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(46, MHZ(2475), MHZ(10500), 192, MIB(36), 0x2786, -1, SPECIFICATIONS)},
    {CARD("rtx4060"), NULL, "NVIDIA GeForce RTX 4060", MIB(7931), MIB(115), WORKSPACE_OTHERS, 89,
     "PyTorch's out-of-memory message, as published: 7.75 GiB",
     IN_USE "7.46 - 7.13 GiB - 222.83 MiB", WORKSPACE_SOURCE,
     BOARD(24, MHZ(2460), MHZ(8500), 128, MIB(24), 0x2882, -1, SPECIFICATIONS)},
    {CARD("rtx3090-24"), NULL, "NVIDIA GeForce RTX 3090", INT64_C(25447170048), -1,
     WORKSPACE_OTHERS, 86, "published deviceQuery output, driver CUDA 11.8: 24268 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(82, MHZ(1725), MHZ(9751), 384, MIB(6), 0x2204, -1, DEVICE_QUERY)},
    {CARD("rtx3080-10"), NULL, "NVIDIA GeForce RTX 3080", INT64_C(10472390656), -1,
     WORKSPACE_OTHERS, 86, "published deviceQuery output, driver CUDA 12.0: 9987 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(68, MHZ(1710), MHZ(9501), 320, MIB(5), 0x2206, 0, DEVICE_QUERY)},
    {CARD("rtx3070"), NULL, "NVIDIA GeForce RTX 3070", INT64_C(8197111808), MIB(179),
     WORKSPACE_OTHERS, 86, "published deviceQuery output, driver CUDA 12.8: 7817 MBytes",
     IN_USE "7.39 - 7.21 GiB - 5.22 MiB", WORKSPACE_SOURCE,
     BOARD(46, MHZ(1845), MHZ(7001), 256, MIB(4), 0x2484, 0, DEVICE_QUERY)},
    {CARD("rtx3060-12"), NULL, "NVIDIA GeForce RTX 3060", INT64_C(12626493440), -1,
     WORKSPACE_OTHERS, 86, "published deviceQuery output, driver CUDA 12.1: 12042 MBytes",
     NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(28, MHZ(1867), MHZ(7501), 192, INT64_C(2359296), 0x2503, 0, DEVICE_QUERY)},
    {CARD("v100-32"), NULL, "Tesla V100-SXM2-32GB", INT64_C(34089926656), -1, WORKSPACE_OTHERS, 70,
     "published deviceQuery output, driver CUDA 13.0: 32511 MBytes", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(80, MHZ(1530), MHZ(877), 4096, MIB(6), 0x1db5, -1, DEVICE_QUERY)},
    {CARD("v100-16"), NULL, "Tesla V100-SXM2-16GB", INT64_C(16928342016), -1, WORKSPACE_OTHERS, 70,
     "published deviceQuery output, driver CUDA 12.4: 16144 MBytes", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(80, MHZ(1530), MHZ(877), 4096, MIB(6), 0x1db1, 1,
           DEVICE_QUERY "; ECC: " XLA "Tesla V100-SXM2-16GB")},
    {CARD("t4-16"), NULL, "Tesla T4", INT64_C(15843721216), -1, WORKSPACE_OTHERS, 75,
     "published deviceQuery output, driver CUDA 11.0: 15110 MBytes", NOT_MEASURED, WORKSPACE_SOURCE,
     BOARD(40, MHZ(1590), MHZ(5001), 256, MIB(4), 0x1eb8, -1, DEVICE_QUERY)},
};

const tide_card *tide_cards(size_t *ret_n_cards) {
    *ret_n_cards = sizeof(CARDS) / sizeof(CARDS[0]);
    return CARDS;
}

const char *tide_card_name_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < sizeof(CARDS) / sizeof(CARDS[0]) ? CARDS[i].name : NULL;
}

/* Compares a name with the first n bytes of `written`, ignoring case. */
static bool is_same(const char *name, const char *written, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (name[i] != tolower((unsigned char)written[i])) {
            return false; /* also if the name ends first */
        }
    }
    return true;
}

/* The bytes of the name without the unit of its size: "h100-80GB" is "h100-80". */
static size_t bytes_without_unit(const char *written) {
    size_t n = strlen(written);
    size_t n_left = n;
    n_left -= n_left > 0 && tolower((unsigned char)written[n_left - 1]) == 'b';
    n_left -= n_left > 0 && tolower((unsigned char)written[n_left - 1]) == 'g';
    bool has_unit = n_left < n && n_left > 0 && tolower((unsigned char)written[n_left]) == 'g' &&
                    isdigit((unsigned char)written[n_left - 1]) != 0;
    return has_unit ? n_left : n;
}

static bool is_named(const tide_card *card, const char *written, size_t n) {
    return (strlen(card->name) == n && is_same(card->name, written, n)) ||
           (card->other_name != NULL && strlen(card->other_name) == n &&
            is_same(card->other_name, written, n));
}

bool tide_card_is_begun(const tide_card *card, const char *written) {
    size_t n = bytes_without_unit(written);
    return n > 0 && is_same(card->name, written, n) && card->name[n] == '-';
}

const tide_card *tide_card_find(const char *name) {
    const tide_card *begun = NULL;
    size_t n = bytes_without_unit(name);
    size_t n_begun = 0;
    for (size_t i = 0; i < sizeof(CARDS) / sizeof(CARDS[0]); i++) {
        if (is_named(&CARDS[i], name, n)) {
            return &CARDS[i];
        }
        if (tide_card_is_begun(&CARDS[i], name)) {
            begun = &CARDS[i];
            n_begun++;
        }
    }
    return n_begun == 1 ? begun : NULL;
}

size_t tide_card_workspace_bytes(int compute_capability) {
    return compute_capability == 90 ? WORKSPACE_HOPPER : WORKSPACE_OTHERS;
}
