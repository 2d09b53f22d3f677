/* live_calls.c - memory that a program allocated from CUDA itself, as events.
 *
 * Pinned memory is a device of its own, numbered after the CUDA devices. Device memory comes from
 * PyTorch's own events if there are any, because the allocator's segments are the same memory;
 * every other program has only the calls. Each allocation is a segment with one block.
 */
#include <string.h>

#include "capture/live_internal.h"
#include "common/map.h"
#include "recorder/log_call.h"

enum { UNIT_BYTES = 512 }; /* of addresses in a snapshot */

/* Arrays and physical memory have handles and no addresses. Their addresses are invented, above
 * every address that a process can have and below the virtual card's
 * (programs/virtual_cuda/card/address.h). */
static const uint64_t FIRST_PLACE = UINT64_C(1) << 48;

typedef struct caller {
    tide_log_contents *contents;   /* borrowed */
    const tide_log_tables *tables; /* borrowed */
    bool takes_devices;            /* the program has no PyTorch events */
    uint8_t pinned;                /* the device of pinned memory */
    tide_map place_of;             /* handle -> place */
    uint64_t next_place;
    tide_event *events; /* those of the program and of the calls, in their order */
    tide_live_extra *extras;
    size_t n_events;
    tide_event *base;
    size_t n_base;
} caller;

static int action_of(const tide_live_note *note) {
    return note->row.action < TIDE_LOG_DRIVER_FIRST ? -1 : note->row.action - TIDE_LOG_DRIVER_FIRST;
}

static bool is_taken(const caller *of, const tide_live_note *note) {
    switch (action_of(note)) {
    case TIDE_LOG_CALL_HOST_ALLOC:
    case TIDE_LOG_CALL_HOST_FREE:
        return note->row.requested_bytes > 0;
    case TIDE_LOG_CALL_DEVICE_ALLOC:
    case TIDE_LOG_CALL_DEVICE_FREE:
    case TIDE_LOG_CALL_PHYSICAL_ALLOC:
    case TIDE_LOG_CALL_PHYSICAL_FREE:
        return of->takes_devices && note->row.requested_bytes > 0;
    case TIDE_LOG_CALL_REFUSED:
        return of->takes_devices;
    default:
        return false;
    }
}

static const char *text_of(const caller *of, uint32_t number) {
    uint64_t string = 0;
    return tide_map_find(&of->tables->string_of, number, &string)
               ? tide_strings_text(&of->tables->strings, (uint32_t)string)
               : "";
}

/* ---- places ---- */

static bool has_handle(const caller *of, const tide_live_note *note) {
    int action = action_of(note);
    return action == TIDE_LOG_CALL_PHYSICAL_ALLOC || action == TIDE_LOG_CALL_PHYSICAL_FREE ||
           strstr(text_of(of, note->row.name), "Array") != NULL;
}

