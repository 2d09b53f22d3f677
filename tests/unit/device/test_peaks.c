/* test_peaks.c - the stated rates compared with what the multiprocessors compute per second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cards.h"
#include "device/peaks.h"

/* Half a unit of the last digit of the least precise figures: 60 TFLOP/s has two digits, and so has
 * 600, of which the B200's 75 is an eighth. Both are known to 0.5 / 60 = 0.83 %, all others better.
 * A wrong number of lanes is off by a factor of two; two multiprocessors of 188 are 1.1 %. */
#define ROUNDING (0.5 / 60.0 + 1e-4)

/* Boards whose report (device/cards.h) has another clock than the vendor's specification, since
 * their makers set it higher: the vendor's boost clock, which the stated rates hold for. */
static const struct {
    const char *card;
    double mhz;
} VENDOR_CLOCKS[] = {
    {"rtx5090", 2407.0}, {"rtx3090-24", 1695.0}, {"rtx3070", 1725.0}, {"rtx3060-12", 1777.0}};

static double clock_hz_of(const tide_card *card) {
    for (size_t i = 0; i < sizeof(VENDOR_CLOCKS) / sizeof(VENDOR_CLOCKS[0]); i++) {
        if (strcmp(VENDOR_CLOCKS[i].card, card->name) == 0) {
            return VENDOR_CLOCKS[i].mhz * 1e6;
        }
    }
    return 1e3 * card->board.sm_clock_khz;
}

/* FLOP a clock and multiprocessor: lanes of fp32, two FLOP each (CUDA's programming guide). */
static double fp32_of(int compute_capability) {
    bool has_64_lanes = compute_capability <= 80; /* 7.0, 7.5 and 8.0 */
    return 2.0 * (has_64_lanes ? 64.0 : 128.0);
}

/* The same for tensor cores with fp16 and fp32 sums, from the architectures' white papers. GeForce
 * cards have half of the chip's rate. */
static double fp16_of(const tide_card *card) {
    int capability = card->compute_capability;
    double full = capability == 100  ? 8192.0
                  : capability == 90 ? 4096.0
                  : capability == 80 ? 2048.0
                                     : 1024.0;
    return strstr(card->title, "GeForce") != NULL ? full / 2.0 : full;
}

static void is_near(const char *card, const char *what, double stated, double computed,
                    double most_above, double most_below) {
    double off = stated / computed - 1.0;
    if (off > most_above || off < -most_below) {
        fail_msg("%s: %s is stated as %.4g, and %.4g follows from the board (%+.2f %%)", card, what,
                 stated, computed, 100.0 * off);
    }
}

static void fp32_follows_from_lanes_and_clock(void **state) {
    (void)state;
    size_t n = 0;
    const tide_card *cards = tide_cards(&n);
    size_t n_checked = 0;
    for (size_t i = 0; i < n; i++) {
        const tide_stated_peak *peak = tide_stated_peak_find(cards[i].title);
        if (peak != NULL) {
            double computed = cards[i].board.n_multiprocessors *
                              fp32_of(cards[i].compute_capability) * clock_hz_of(&cards[i]);
            is_near(cards[i].name, "fp32", peak->fp32_flops, computed, ROUNDING, ROUNDING);
            n_checked++;
        }
    }
    assert_int_equal(n_checked, 31);
}

/* From 9.0 on, the vendor states the tensor cores' rates at a clock of its own, which is at most
 * that of fp32: 1830 of 1980 MHz for the H100 SXM, 1620 of 1755 for its PCIe card. The rates of the
 * H100 NVL are those at 1545 of 1785 MHz, which is the lowest share. Before 9.0, the clocks are the
 * same; but the L40S's data sheet has 362.05, where 2520 MHz make 366.4 and twice its TF32 366. */
#define LOWEST_CLOCK (1545.0 / 1785.0)
#define L40S_BELOW (1.0 - 362.05 / 366.4)

static void tensor_cores_follow_from_the_clock(void **state) {
    (void)state;
    size_t n = 0;
    const tide_card *cards = tide_cards(&n);
    for (size_t i = 0; i < n; i++) {
        const tide_stated_peak *peak = tide_stated_peak_find(cards[i].title);
        if (peak == NULL) {
            continue;
        }
        int capability = cards[i].compute_capability;
        bool has_own_clock = capability == 90 || capability == 100;
        bool is_l40s = strcmp(cards[i].name, "l40s-48") == 0;
        double most_below =
            ROUNDING + (has_own_clock ? 1.0 - LOWEST_CLOCK : 0.0) + (is_l40s ? L40S_BELOW : 0.0);
        double computed =
            cards[i].board.n_multiprocessors * fp16_of(&cards[i]) * clock_hz_of(&cards[i]);
        is_near(cards[i].name, "fp16", peak->fp16_flops, computed, ROUNDING, most_below);
        assert_true(peak->bf16_flops < 0.0 ||
                    fabs(peak->bf16_flops - peak->fp16_flops) < 1e-9 * peak->fp16_flops);
        assert_int_equal(peak->bf16_flops > 0.0, capability >= 80);
        if (peak->tf32_flops > 0.0) {
            /* Half of it, but the B200's 1100 has two digits of 1125, and the L40S's is above. */
            is_near(cards[i].name, "tf32", peak->tf32_flops, peak->fp16_flops / 2.0,
                    is_l40s ? L40S_BELOW : ROUNDING, 50.0 / 1100.0);
        }
    }
}

/* Another card's name is never a name of this one, even with the same beginning. */
static void names_are_whole(void **state) {
    (void)state;
    static const char *const OTHERS[] = {"NVIDIA A10G",
                                         "NVIDIA A10M",
                                         "NVIDIA L40",
                                         "NVIDIA H200 NVL",
                                         "NVIDIA RTX A6000 Laptop GPU",
                                         "NVIDIA RTX 6000 Ada Generation Laptop GPU",
                                         "NVIDIA GeForce RTX 3070 Ti",
                                         "NVIDIA GeForce RTX 3070 Laptop GPU",
                                         "NVIDIA GeForce RTX 4080 SUPER",
                                         "NVIDIA GeForce RTX 5090 D",
                                         "NVIDIA RTX PRO 6000 Blackwell Server Edition"};
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (tide_stated_peak_find(OTHERS[i]) != NULL) {
            fail_msg("%s has the rates of %s", OTHERS[i], tide_stated_peak_find(OTHERS[i])->title);
        }
    }
    assert_non_null(tide_stated_peak_find("NVIDIA A10"));
    assert_float_equal(tide_stated_peak_find("NVIDIA L4")->bf16_flops, 121e12, 1.0);
    assert_float_equal(tide_stated_peak_find("NVIDIA H100 NVL")->bf16_flops, 835.5e12, 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp32_follows_from_lanes_and_clock),
        cmocka_unit_test(tensor_cores_follow_from_the_clock),
        cmocka_unit_test(names_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
