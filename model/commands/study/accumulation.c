/* Study accumulation: the effect of narrow types on sums, the type of each part of a small model
 * under autocast, and why norms and losses are computed in fp32. Nothing is run on a device: every
 * figure is computed here, with one rounding after each operation. */
#include <math.h>

#include "model/commands/study/internal.h"
#include "model/bf16.h"
#include "model/fp16.h"

typedef enum type { FP32 = 0, FP16, BF16, N_TYPES } type;

static const char *const TYPE_NAMES[N_TYPES] = {"fp32", "fp16", "bf16"};

static float rounded(type to, float x) {
    return to == FP16   ? tide_fp16_to_fp32(tide_fp32_to_fp16(x))
           : to == BF16 ? tide_bf16_to_fp32(tide_fp32_to_bf16(x))
                        : x;
}

/* Adds the term n times to a sum of that type. */
static float sum_of(type sum_type, float term, size_t n) {
    float sum = 0.0F;
    for (size_t i = 0; i < n; i++) {
        sum = rounded(sum_type, sum + term);
    }
    return sum;
}

/* The distance from a positive number to the next larger one of its type. */
static double spacing(type of, float x) {
    static const int N_BITS[N_TYPES] = {24, 11, 8}; /* significant ones */
    int exponent = 0;
    (void)frexp((double)x, &exponent);
    return ldexp(1.0, exponent - N_BITS[of]);
}

/* ---- the four sums ---- */

enum { N_TERMS = 1000 };
#define TERM 0.01
#define EXACT (N_TERMS * TERM)

typedef struct sum {
    type sum_type, term_type;
    const char *how;
} sum;

/* The first four are those of the assignment. */
static const sum SUMS[] = {
    {FP32, FP32, ""},
    {FP16, FP16, ""},
    {FP32, FP16, "added as it is"},
    {FP32, FP16, "converted to fp32 first"},
    {BF16, BF16, ""},
    {FP32, BF16, "added as it is"},
};

static void add_sums(tide_report *report) {
    tide_table *table =
        tide_report_table(report, "sums", "0.01 added a thousand times, which makes 10");
    TIDE_COLUMNS(table, TIDE_TEXT("sum_type", "type of the sum"),
                 TIDE_TEXT("term_type", "type of the term"), TIDE_TEXT("how", "the term is"),
                 TIDE_NUMBER("term", "term"), TIDE_NUMBER("sum", "sum"),
                 TIDE_NUMBER("error", "error"), TIDE_NUMBER("spacing", "spacing at the sum"));
    for (size_t i = 0; i < sizeof(SUMS) / sizeof(SUMS[0]); i++) {
        float term = rounded(SUMS[i].term_type, (float)TERM);
        float result = sum_of(SUMS[i].sum_type, term, N_TERMS);
        TIDE_ROW(table, tide_as_text(TYPE_NAMES[SUMS[i].sum_type]),
                 tide_as_text(TYPE_NAMES[SUMS[i].term_type]), tide_as_words(SUMS[i].how),
                 tide_as_loss((double)term), tide_as_loss((double)result),
                 tide_as_error((double)result - EXACT),
                 tide_as_error(spacing(SUMS[i].sum_type, result)));
    }
}

static void say_sums(tide_report *report) {
    float term = rounded(FP16, (float)TERM);
    double narrow = (double)sum_of(FP16, term, N_TERMS);
    double wide = (double)sum_of(FP32, term, N_TERMS);
    float stuck = sum_of(BF16, rounded(BF16, (float)TERM), N_TERMS);
    tide_report_say(
        report, "conclusion",
        "a sum in fp16 of terms in fp16 ends %.4f below 10, because near 8 two "
        "neighbours of fp16 are %.4f apart and each addition is rounded; a sum in fp32 "
        "of the same terms is only %.4f off, almost all of it the rounding of 0.01 to %.7f, "
        "so whether the term is converted first makes no difference",
        EXACT - narrow, spacing(FP16, 8.5F), wide - EXACT, (double)term);
    tide_report_say(report, "conclusion",
                    "a sum in bf16 stops at %.4g: from there on half the spacing, %.4g, is more "
                    "than the term",
                    (double)stuck, spacing(BF16, stuck) / 2.0);
}

/* ---- autocast ---- */

/* The result type of an operation under torch.autocast on a CUDA device: its lists are in PyTorch's
 * documentation of torch.amp, "CUDA Ops that can autocast to float16" and "... to float32". */
typedef enum autocast_rule {
    KEEPS = 0, /* not in a list: the type of its input */
    TO_NARROW, /* matrix products */
    TO_FP32,   /* sums, norms, losses */
    PARAMETER, /* created outside: autocast changes no tensor */
    GRADIENT   /* has the type of its parameter */
} autocast_rule;

static const struct {
    const char *part, *operation;
    autocast_rule rule;
} PARTS[] = {
    {"parameters of the model", "", PARAMETER},
    {"output of the first layer, fc1", "linear", TO_NARROW},
    {"output of the activation", "relu", KEEPS},
    {"output of the norm, ln", "layer_norm", TO_FP32},
    {"logits, the output of fc2", "linear", TO_NARROW},
    {"loss", "cross_entropy", TO_FP32},
    {"gradients of the parameters", "", GRADIENT},
};

