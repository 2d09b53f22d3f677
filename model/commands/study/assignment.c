/* Study assignment: every part of the course assignment on benchmarking and profiling a transformer
 * in one go, each by the study that answers it, with its tables and pictures in a folder. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "model/commands/study/internal.h"
#include "common/text/text.h"
#include "picture/picture.h"

/* The needs of a part beyond the preset of its study. */
typedef struct part {
    const tide_study *study;
    const char *asks;       /* the question, in our words */
    const char *modes;      /* "": the study's own, also for the next */
    const char *precisions; /* likewise */
    bool has_runs;          /* it has the options that describe runs, and naive attention, as in the
                               assignment's code */
    bool has_pictures;      /* of the timelines of PyTorch's run */
} part;

static const part PARTS[] = {
    {&tide_study_parameters, "How many parameters do the models have, and what do they take?", "",
     "", false, false},
    {&tide_study_end_to_end,
     "How long do forward, backward and optimizer take after 5 steps of warm-up, and how much do "
     "the times vary?",
     "train", "", true, false},
    {&tide_study_warmup, "What changes with 0, 1 and 2 steps of warm-up?", "train", "", true,
     false},
    {&tide_study_kernels,
     "Where does the time of a pass go: which kernels, how often, how much of it in matrix "
     "products, and softmax beside the products of attention?",
     "train", "", true, false},
    {&tide_study_accumulation,
     "What do narrow types do to sums, which types has a model under autocast, and why do norm and "
     "loss stay in fp32?",
     "", "", false, false},
    {&tide_study_precision, "How much faster are forward and backward in mixed precision?", "train",
     "fp32,bf16-mixed", true, false},
    {&tide_study_memory,
     "How high is the peak of forward alone and of a whole step, at each context and in mixed "
     "precision; how large is a tensor of the residual stream, and which tensors are the largest?",
     "", "", true, true},
    {&tide_study_residuals,
     "What does a block keep for backward, and what does its backward make of it?", "", "", true,
     false},
};

enum { N_PARTS = sizeof(PARTS) / sizeof(PARTS[0]), COMMAND_BYTES = 512, NAME_BYTES = 64 };
enum { MAX_PICTURES = 2 * TIDE_OPTION_LIST_ITEMS };

/* A part in progress. */
typedef struct making {
    tide_study_options options;
    tide_study_work work;
    tide_study_answer answer; /* borrows from here */
    bool is_made;             /* work is to be released */
    char command[COMMAND_BYTES];
    char reason[sizeof(((tide_error *)NULL)->message)];
    char names[MAX_PICTURES][NAME_BYTES];
    const char *pictures[MAX_PICTURES];
} making;

/* ---- the options of a part ---- */

static void add_list(tide_text *to, const char *name, const tide_option_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        if (i == 0) {
            tide_text_add(to, " --%s ", name);
        }
        tide_text_add(to, "%s%s", i > 0 ? "," : "", list->texts[i]);
    }
}

static void add_count(tide_text *to, const char *name, uint64_t count) {
    if (count != TIDE_NOT_GIVEN) {
        tide_text_add(to, " --%s %" PRIu64, name, count);
    }
}

/* The options of the assignment that apply to the part, and the resulting command. */
static void choose(const tide_study_options *given, const part *of, making *ret) {
    tide_run_options *run = &ret->options.run;
    tide_text to = tide_text_in(ret->command, sizeof(ret->command));
    ret->options = *given;
    tide_text_add(&to, "tidemark study %s", of->study->name);
    if (of->study->takes == NULL || of->study->takes[0] != '\0') {
        add_list(&to, "size", &run->sizes);
    }
    if (!of->has_runs) {
        return;
    }
    if (of->modes[0] != '\0') {
        tide_study_fill(&run->modes, of->modes);
    }
    if (of->precisions[0] != '\0') {
        tide_study_fill(&run->precisions, of->precisions);
    }
    tide_study_fill(&run->attentions, "naive");
    if (of->study->takes_warmups) {
        ret->options.warmups.n = 0; /* the study compares these */
    }
    add_list(&to, "context", &run->contexts);
    add_list(&to, "batch", &run->batches);
    add_list(&to, "mode", &run->modes);
    add_list(&to, "precision", &run->precisions);
    add_list(&to, "attention", &run->attentions);
    tide_text_add(&to, " --device %s", run->device);
    add_list(&to, "warmup", &ret->options.warmups);
    add_count(&to, "steps", run->steps);
    add_count(&to, "seed", run->seed);
}

/* ---- pictures ---- */

static tide_status draw(const tide_run_config *config, const char *path, tide_error *error) {
    const tide_model_config *model = &tide_run_workload_model(&config->workload)->model;
    tide_snapshot *snapshot = NULL;
    char title[128];
    TIDE_TRY(tide_run_record(config, NULL, &snapshot, error));
    (void)snprintf(title, sizeof(title), "%s, %s, context %zu", model->size,
                   tide_mode_name((int)tide_run_workload_model(&config->workload)->mode),
                   model->context_length);
    const tide_picture_options options = {.format = TIDE_PICTURE_SVG,
                                          .device = TIDE_PICTURE_MAIN_DEVICE,
                                          .width = 800,
                                          .scale = 1,
                                          .title = title,
                                          .subtitle = "PyTorch, eager, on a virtual card"};
    tide_status status = tide_picture_save(snapshot, &options, path, error);
    tide_snapshot_destroy(snapshot);
    return status;
}

