#include "snapshot/explain/loops.h"

#include <string.h>

#include "common/assert.h"

/* A loop while its function still runs. */
typedef struct open_loop {
    tide_loop loop;
    size_t room; /* of its starts */
} open_loop;

/* The first row at a line of a call. */
typedef struct line_seen {
    int32_t line;
    uint32_t row;
} line_seen;

/* A call of a function that the program is in. */
typedef struct activation {
    uint32_t node;   /* where it is now */
    uint32_t frame;  /* of that node */
    uint32_t first;  /* its first row */
    line_seen *seen; /* owned */
    size_t n_seen, room_seen;
    open_loop *loops; /* owned; distinct first lines */
    size_t n_loops, room_loops;
    open_loop pass;    /* the stretch on the present line; without starts until it repeats */
    bool has_pass;     /* the stretch has begun */
    bool is_pass_kept; /* its key may recur */
    uint32_t key;      /* the stack with which the stretch began, */
    uint16_t variant;  /* and the instructions on its lines */
    uint32_t pass_row; /* its first row */
} activation;

typedef struct walk {
    const tide_snapshot *snapshot; /* borrowed, as are the next two */
    const tide_stack_facts *facts;
    tide_loops *found;
    activation *calls; /* owned; outermost first; n_calls are in use, the others keep their room */
    size_t n_calls, room_calls;
    uint32_t *path; /* owned; the visible nodes of a stack, outermost first */
    size_t n_path, room_path;
    uint32_t row; /* the allocation that is looked at */
} walk;

/* ---- loops that end ---- */

static tide_status keep(walk *of, open_loop *ended) {
    tide_loops *found = of->found;
    const tide_hostmem *mem = found->mem;
    tide_status status = TIDE_OK;
    ended->loop.end = of->row;
    if (ended->loop.n_starts >= TIDE_LOOP_LEAST_PASSES) {
        tide_loop *grown =
            tide_hostmem_grow(mem, found->loops, &found->room, found->n_loops + 1, sizeof(*grown));
        status = grown != NULL ? TIDE_OK : TIDE_NO_MEMORY;
        if (grown != NULL) {
            found->loops = grown;
            found->loops[found->n_loops++] = ended->loop;
            ended->loop.starts = NULL;
        }
    }
    mem->release(mem->ctx, ended->loop.starts);
    *ended = (open_loop){0};
    return status;
}

static tide_status end_pass(walk *of, activation *call) {
    tide_status status = call->has_pass ? keep(of, &call->pass) : TIDE_OK;
    call->has_pass = false;
    return status;
}

/* Ends the loops of a call that begin after a line, or whose last line is before it. */
static tide_status end_loops(walk *of, activation *call, bool by_first, int32_t line) {
    size_t n = 0;
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < call->n_loops; i++) {
        const tide_loop *loop = &call->loops[i].loop;
        if (by_first ? loop->first_line > line : loop->last_line < line) {
            tide_status ended = keep(of, &call->loops[i]);
            status = status == TIDE_OK ? ended : status;
        } else {
            call->loops[n++] = call->loops[i];
        }
    }
    call->n_loops = n;
    return status;
}

static tide_status end_calls(walk *of, size_t from) {
    tide_status status = TIDE_OK;
    while (of->n_calls > from) {
        activation *call = &of->calls[--of->n_calls];
        tide_status ended = end_loops(of, call, true, INT32_MIN);
        status = status == TIDE_OK ? ended : status;
        ended = end_pass(of, call);
        status = status == TIDE_OK ? ended : status;
        call->n_seen = 0;
    }
    return status;
}

/* ---- loops that begin ---- */

