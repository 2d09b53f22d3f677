#include "programs/step_time/ranges.h"

#include <string.h>

const char *tide_time_phase_name(tide_time_phase phase) {
    static const char *const NAMES[TIDE_TIME_N_PHASES] = {"forward", "backward", "optimizer",
                                                          "other"};
    return (size_t)phase < TIDE_TIME_N_PHASES ? NAMES[phase] : "?";
}

typedef struct finder {
    const tide_time_log *log;
    tide_time_ranges *to;
    const char *begin, *end; /* the marks of a step; end NULL: the next begin ends it */
    tide_time_range step, phase;
    bool in_step, in_phase;
    bool in_optimizer; /* its step has begun and not ended */
    bool has_closure;  /* that step has called a backward pass */
    size_t trained;    /* the row at which the step's last backward pass or optimizer ended; 0: none
                        * has yet */
} finder;

static bool is(const char *mark, const char *name) {
    return name != NULL && strcmp(mark, name) == 0;
}

static bool has_mark(const tide_time_log *log, const char *name) {
    for (size_t i = 0; i < log->n_rows; i++) {
        if (log->rows[i].kind == TIDE_RUN_LAUNCH_MARK &&
            is(tide_time_log_text(log, &log->rows[i]), name)) {
            return true;
        }
    }
    return false;
}

static tide_status append(const tide_hostmem *mem, tide_time_range **ranges, size_t *n,
                          size_t *room, tide_time_range range) {
    tide_time_range *grown = tide_hostmem_grow(mem, *ranges, room, *n + 1, sizeof(range));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    *ranges = grown;
    grown[(*n)++] = range;
    return TIDE_OK;
}

static tide_status end_phase(finder *of, size_t row) {
    tide_time_ranges *to = of->to;
    of->phase.last = row;
    bool counts = of->in_phase && of->phase.first < row;
    of->in_phase = false;
    return counts ? append(to->mem, &to->phases, &to->n_phases, &to->phases_room, of->phase)
                  : TIDE_OK;
}

static tide_status enter(finder *of, size_t row, tide_time_phase phase) {
    TIDE_TRY(end_phase(of, row));
    of->phase = (tide_time_range){.first = row, .phase = phase, .step = of->to->n_steps};
    of->in_phase = of->in_step;
    return TIDE_OK;
}

static tide_status end_step(finder *of, size_t row) {
    tide_time_ranges *to = of->to;
    if (!of->in_step) {
        return TIDE_OK;
    }
    TIDE_TRY(end_phase(of, row));
    of->step.last = row;
    of->in_step = false;
    return append(to->mem, &to->steps, &to->n_steps, &to->steps_room, of->step);
}

static tide_status begin_step(finder *of, size_t row) {
    of->step = (tide_time_range){.first = row, .phase = TIDE_TIME_N_PHASES};
    of->in_step = true;
    of->trained = 0;
    return enter(of, row, TIDE_TIME_FORWARD);
}

static bool has_trained(const finder *of) {
    for (size_t i = 0; i < of->to->n_phases; i++) {
        if (of->to->phases[i].phase != TIDE_TIME_FORWARD) {
            return true;
        }
    }
    return false;
}

/* The program ends, and no mark ends the last step: it ends with its last backward pass or
 * optimizer. What follows, such as an evaluation or the return from the loop, is no step. A step
 * without either may be cut, or may have further work, so it counts only if too few others are
 * complete: a first step is slower than the others. */
static tide_status end_last_step(finder *of, size_t row) {
    size_t n_enough = is(of->begin, "own step") ? 1 : 2;
    if (!of->in_step) {
        return TIDE_OK;
    }
    if (of->trained > 0) {
        of->in_phase = of->in_phase && of->phase.first < of->trained;
        return end_step(of, of->trained);
    }
    if (has_trained(of) || of->to->n_steps >= n_enough) {
        of->in_step = of->in_phase = false;
        return TIDE_OK;
    }
    return end_step(of, row);
}

/* An optimizer that calls the closure of its step has done nothing before: the interval since its
 * step began is the closure's forward pass. */
static tide_status begin_backward(finder *of, size_t row) {
    if (of->in_optimizer && !of->has_closure && of->phase.phase == TIDE_TIME_OPTIMIZER) {
        of->phase.phase = TIDE_TIME_FORWARD;
    }
    of->has_closure = of->in_optimizer;
    return enter(of, row, TIDE_TIME_BACKWARD);
}

static tide_status begin_optimizer(finder *of, size_t row) {
    /* Between the last backward pass and the optimizer there is no forward pass. */
    if (of->in_phase && of->phase.phase == TIDE_TIME_FORWARD && of->to->n_phases > 0 &&
        of->to->phases[of->to->n_phases - 1].step == of->to->n_steps) {
        of->phase.phase = TIDE_TIME_BETWEEN;
    }
    of->in_optimizer = true;
    of->has_closure = false;
    return enter(of, row, TIDE_TIME_OPTIMIZER);
}