/* The timelines of PyTorch's own run, only forward and a whole step, for each context. */
static tide_status draw_all(const char *folder, making *of, tide_error *error) {
    tide_run_options options = of->options.run;
    options.sizes.n = 1;
    options.precisions.n = 0;
    options.batches.n = options.batches.n > 1 ? 1 : options.batches.n;
    options.emulate = tide_emulation_name(TIDE_EMULATE_PYTORCH);
    options.warmup_steps = 0;
    options.steps = 2; /* from the second on there is optimizer state */
    bool is_virtual = strncmp(options.device, "virtual", strlen("virtual")) == 0;
    for (size_t i = 0; i < tide_run_options_n_runs(&options); i++) {
        tide_run_config config;
        char path[TIDE_PATH_BYTES];
        char *name = of->names[of->answer.n_pictures];
        TIDE_TRY(tide_run_options_configure(&options, i, is_virtual ? options.device : "virtual",
                                            &config, error));
        (void)snprintf(name, NAME_BYTES, "memory-%s-context-%zu.svg",
                       tide_mode_name((int)tide_run_workload_model(&config.workload)->mode),
                       tide_run_workload_model(&config.workload)->model.context_length);
        int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (n >= (int)sizeof(path)) {
            return tide_fail(error, TIDE_LIMIT, "the path of %s is longer than %zu bytes", name,
                             sizeof(path) - 1);
        }
        TIDE_TRY(draw(&config, path, error));
        of->pictures[of->answer.n_pictures++] = name;
    }
    return TIDE_OK;
}

/* ---- the parts ---- */

static tide_status make_part(const part *of, const tide_study_work *all, making *ret,
                             tide_error *error) {
    const char *folder = all->options->run.output;
    choose(all->options, of, ret);
    ret->answer = (tide_study_answer){.name = of->study->name,
                                      .asks = of->asks,
                                      .command = ret->command,
                                      .pictures = ret->pictures};
    if (of->study->needs_times &&
        strncmp(ret->options.run.device, "virtual", strlen("virtual")) == 0) {
        ret->answer.reason = "a virtual card runs no kernels; use --device cuda, or cpu";
        return TIDE_OK;
    }
    ret->is_made = true;
    TIDE_TRY(tide_study_make(of->study, &ret->options, &ret->work, error));
    ret->answer.report = &ret->work.report;
    if (of->has_pictures) {
        TIDE_TRY(draw_all(folder, ret, error));
    }
    return tide_study_write_tables(folder, &ret->answer, error);
}

static void add_rows(tide_report *report, const char *folder, const making *makings, size_t n) {
    tide_table *table = tide_report_table(report, "parts", "the parts of the assignment");
    TIDE_COLUMNS(table, TIDE_TEXT("part", "part"), TIDE_TEXT("answer", "answer"));
    for (size_t i = 0; i < n; i++) {
        const tide_study_answer *answer = &makings[i].answer;
        const char *sentence =
            answer->report != NULL ? tide_report_sentence(answer->report, "timing", 0) : NULL;
        if (answer->report != NULL && sentence == NULL) {
            sentence = tide_report_sentence(answer->report, "conclusion", 0);
        }
        const char *text = answer->report == NULL
                               ? tide_report_text(report, "not computed: %s", answer->reason)
                               : sentence;
        TIDE_ROW(table, tide_as_text(answer->name), tide_as_words(text));
    }
    tide_report_say(report, "files", "tables and pictures: %s/README.md leads to them", folder);
}

/* A failed run takes precedence over one that did not fit. */
static void note_status(tide_study_work *work, const making *of) {
    int status = of->is_made ? tide_study_exit_status(&of->work) : TIDE_EXIT_SUCCESS;
    if (status != TIDE_EXIT_SUCCESS && work->parts_status != TIDE_EXIT_FAILURE) {
        work->parts_status = status;
    }
}

static tide_status make_parts(tide_study_work *work, making *makings, tide_error *error) {
    tide_study_answer answers[N_PARTS];
    size_t n = 0;
    tide_status status = tide_study_folder_open(work->options->run.output, error);
    while (status == TIDE_OK && n < N_PARTS && tide_interrupt_signal() == 0) {
        status = make_part(&PARTS[n], work, &makings[n], error);
        answers[n] = makings[n].answer;
        note_status(work, &makings[n]);
        n++;
    }
    if (status == TIDE_OK) {
        status = tide_study_write_page(work->options->run.output, work->options->run.device,
                                       answers, n, error);
    }
    if (status == TIDE_OK) {
        add_rows(&work->report, work->options->run.output, makings, n);
    }
    return status;
}

static tide_status report(tide_study_work *work, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    making *makings = tide_hostmem_zeroed(mem, N_PARTS, sizeof(*makings));
    if (makings == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %d studies", (int)N_PARTS);
    }
    tide_status status = make_parts(work, makings, error);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (makings[i].is_made) {
            tide_report_fini(&makings[i].work.report);
            tide_study_work_fini(&makings[i].work);
        }
    }
    mem->release(mem->ctx, makings);
    return status;
}

static void fill(tide_study_options *options) {
    if (options->run.output == NULL) {
        options->run.output = "assignment";
    }
}

const tide_study tide_study_assignment = {
    .name = "assignment",
    .summary = "the parts of the course assignment in one go: tables and pictures in a folder",
    .device = "virtual:h100-80",
    .kind = TIDE_STUDY_NOT_RUN,
    .is_made_of_others = true,
    .takes = "size context batch device warmup steps seed output",
    .fill = fill,
    .report = report,
};