static tide_status add_start(const walk *of, open_loop *to, uint32_t row) {
    uint32_t *grown = tide_hostmem_grow(of->found->mem, to->loop.starts, &to->room,
                                        to->loop.n_starts + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_ASSERT(to->loop.n_starts == 0 || grown[to->loop.n_starts - 1] <= row);
    to->loop.starts = grown;
    to->loop.starts[to->loop.n_starts++] = row;
    return TIDE_OK;
}

static int32_t line_of(const walk *of, uint32_t frame) {
    return of->snapshot->frames[frame].line;
}

static open_loop begin(const walk *of, size_t depth, int32_t last_line) {
    const activation *call = &of->calls[depth];
    const tide_frame_row *frame = &of->snapshot->frames[call->frame];
    return (open_loop){.loop = {.function = frame->function,
                                .file = frame->file,
                                .first_line = frame->line,
                                .last_line = last_line,
                                .depth = (uint32_t)depth,
                                .node = call->node}};
}

static line_seen *seen_at(const activation *call, int32_t line) {
    for (size_t i = 0; i < call->n_seen; i++) {
        if (call->seen[i].line == line) {
            return &call->seen[i];
        }
    }
    return NULL;
}

static tide_status see(walk *of, activation *call, int32_t line) {
    if (seen_at(call, line) != NULL) {
        return TIDE_OK;
    }
    line_seen *grown = tide_hostmem_grow(of->found->mem, call->seen, &call->room_seen,
                                         call->n_seen + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    call->seen = grown;
    call->seen[call->n_seen++] = (line_seen){line, of->row};
    return TIDE_OK;
}

/* Lines after the first of a loop are seen anew in each pass. */
static void forget_after(activation *call, int32_t line) {
    size_t n = 0;
    for (size_t i = 0; i < call->n_seen; i++) {
        if (call->seen[i].line < line) {
            call->seen[n++] = call->seen[i];
        }
    }
    call->n_seen = n;
}

/* The call went back from `old` to the line that it is at now. */
static tide_status jump_back(walk *of, size_t depth, int32_t old) {
    activation *call = &of->calls[depth];
    int32_t line = line_of(of, call->frame);
    open_loop *at = NULL;
    for (size_t i = 0; i < call->n_loops; i++) {
        at = call->loops[i].loop.first_line == line ? &call->loops[i] : at;
    }
    if (at == NULL) {
        const line_seen *seen = seen_at(call, line);
        open_loop *grown = tide_hostmem_grow(of->found->mem, call->loops, &call->room_loops,
                                             call->n_loops + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        call->loops = grown;
        at = &call->loops[call->n_loops];
        *at = begin(of, depth, old);
        call->n_loops++;
        TIDE_TRY(add_start(of, at, seen != NULL ? seen->row : call->first));
    }
    at->loop.last_line = old > at->loop.last_line ? old : at->loop.last_line;
    TIDE_TRY(add_start(of, at, of->row));
    TIDE_TRY(end_loops(of, call, true, line));
    forget_after(call, line);
    return TIDE_OK;
}

/* ---- one allocation ---- */

/* Fills the path of a visible node, outermost first. */
static tide_status find_path(walk *of, uint32_t node) {
    size_t n = 0;
    for (uint32_t at = node; at != TIDE_NONE; at = tide_stack_visible_caller(of->facts, at)) {
        n++;
    }
    uint32_t *grown =
        tide_hostmem_grow(of->found->mem, of->path, &of->room_path, n, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->path = grown;
    of->n_path = n;
    for (uint32_t at = node; at != TIDE_NONE; at = tide_stack_visible_caller(of->facts, at)) {
        of->path[--n] = at;
    }
    return TIDE_OK;
}

static bool is_same_function(const walk *of, uint32_t a, uint32_t b) {
    const tide_frame_row *left = &of->snapshot->frames[a];
    const tide_frame_row *right = &of->snapshot->frames[b];
    return left->function == right->function && left->file == right->file;
}

/* The call at `depth` goes on at another line. */
static tide_status move_call(walk *of, size_t depth, uint32_t node) {
    activation *call = &of->calls[depth];
    int32_t old = line_of(of, call->frame);
    TIDE_TRY(end_pass(of, call));
    call->node = node;
    call->frame = of->snapshot->stacks[node].frame;
    int32_t line = line_of(of, call->frame);
    if (line < old) {
        TIDE_TRY(jump_back(of, depth, old));
    } else {
        TIDE_TRY(end_loops(of, call, false, line));
    }
    return see(of, call, line);
}

static tide_status begin_call(walk *of, uint32_t node) {
    activation *grown = of->calls;
    if (of->n_calls == of->room_calls) {
        size_t old_room = of->room_calls;
        grown = tide_hostmem_grow(of->found->mem, of->calls, &of->room_calls, of->n_calls + 1,
                                  sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->calls = grown;
        memset(grown + old_room, 0, (of->room_calls - old_room) * sizeof(*grown));
    }
    activation *call = &of->calls[of->n_calls++];
    TIDE_ASSERT(call->n_loops == 0 && call->n_seen == 0 && !call->has_pass);
    call->node = node;
    call->frame = of->snapshot->stacks[node].frame;
    call->first = of->row;
    return see(of, call, line_of(of, call->frame));
}

/* Brings the open calls to the path of the allocation. */
static tide_status follow(walk *of) {
    size_t d = 0;
    const tide_stack_row *stacks = of->snapshot->stacks;
    while (d < of->n_path && d < of->n_calls && of->calls[d].frame == stacks[of->path[d]].frame) {
        of->calls[d].node = of->path[d];
        d++;
    }
    if (d < of->n_path && d < of->n_calls &&
        is_same_function(of, of->calls[d].frame, stacks[of->path[d]].frame)) {
        TIDE_TRY(end_calls(of, d + 1));
        TIDE_TRY(move_call(of, d, of->path[d]));
        d++;
    }
    TIDE_TRY(end_calls(of, d));
    for (; d < of->n_path; d++) {
        TIDE_TRY(begin_call(of, of->path[d]));
    }
    return TIDE_OK;
}

static tide_status repeat_pass(walk *of, size_t depth) {
    activation *call = &of->calls[depth];
    if (call->pass.loop.n_starts == 0) {
        call->pass = begin(of, depth, line_of(of, call->frame));
        call->pass.loop.is_one_line = true;
        TIDE_TRY(add_start(of, &call->pass, call->pass_row));
    }
    return add_start(of, &call->pass, of->row);
}

/* Begins or repeats the stretch of each open call on its line. */
static tide_status repeat_passes(walk *of, uint32_t stack) {
    const uint16_t *variants = of->snapshot->event_variant;
    uint16_t variant = variants != NULL ? variants[of->row] : 0;
    bool is_key = (tide_stack_traits(of->facts, stack) & TIDE_IN_LAYERS) == 0;
    for (size_t d = 0; d < of->n_calls; d++) {
        activation *call = &of->calls[d];
        if (!call->has_pass) {
            call->has_pass = true;
            call->is_pass_kept = is_key;
            call->key = stack;
            call->variant = variant;
            call->pass_row = of->row;
        } else if (call->is_pass_kept && call->key == stack && call->variant == variant) {
            TIDE_TRY(repeat_pass(of, d));
        }
    }
    return TIDE_OK;
}

static bool is_in_backward(const walk *of) {
    const tide_snapshot *snapshot = of->snapshot;
    uint32_t scope = tide_index_at(&snapshot->events.scope, of->row);
    for (; scope != TIDE_NONE; scope = snapshot->scopes[scope].parent) {
        const tide_scope_row *row = &snapshot->scopes[scope];
        if (row->kind == TIDE_SCOPE_PHASE &&
            strcmp(tide_snapshot_text(snapshot, row->name), "backward") == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the path is one of autograd's own thread, where Python code runs in hooks and in
 * functions of autograd: the program's calls go on meanwhile. */
static bool is_of_other_thread(const walk *of) {
    return of->n_calls > 0 && of->n_path > 0 &&
           !is_same_function(of, of->calls[0].frame, of->snapshot->stacks[of->path[0]].frame) &&
           is_in_backward(of);
}

static tide_status take(walk *of, uint32_t stack) {
    uint32_t node = of->facts->visible[stack];
    if (node == TIDE_NONE) {
        return TIDE_OK;
    }
    if (of->n_calls == 0 || of->calls[of->n_calls - 1].node != node) {
        TIDE_TRY(find_path(of, node));
        if (is_of_other_thread(of)) {
            return TIDE_OK;
        }
        TIDE_TRY(follow(of));
    }
    return repeat_passes(of, stack);
}

/* ---- the whole ---- */

static tide_status take_all(walk *of) {
    const tide_event_table *events = &of->snapshot->events;
    size_t n = of->snapshot->n_events;
    for (size_t i = 0; i < n; i++) {
        uint32_t stack = tide_index_at(&events->stack, i);
        if (events->action[i] == TIDE_ACTION_ALLOC && stack != TIDE_NONE) {
            of->row = (uint32_t)i;
            TIDE_TRY(take(of, stack));
        }
    }
    of->row = (uint32_t)n;
    return TIDE_OK;
}

static void release(walk *of) {
    const tide_hostmem *mem = of->found->mem;
    for (size_t i = 0; i < of->room_calls; i++) {
        mem->release(mem->ctx, of->calls[i].seen);
        mem->release(mem->ctx, of->calls[i].loops);
    }
    mem->release(mem->ctx, of->calls);
    mem->release(mem->ctx, of->path);
}

tide_status tide_loops_init(tide_loops *loops, const tide_stack_facts *facts) {
    *loops = (tide_loops){.mem = facts->mem};
    walk of = {.snapshot = facts->snapshot, .facts = facts, .found = loops};
    if (facts->snapshot->n_events > UINT32_MAX - 1) {
        return TIDE_LIMIT;
    }
    tide_status status = take_all(&of);
    tide_status ended = end_calls(&of, 0);
    release(&of);
    return status == TIDE_OK ? ended : status;
}

bool tide_loop_has_line(const tide_loop *loop, const tide_snapshot *snapshot, uint32_t node) {
    const tide_frame_row *row = &snapshot->frames[snapshot->stacks[node].frame];
    return row->file == loop->file && row->function == loop->function &&
           row->line >= loop->first_line && row->line <= loop->last_line;
}

void tide_loops_fini(tide_loops *loops) {
    if (loops->mem != NULL) {
        for (size_t i = 0; i < loops->n_loops; i++) {
            loops->mem->release(loops->mem->ctx, loops->loops[i].starts);
        }
        loops->mem->release(loops->mem->ctx, loops->loops);
        *loops = (tide_loops){.mem = loops->mem};
    }
}