static const char *const RULE_WORDS[] = {"keeps the type of its input", "list of the narrow type",
                                         "list of float32", "autocast changes no tensor",
                                         "that of the parameter"};

static type type_under(autocast_rule rule, type narrow, type input) {
    return rule == TO_NARROW ? narrow : rule == KEEPS ? input : FP32;
}

static void add_types(tide_report *report) {
    tide_table *table = tide_report_table(
        report, "autocast", "types of linear, relu, layer norm, linear under torch.autocast");
    type of_fp16 = FP32;
    type of_bf16 = FP32;
    TIDE_COLUMNS(table, TIDE_TEXT("part", "part"), TIDE_TEXT("operation", "operation"),
                 TIDE_TEXT("fp16", "autocast to fp16"), TIDE_TEXT("bf16", "autocast to bf16"),
                 TIDE_TEXT("rule", "because"));
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        of_fp16 = type_under(PARTS[i].rule, FP16, of_fp16);
        of_bf16 = type_under(PARTS[i].rule, BF16, of_bf16);
        TIDE_ROW(table, tide_as_text(PARTS[i].part), tide_as_words(PARTS[i].operation),
                 tide_as_text(TYPE_NAMES[of_fp16]), tide_as_text(TYPE_NAMES[of_bf16]),
                 tide_as_text(RULE_WORDS[PARTS[i].rule]));
    }
}

/* ---- why norms and losses stay in fp32 ---- */

enum { WIDTH = 2560, N_LOGITS = 10000 };
#define LARGE_VALUE 300.0F

/* The mean of the squares of WIDTH values, as a norm computes it, with each result rounded. */
static double mean_square(type of) {
    float value = rounded(of, LARGE_VALUE);
    float total = sum_of(of, rounded(of, value * value), WIDTH);
    return (double)rounded(of, total / (float)WIDTH);
}

/* log(sum of exp) of N_LOGITS equal logits, the largest one subtracted: the log of N_LOGITS. */
static double cross_entropy(type of) {
    return (double)rounded(of, (float)log((double)sum_of(of, 1.0F, N_LOGITS)));
}

static void add_reductions(tide_report *report) {
    static const struct {
        const char *what;
        double (*in)(type of);
    } ROWS[] = {{"mean square of 2,560 values of 300, of a norm", mean_square},
                {"cross entropy over 10,000 equal logits", cross_entropy}};
    tide_table *table = tide_report_table(
        report, "reductions", "the sums of norm and loss, if every partial sum were rounded");
    TIDE_COLUMNS(table, TIDE_TEXT("quantity", "quantity"), TIDE_NUMBER("fp32", "fp32"),
                 TIDE_NUMBER("fp16", "fp16"), TIDE_NUMBER("bf16", "bf16"));
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        TIDE_ROW(table, tide_as_text(ROWS[i].what), tide_as_loss(ROWS[i].in(FP32)),
                 tide_as_loss(ROWS[i].in(FP16)), tide_as_loss(ROWS[i].in(BF16)));
    }
}

static void say_reductions(tide_report *report) {
    tide_report_say(report, "conclusion",
                    "a norm squares and sums: in fp16 the square of %.0f is beyond its largest "
                    "number, 65504, and the mean square becomes %g; bf16 has fp32's range, but its "
                    "8 bits make %.0f of %.0f, so autocast computes norms in fp32 for both",
                    (double)LARGE_VALUE, mean_square(FP16), mean_square(BF16), mean_square(FP32));
    tide_report_say(report, "conclusion",
                    "a loss sums over the vocabulary: %d equal logits have the cross entropy %.4f, "
                    "but a sum of ones stops at %.0f in fp16 and at %.0f in bf16, which would make "
                    "it %.4f and %.4f",
                    (int)N_LOGITS, cross_entropy(FP32), (double)sum_of(FP16, 1.0F, N_LOGITS),
                    (double)sum_of(BF16, 1.0F, N_LOGITS), cross_entropy(FP16), cross_entropy(BF16));
    tide_report_say(report, "rounding",
                    "PyTorch's own kernels keep the partial sums of a matrix product in fp32 and "
                    "round once, at the end");
}

static tide_status report(tide_study_work *work, tide_error *error) {
    (void)error;
    add_sums(&work->report);
    say_sums(&work->report);
    add_types(&work->report);
    add_reductions(&work->report);
    say_reductions(&work->report);
    return TIDE_OK;
}

static void fill(tide_study_options *options) {
    tide_study_fill_size(options, "small"); /* an unused cell */
}

const tide_study tide_study_accumulation = {
    .name = "accumulation",
    .summary = "sums in fp32, fp16 and bf16, types under autocast, and why norm and loss stay fp32",
    .device = "virtual",
    .kind = TIDE_STUDY_NOT_RUN,
    .takes = "",
    .fill = fill,
    .report = report,
};
