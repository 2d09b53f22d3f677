/* The basis of a forecast's host time, as a sentence. */
#include "programs/wire/stated_host.h"
#include "common/text/text.h"
#include "programs/step_time/calibration.h"

/* "Xeon 8570, 2026-11-27" */
static void add_machine(tide_text *to, const tide_calibration *of) {
    tide_text_add(to, " (%s%s%s, %s)", of->cpu, of->has_gpu ? " with " : "",
                  of->has_gpu ? of->gpu.name : "", of->made);
}

static double us(int ns) {
    return 1e-3 * ns;
}

/* For a forecast of our own model, or of PyTorch's run of it: no program ran. */
static void add_stated(tide_text *to, const tide_time_host *host) {
    if (host->basis == TIDE_TIME_HOST_STATED) {
        tide_text_add(to, "the host's time is stated, not measured: ");
        if (host->is_of_graph) {
            tide_text_add(to,
                          "%.1f us for the launch of a CUDA graph, which is all that the host "
                          "does in a step",
                          us(TIDE_STATED_KERNEL_NS));
        } else {
            tide_text_add(to, "%.1f us a kernel and %.1f us a call of cuBLAS",
                          us(TIDE_STATED_KERNEL_NS + TIDE_STATED_OWN_NS),
                          us(TIDE_STATED_PRODUCT_NS + TIDE_STATED_OWN_NS));
        }
        tide_text_add(to,
                      "; ends of the range are for %.2f and %.2f of it; no calibration was used, "
                      "since those are of PyTorch",
                      host->least, host->most);
        return;
    }
    tide_text_add(
        to,
        "the host's time is stated, not measured: for a launch %.0f us forward in fp32 "
        "and tf32, %.0f in bf16-mixed, %.0f backward and %.0f in the optimizer, and %.0f for the "
        "driver, as on the machine that the model was fitted on, times %.2f, the middle "
        "of published hosts; ends of the range are for %.2f and %.2f; no calibration was "
        "used",
        us(TIDE_STATED_FORWARD_NS), us(TIDE_STATED_MIXED_FORWARD_NS), us(TIDE_STATED_BACKWARD_NS),
        us(TIDE_STATED_OPTIMIZER_NS), TIDE_TIME_CONSTANTS.launch_us, host->factor, host->least,
        host->most);
}

void tide_time_host_words(const tide_time_host *host, bool has_own_card,
                          char ret_words[TIDE_TIME_HOST_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_HOST_WORDS);
    if (host->basis == TIDE_TIME_HOST_STATED || host->basis == TIDE_TIME_HOST_MODELLED) {
        add_stated(&to, host);
        return;
    }
    tide_text_add(&to, "the host's time is that of this run times %.2f, ", host->factor);
    switch (host->basis) {
    case TIDE_TIME_HOST_GIVEN:
        tide_text_add(&to, "as --host-factor says; no calibration was used for it");
        break;
    case TIDE_TIME_HOST_MEASURED:
        tide_text_add(&to, "as launches take by the calibration of the machine to forecast for");
        add_machine(&to, host->target);
        if (host->target != host->own) {
            tide_text_add(&to, " and by that of the machine of the run");
            add_machine(&to, host->own);
        }
        tide_text_add(&to, "; how well that holds for a whole step was never compared");
        break;
    case TIDE_TIME_HOST_SCALED:
        tide_text_add(&to, "the middle of published hosts by the calibration of this machine");
        add_machine(&to, host->own);
        tide_text_add(&to, "; ends of the range are for %.2f and %.2f", host->least, host->most);
        break;
    default:
        tide_text_add(&to,
                      "the middle of published hosts; ends of the range are for %.2f and %.2f; no "
                      "calibration was used",
                      host->least, host->most);
    }
    if (has_own_card) {
        tide_text_add(&to, "; rates of products and memory are those that were measured on this "
                           "card");
        add_machine(&to, host->target);
    }
}