static tide_status take(finder *of, size_t row) {
    const char *mark = tide_time_log_text(of->log, &of->log->rows[row]);
    if (is(mark, "step ends") || is(mark, "optimizer ends")) {
        of->in_optimizer = false;
    }
    if (is(mark, "step ends") || is(mark, "optimizer ends") || is(mark, "backward ends")) {
        of->trained = row;
    }
    if (of->end == NULL && is(mark, "program ends")) {
        return end_last_step(of, row);
    }
    if (is(mark, of->end)) {
        return end_step(of, row);
    }
    if (is(mark, of->begin)) {
        TIDE_TRY(end_step(of, row));
        return begin_step(of, row);
    }
    if (is(mark, "backward begins")) {
        return begin_backward(of, row);
    }
    if (is(mark, "optimizer begins")) {
        return begin_optimizer(of, row);
    }
    if (is(mark, "backward ends") || is(mark, "optimizer ends")) {
        return enter(of, row, of->in_optimizer ? TIDE_TIME_OPTIMIZER : TIDE_TIME_FORWARD);
    }
    return TIDE_OK;
}

/* The graph that the last step was captured into; 0 if it was not. */
static uint32_t captured_in_last(const finder *of) {
    const tide_time_range *last = &of->to->steps[of->to->n_steps - 1];
    for (size_t i = last->first; i < last->last; i++) {
        if ((of->log->rows[i].flags & TIDE_RUN_CAPTURED) != 0) {
            return of->log->rows[i].graph;
        }
    }
    return 0;
}

/* The next launch of the graph at or after a row; n_rows if there is none. */
static size_t next_launch(const finder *of, uint32_t graph, size_t from) {
    const tide_run_launch *rows = of->log->rows;
    size_t i = from;
    while (i < of->log->n_rows &&
           (rows[i].kind != TIDE_RUN_GRAPH_LAUNCH || rows[i].graph != graph ||
            (rows[i].flags & (TIDE_RUN_CAPTURED | TIDE_RUN_CONTINUES)) != 0)) {
        i++;
    }
    return i;
}

/* A replay lasts until the next one begins. The end of the last one is unknown, so it counts only
 * if it is the only one, and then only up to its launch. */
static tide_status find_replays(finder *of) {
    tide_time_ranges *to = of->to;
    const tide_run_launch *rows = of->log->rows;
    uint32_t graph = captured_in_last(of);
    tide_time_range *last = &to->steps[to->n_steps - 1];
    size_t begin = next_launch(of, graph, of->end != NULL ? last->last : last->first);
    if (graph == 0 || begin == of->log->n_rows) {
        return TIDE_OK;
    }
    last->last = last->last < begin ? last->last : begin;
    to->n_before = to->n_steps;
    size_t end = next_launch(of, graph, begin + 1);
    if (end == of->log->n_rows) {
        for (end = begin + 1; end < of->log->n_rows && rows[end].kind == TIDE_RUN_GRAPH_LAUNCH &&
                              (rows[end].flags & TIDE_RUN_CONTINUES) != 0;) {
            end++;
        }
        return append(to->mem, &to->steps, &to->n_steps, &to->steps_room,
                      (tide_time_range){begin, end, TIDE_TIME_N_PHASES, 0});
    }
    for (; end < of->log->n_rows; begin = end, end = next_launch(of, graph, begin + 1)) {
        TIDE_TRY(append(to->mem, &to->steps, &to->n_steps, &to->steps_room,
                        (tide_time_range){begin, end, TIDE_TIME_N_PHASES, 0}));
    }
    return TIDE_OK;
}

tide_status tide_time_ranges_init(const tide_time_log *log, tide_time_ranges *ret_ranges) {
    *ret_ranges = (tide_time_ranges){.mem = log->mem};
    finder of = {.log = log, .to = ret_ranges};
    if (has_mark(log, "own step")) {
        of.begin = "own step";
    } else if (has_mark(log, "step ends")) {
        of.begin = "step begins";
        of.end = "step ends";
    } else {
        of.begin = "call begins";
    }
    for (size_t i = 0; i < log->n_rows; i++) {
        if (log->rows[i].kind == TIDE_RUN_LAUNCH_MARK) {
            TIDE_TRY(take(&of, i));
        }
    }
    if (ret_ranges->n_steps == 0) {
        /* Phases of a step that never ended would not belong to the whole. */
        ret_ranges->n_phases = 0;
        ret_ranges->is_whole = true;
        tide_time_range whole = {.last = log->n_rows, .phase = TIDE_TIME_N_PHASES};
        return append(ret_ranges->mem, &ret_ranges->steps, &ret_ranges->n_steps,
                      &ret_ranges->steps_room, whole);
    }
    while (ret_ranges->n_phases > 0 &&
           ret_ranges->phases[ret_ranges->n_phases - 1].step >= ret_ranges->n_steps) {
        ret_ranges->n_phases--;
    }
    /* A program that reports its own steps also reports those of its replays. */
    return is(of.begin, "own step") ? TIDE_OK : find_replays(&of);
}

void tide_time_ranges_fini(tide_time_ranges *ranges) {
    if (ranges->mem != NULL) {
        ranges->mem->release(ranges->mem->ctx, ranges->steps);
        ranges->mem->release(ranges->mem->ctx, ranges->phases);
    }
    *ranges = (tide_time_ranges){.mem = NULL};
}