/* Addresses are rounded down to a unit, because pinned memory may begin anywhere in its page. */
static tide_status find_place(caller *of, const tide_live_note *note, uint64_t *ret_address,
                              uint64_t *ret_bytes) {
    uint64_t address = note->row.address;
    uint64_t end = note->row.requested_bytes;
    if (has_handle(of, note)) {
        uint64_t place = of->next_place;
        if (!tide_map_find(&of->place_of, address, &place)) {
            TIDE_TRY(tide_map_put(&of->place_of, address, place));
            of->next_place += (end + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
        }
        address = place;
    }
    end = (address + end + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    *ret_address = address / UNIT_BYTES * UNIT_BYTES;
    *ret_bytes = end - *ret_address;
    return TIDE_OK;
}

/* The next allocation with this handle is another piece of memory. */
static void leave_place(caller *of, const tide_live_note *note) {
    if (action_of(note) % 2 != 0 && has_handle(of, note)) {
        (void)tide_map_remove(&of->place_of, note->row.address);
    }
}

/* ---- events ---- */

/* NVIDIA's libraries allocate memory for their own work. */
static uint8_t category_of(const char *owner) {
    static const char *const LIBRARIES[] = {"NCCL",  "cuBLAS", "cuDNN",  "cuSOLVER", "cuSPARSE",
                                            "cuFFT", "cuRAND", "cuFile", "NVSHMEM",  "TensorRT"};
    for (size_t i = 0; i < sizeof(LIBRARIES) / sizeof(LIBRARIES[0]); i++) {
        if (strcmp(owner, LIBRARIES[i]) == 0) {
            return TIDE_WORKSPACE;
        }
    }
    return TIDE_UNKNOWN;
}

/* The call as an event of the segment; the event of its block differs only in the action. */
static tide_status make_event(caller *of, const tide_live_note *note, tide_event *ret_event) {
    int action = action_of(note);
    tide_event event = note->row;
    event.name = note->extra.node;
    event.category = category_of(text_of(of, note->extra.node));
    if (action == TIDE_LOG_CALL_REFUSED) {
        event.action = TIDE_ACTION_OOM;
        event.address = 0;
        *ret_event = event;
        return TIDE_OK;
    }
    TIDE_TRY(find_place(of, note, &event.address, &event.block_bytes));
    leave_place(of, note);
    event.action = action % 2 == 0 ? TIDE_ACTION_SEGMENT_ALLOC : TIDE_ACTION_SEGMENT_FREE;
    if (action == TIDE_LOG_CALL_HOST_ALLOC || action == TIDE_LOG_CALL_HOST_FREE) {
        event.device = of->pinned;
    }
    *ret_event = event;
    return TIDE_OK;
}

static tide_event segment_of(const tide_event *event) {
    tide_event segment = *event;
    segment.requested_bytes = event->block_bytes;
    segment.name = TIDE_NONE;
    segment.category = TIDE_UNKNOWN;
    return segment;
}

static tide_event block_of(const tide_event *event) {
    tide_event block = *event;
    block.action =
        event->action == TIDE_ACTION_SEGMENT_ALLOC ? TIDE_ACTION_ALLOC : TIDE_ACTION_FREE;
    return block;
}

/* The node field of a call's row holds its owner, not a node. */
static void append(caller *of, tide_event event, const tide_live_extra *from) {
    of->extras[of->n_events] =
        (tide_live_extra){.node = TIDE_NONE, .module = from->module, .thread = from->thread};
    of->events[of->n_events++] = event;
}

static tide_status take_call(caller *of, const tide_live_note *note) {
    tide_event event;
    TIDE_TRY(make_event(of, note, &event));
    switch (event.action) {
    case TIDE_ACTION_SEGMENT_ALLOC:
        append(of, segment_of(&event), &note->extra);
        append(of, block_of(&event), &note->extra);
        break;
    case TIDE_ACTION_SEGMENT_FREE:
        append(of, block_of(&event), &note->extra);
        append(of, segment_of(&event), &note->extra);
        break;
    default:
        append(of, event, &note->extra);
        break;
    }
    return TIDE_OK;
}

static tide_status take_base(caller *of) {
    const tide_log_contents *contents = of->contents;
    for (size_t i = 0; i < contents->n_base_notes; i++) {
        tide_event event;
        const tide_live_note *note = &contents->base_notes[i];
        if (is_taken(of, note) && action_of(note) % 2 == 0) {
            TIDE_TRY(make_event(of, note, &event));
            of->base[of->n_base++] = segment_of(&event);
            of->base[of->n_base++] = block_of(&event);
        }
    }
    return TIDE_OK;
}

/* Whether the base already has the call: a full log folds its oldest row before it overwrites it,
 * and the process may have ended between the two. */
static bool is_folded(const caller *of, const tide_live_note *note) {
    const tide_log_contents *contents = of->contents;
    bool is_there = false;
    for (size_t i = 0; i < contents->n_base_notes && !is_there; i++) {
        const tide_event *row = &contents->base_notes[i].row;
        is_there = row->address == note->row.address && row->time_ns == note->row.time_ns;
    }
    return is_there;
}

/* Rows that are not events keep their places among the events. */
static tide_status take_events(caller *of) {
    tide_log_contents *contents = of->contents;
    size_t next = 0;
    for (size_t i = 0; i <= contents->n_notes; i++) {
        tide_live_note *note = &contents->notes[i];
        size_t n_before = i < contents->n_notes ? note->n_before : contents->n_events;
        for (; next < n_before; next++) {
            of->extras[of->n_events] = contents->extras[next];
            of->events[of->n_events++] = contents->events[next];
        }
        if (i == contents->n_notes) {
            break;
        }
        bool is_oldest = i == 0 && next == 0;
        note->n_before = of->n_events;
        if (is_taken(of, note) && !(is_oldest && is_folded(of, note))) {
            TIDE_TRY(take_call(of, note));
        }
    }
    return TIDE_OK;
}

/* ---- the tables ---- */

/* One more than the highest device: of the program's events, of its streams, whose events may have
 * been dropped, and of the calls that become events. */
static size_t count_devices(const caller *of) {
    const tide_log_contents *contents = of->contents;
    size_t n = 1;
    for (size_t i = 0; i < contents->n_events; i++) {
        n = contents->events[i].device >= n ? (size_t)contents->events[i].device + 1 : n;
    }
    for (size_t i = 0; i < contents->n_base; i++) {
        n = contents->base[i].device >= n ? (size_t)contents->base[i].device + 1 : n;
    }
    for (size_t i = 0; i < of->tables->n_streams; i++) {
        n = of->tables->streams[i].device >= n ? (size_t)of->tables->streams[i].device + 1 : n;
    }
    for (size_t i = 0; of->takes_devices && i < contents->n_notes; i++) {
        size_t device = action_of(&contents->notes[i]) >= 0 ? contents->notes[i].row.device : 0;
        n = device >= n ? device + 1 : n;
    }
    return n;
}

/* Whether the log has events of PyTorch's allocator; marks and failed requests do not count. */
static bool has_events(const tide_log_contents *contents) {
    bool has_one = false;
    for (size_t i = 0; i < contents->n_events && !has_one; i++) {
        has_one = tide_action_has_address(contents->events[i].action);
    }
    for (size_t i = 0; i < contents->n_base && !has_one; i++) {
        has_one = contents->base[i].action != UINT8_MAX;
    }
    return has_one;
}

static size_t count_taken(const caller *of, const tide_live_note *notes, size_t n_notes) {
    size_t n = 0;
    for (size_t i = 0; i < n_notes; i++) {
        n += is_taken(of, &notes[i]);
    }
    return n;
}

static bool has_pinned(const tide_log_contents *contents) {
    bool has_one = false;
    for (size_t i = 0; i < contents->n_notes && !has_one; i++) {
        has_one = action_of(&contents->notes[i]) == TIDE_LOG_CALL_HOST_ALLOC;
    }
    for (size_t i = 0; i < contents->n_base_notes && !has_one; i++) {
        has_one = action_of(&contents->base_notes[i]) == TIDE_LOG_CALL_HOST_ALLOC;
    }
    return has_one;
}

static tide_status make_room(caller *of, size_t n_events, size_t n_base) {
    const tide_hostmem *mem = of->contents->mem;
    of->events = mem->alloc(mem->ctx, (n_events + 1) * sizeof(*of->events));
    of->extras = mem->alloc(mem->ctx, (n_events + 1) * sizeof(*of->extras));
    of->base = mem->alloc(mem->ctx, (n_base + 1) * sizeof(*of->base));
    if (of->events == NULL || of->extras == NULL || of->base == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(of->base, of->contents->base, of->contents->n_base * sizeof(*of->base));
    of->n_base = of->contents->n_base;
    return TIDE_OK;
}

/* Replaces the tables of the contents by the new ones. */
static tide_status hand_over(caller *of) {
    tide_log_contents *contents = of->contents;
    const tide_hostmem *mem = contents->mem;
    size_t *order = mem->alloc(mem->ctx, (of->n_events + 1) * sizeof(*order));
    if (order == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->n_events; i++) {
        order[i] = i;
    }
    mem->release(mem->ctx, contents->events);
    mem->release(mem->ctx, contents->extras);
    mem->release(mem->ctx, contents->order);
    mem->release(mem->ctx, contents->base);
    contents->events = of->events;
    contents->extras = of->extras;
    contents->order = order;
    contents->base = of->base;
    contents->n_events = of->n_events;
    contents->n_base = of->n_base;
    of->events = NULL;
    of->extras = NULL;
    of->base = NULL;
    return TIDE_OK;
}

tide_status tide_live_take_calls(tide_log_contents *contents, const tide_log_tables *tables) {
    const tide_hostmem *mem = contents->mem;
    caller of = {.contents = contents,
                 .tables = tables,
                 .takes_devices = !has_events(contents),
                 .next_place = FIRST_PLACE};
    contents->is_of_pytorch = !of.takes_devices;
    size_t n_devices = count_devices(&of);
    size_t n_calls = count_taken(&of, contents->notes, contents->n_notes);
    size_t n_base = count_taken(&of, contents->base_notes, contents->n_base_notes);
    if (n_calls + n_base == 0 || n_devices > UINT8_MAX) {
        return TIDE_OK;
    }
    of.pinned = (uint8_t)n_devices;
    contents->pinned_device = has_pinned(contents) ? (int)n_devices : -1;
    tide_map_init(&of.place_of, mem);
    tide_status status =
        make_room(&of, contents->n_events + 2 * n_calls, contents->n_base + 2 * n_base);
    status = status == TIDE_OK ? take_base(&of) : status;
    status = status == TIDE_OK ? take_events(&of) : status;
    status = status == TIDE_OK ? hand_over(&of) : status;
    mem->release(mem->ctx, of.events);
    mem->release(mem->ctx, of.extras);
    mem->release(mem->ctx, of.base);
    tide_map_fini(&of.place_of);
    return status;
}
