/* reference_tolerance_tf32.c - the allowed distance of results whose matrix products read TF32.
 *
 * A product in TF32 reads its fp32 operands with 10 bits of fraction, in place of 23, and adds up
 * in fp32; everything else is fp32 arithmetic. Rounded to nearest, an operand errs by at most u =
 * 2^-11 of itself; over many numbers of all mantissas that is 0.39 u in the L2 norm. But whether a
 * library rounds is up to the library: wgmma, the product of compute capability 9.0, cuts off the
 * last 13 bits of its operands (PTX ISA, "wgmma.mma_async", precision and rounding). That is up to
 * 2 u and always towards 0: operands are too small by 0.67 u, and the remaining errors are 0.41 u.
 * Either must pass.
 *
 * Those figures: a number is m 2^e with 1 <= m < 2. Over numbers of all mantissas m has the density
 * 1 / (m ln 2), so that the mean of m is 1 / ln 2 and that of m^2 is 1.5 / ln 2. Rounding changes m
 * by up to u, evenly, which has a mean square of u^2 / 3: sqrt(u^2 / 3 * ln 2 / 1.5) = 0.39 u.
 * Cutting off subtracts 0 to 2 u from m, u on average and 4 u^2 / 3 in the mean square. The factor
 * that fits best is too small by mean(u m) / mean(m^2) = u / 1.5 = 0.67 u, and the remainder is
 * sqrt(4 u^2 / 3 * ln 2 / 1.5 - (u / 1.5)^2) = 0.41 u. Of normally distributed numbers the three
 * are 0.43, 0.72 and 0.45 u, as 400,000 drawn ones show, because small mantissas weigh more there.
 *
 * The terms of a product are of random sign, and so are their errors: both grow like the square
 * root of their number, so that the relative error of a product is sqrt(2) r, r for each operand,
 * however long the reduction is. Errors that follow each other add up as squares: the relative
 * error at the end of a chain is
 *
 *   r sqrt(K), K = operands shortened along the chain, weighted as follows.
 *
 * r = u, for the 0.45 u above and for the remainder of the next paragraph.
 *
 * Cutting off makes a product too small by 2 * 0.67 u. Such factors multiply: the result is too
 * small by 1.33 u N, N = products in a row. So a result is compared with the expected one times the
 * factor between 1 - 1.33 u N and 1 that fits best. Of the logits N is 1: RMSNorm removes the
 * factors before it. Of a gradient: lm_head (1); a layer that is passed on the way back adds
 * branches of four products and more to a stream that keeps its size, half of that counts (2); in
 * the parameter's own layer the FFN's branch (2), then W_o, v, k and the gradient's own product
 * (4). So 2 L + 5, and with the products of naive attention, dout v^T and dS k, 2 L + 7. A branch
 * that is too small, next to a stream that is not, is not a common factor: this is included in r.
 * So is what
 * normally distributed operands lose beyond that, 0.11 u N: together with the errors it is
 * sqrt(0.45^2 K + (0.11 N)^2) u, which is below u sqrt(K) up to 200 layers, with K = 15 L + 6 as
 * counted below.
 *
 * A branch joins the residual stream with at most the stream's own size, so at most half of the
 * sum's squares are the branch's, and half of its operands count in K.
 *
 * Forward, a layer:
 *   attention: P's q and k (their products: 4), v and W_v (2), out and W_o (2) = 8
 *   FFN: norm and W_1, norm and W_3, the product and W_2 = 6
 * and attention's own products, q k^T (2) and P v (2): (8 + 4 + 6) / 2 = 9; at the end lm_head: 2.
 * Flash attention multiplies the same operands as naive attention, P before it is divided by its
 * sum; it rounds them itself, so that nothing is cut off.
 *
 * Backward, a layer: W_2's (2), W_1's and W_3's, whose sum it is (2); W_o's (2), and of q, k, v,
 * whose sum it is (2): 8 / 2 = 4. Attention: P^T dout and dout v^T, dS k and dS^T q, one after the
 * other: 4 / 2 = 2 more, so 6. The P that flash attention computes again is that of the forward
 * pass, with the error that it has there. At its beginning lm_head (2), at its end the weight
 * gradient's own product (2).
 *
 * Sums: tensor cores cut off what they add up, by up to 2^-23 of it at each of n terms, in one
 * direction. n is the length of all reductions along the chain: forward L (3 C + D + T + F) + C, as
 * in reference_tolerance.c, and for a gradient V + R + L (5 C + 2 F + D + 2 T) besides. 2^-23 n is
 * added as a square: it is negligible against r until n is in the thousands.
 *
 * Differences lose digits as in bf16, by the same factors. Errors are random numbers, as in bf16,
 * and so the loss and the steps are judged as they are there. A common factor of the logits moves
 * the loss by its size times the sum of dloss / dlogits * logits.
 */
#include <math.h>

#include "model/reference/reference_internal.h"

static const double ROUNDING = 1.0 / 2048;
static const double SHRINK = 1.33 / 2048;
static const double SUM_ROUNDING = 1.0 / 8388608;
static const double CANCELLATION = 1.25;
static const double FEW_CHANNELS = 16;

/* Two independent errors together. hypot() would do the same, from glibc 2.35 on under a new name.
 */
static double both(double a, double b) {
    return sqrt(a * a + b * b);
}

tide_reference_tolerances tide_reference_tf32_tolerances(const tide_reference *reference,
                                                         tide_attention attention) {
    const tide_model_config *model = &reference->info.model;
    const double C = (double)model->d_model;
    const double F = (double)model->d_ff;
    const double T = (double)model->context_length;
    const double D = C / (double)model->n_heads;
    const double R = T * (double)model->batch_size;
    const double L = (double)model->n_layers;
    const double n_products = attention == TIDE_ATTENTION_NAIVE ? 7 : 5; /* N, but for layers */
    const double K_forward = L * 9 + 2;
    const double K_backward = L * 6 + 4;
    const double n_forward = L * (3 * C + D + T + F) + C;
    const double n_backward = (double)model->vocab_size + R + L * (5 * C + 2 * F + D + 2 * T);
    const double forward = both(ROUNDING * sqrt(K_forward), SUM_ROUNDING * n_forward);
    const double loss = tide_reference_loss_tolerance(reference, forward);
    return (tide_reference_tolerances){
        .arithmetic = TIDE_REFERENCE_TF32,
        .forward = forward,
        .loss = loss + SHRINK * tide_reference_loss_growth(reference),
        .forward_shrink = SHRINK,
        .gradient_shrink = SHRINK * (2 * L + n_products),
        .gradient =
            CANCELLATION * sqrt(1 + FEW_CHANNELS / C) *
            both(ROUNDING * sqrt(K_forward + K_backward), SUM_ROUNDING * (n_forward + n_backward)),
    };
}
