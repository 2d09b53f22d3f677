/* What the observed run showed and no change of a plan replaces: attention and masks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan/internal.h"
#include "programs/plan/facts.h"

/* Smaller masks are not worth a sentence. */
#define LEAST_MASK 0.01

/* "train.py:50 4096": a place and bytes. Places may have spaces. */
static bool read_place(const char *text, int *ret_n_place, int64_t *ret_bytes) {
    const char *space = text != NULL ? strrchr(text, ' ') : NULL;
    char *end = NULL;
    if (space == NULL || space == text) {
        return false;
    }
    *ret_n_place = (int)(space - text);
    *ret_bytes = strtoll(space + 1, &end, 10);
    return end != space + 1 && *end == '\0' && *ret_bytes > 0 &&
           !(*ret_n_place == 1 && text[0] == '?'); /* no line of the program */
}

/* Attention that the program makes itself. */
static void say_attention(const tide_plan *plan, tide_report *report) {
    const char *fact = tide_plan_fact(plan->snapshot, "attention", "");
    const char *calls_end = fact != NULL ? strchr(fact, ' ') : NULL;
    int n = 0;
    int64_t bytes = 0;
    if (calls_end != NULL && read_place(calls_end + 1, &n, &bytes)) {
        tide_report_say(report, "attention",
                        "%.*s computes attention by a softmax of a square, which is kept (%s); "
                        "F.scaled_dot_product_attention would not keep it, and --patch tries your "
                        "change",
                        n, calls_end + 1, tide_report_bytes(report, bytes));
    }
}

static void say_mask(const tide_plan *plan, tide_report *report) {
    const char *fact = tide_plan_fact(plan->snapshot, "masks", "");
    int64_t peak = plan->runs.rows[plan->base_row].memory.allocated_peak_bytes;
    int n = 0;
    int64_t bytes = 0;
    if (read_place(fact, &n, &bytes) && (double)bytes >= LEAST_MASK * (double)peak) {
        tide_report_say(report, "masks",
                        "%.*s gives F.scaled_dot_product_attention a mask of %s; a causal one "
                        "needs no tensor with is_causal=True, and --patch tries your change",
                        n, fact, tide_report_bytes(report, bytes));
    }
}

void tide_plan_report_seen(const tide_plan *plan, tide_report *report) {
    say_attention(plan, report);
    say_mask(plan, report);
}
