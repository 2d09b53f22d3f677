#include "snapshot/pytorch/pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/pytorch/pickle_internal.h"

enum {
    MESSAGE_BYTES = 512,
    MEMO_SLACK = 256 /* memo numbers allowed beyond one per byte */
};

tide_status tide_pickle_fail(const tide_pickle_machine *machine, tide_status status,
                             const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return machine->opcode_name == NULL
               ? tide_fail(machine->error, status, "byte %zu: %s", machine->opcode_at, message)
               : tide_fail(machine->error, status, "byte %zu, opcode %s: %s", machine->opcode_at,
                           machine->opcode_name, message);
}

tide_status tide_pickle_take_more(tide_pickle_machine *machine, size_t n_bytes,
                                  const unsigned char **ret_data) {
    tide_window *window = &machine->window;
    if (!tide_window_has(window, machine->at, n_bytes, machine->error)) {
        return window->status != TIDE_OK
                   ? window->status
                   : tide_pickle_fail(machine, TIDE_FORMAT,
                                      "the file is truncated: %zu bytes follow, %zu are needed",
                                      window->end - machine->at, n_bytes);
    }
    return tide_pickle_take(machine, n_bytes, ret_data);
}

static tide_status array_reserve(tide_pickle_machine *machine, tide_pickle_array *array,
                                 size_t n_needed) {
    void *values = array->values;
    tide_status status =
        tide_pickle_grow(machine, &values, &array->capacity, n_needed, sizeof(*array->values));
    array->values = values;
    return status;
}

tide_status tide_pickle_push_more(tide_pickle_machine *machine, tide_pickle_value value) {
    if (machine->stack.n == TIDE_PICKLE_STACK) {
        return tide_pickle_fail(machine, TIDE_LIMIT,
                                "more than the limit of %d values on the stack", TIDE_PICKLE_STACK);
    }
    TIDE_TRY(array_reserve(machine, &machine->stack, machine->stack.n + 1));
    machine->stack.values[machine->stack.n++] = value;
    return TIDE_OK;
}

tide_status tide_pickle_top(tide_pickle_machine *machine, tide_pickle_value *ret_value) {
    size_t base = machine->n_marks > 0 ? machine->marks[machine->n_marks - 1] : 0;
    if (machine->stack.n <= base) {
        return tide_pickle_fail(machine, TIDE_FORMAT, "the stack has no value for it");
    }
    *ret_value = machine->stack.values[machine->stack.n - 1];
    return TIDE_OK;
}

tide_status tide_pickle_pop(tide_pickle_machine *machine, tide_pickle_value *ret_value) {
    TIDE_TRY(tide_pickle_top(machine, ret_value));
    machine->stack.n--;
    return TIDE_OK;
}

static tide_status push_number(tide_pickle_machine *machine, int tag, uint64_t bits) {
    tide_pickle *pickle = machine->pickle;
    void *numbers = pickle->numbers;
    TIDE_TRY(tide_pickle_grow(machine, &numbers, &pickle->number_capacity, pickle->n_numbers + 1,
                              sizeof(*pickle->numbers)));
    pickle->numbers = numbers;
    pickle->numbers[pickle->n_numbers] = bits;
    return tide_pickle_push(machine,
                            TIDE_PICKLE_MAKE((unsigned)tag, (uint64_t)pickle->n_numbers++));
}

tide_status tide_pickle_push_integer(tide_pickle_machine *machine, int64_t value) {
    const int64_t bound = INT64_C(1) << (63 - TIDE_PICKLE_TAG_BITS);
    if (value >= -bound && value < bound) {
        return tide_pickle_push(machine, TIDE_PICKLE_MAKE(TIDE_PICKLE_TAG_SMALL, value));
    }
    return push_number(machine, TIDE_PICKLE_TAG_LARGE, (uint64_t)value);
}

tide_status tide_pickle_push_real(tide_pickle_machine *machine, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return push_number(machine, TIDE_PICKLE_TAG_REAL, bits);
}

tide_status tide_pickle_push_container(tide_pickle_machine *machine, tide_pickle_kind kind) {
    uint32_t index = 0;
    TIDE_TRY(tide_pickle_new_container(machine, &index));
    machine->pickle->containers[index] =
        (tide_pickle_container){.offset = (uint32_t)machine->opcode_at, .kind = (uint8_t)kind};
    return tide_pickle_push(machine, TIDE_PICKLE_MAKE(TIDE_PICKLE_TAG_CONTAINER, (uint64_t)index));
}

tide_status tide_pickle_append(tide_pickle_machine *machine, tide_pickle_value container,
                               size_t base) {
    tide_pickle *pickle = machine->pickle;
    tide_pickle_container *to = &pickle->containers[container >> TIDE_PICKLE_TAG_BITS];
    size_t n_more = machine->stack.n - base;
    if (n_more == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_pickle_reserve(machine, to, n_more));
    const tide_pickle_value *from = machine->stack.values + base;
    for (size_t i = 0; i < n_more; i++) {
        if (TIDE_PICKLE_TAG(from[i]) == TIDE_PICKLE_TAG_CONTAINER) {
            uint8_t depth = pickle->containers[from[i] >> TIDE_PICKLE_TAG_BITS].depth;
            to->depth = depth + 1 > to->depth ? (uint8_t)(depth + 1) : to->depth;
        }
    }
    if (to->depth >= TIDE_PICKLE_DEPTH) {
        return tide_pickle_fail(machine, TIDE_LIMIT,
                                "containers lie more than the limit of %d levels deep",
                                TIDE_PICKLE_DEPTH);
    }
    memcpy(to->items + to->n_items, from, n_more * sizeof(*from));
    to->n_items += (uint32_t)n_more;
    machine->stack.n = base;
    return TIDE_OK;
}

tide_status tide_pickle_pop_mark(tide_pickle_machine *machine, size_t *ret_base) {
    if (machine->n_marks == 0) {
        return tide_pickle_fail(machine, TIDE_FORMAT, "no mark stands before it");
    }
    *ret_base = machine->marks[--machine->n_marks];
    return TIDE_OK;
}

void tide_pickle_share(const tide_pickle_machine *machine, tide_pickle_value value) {
    if (TIDE_PICKLE_TAG(value) == TIDE_PICKLE_TAG_CONTAINER) {
        machine->pickle->containers[value >> TIDE_PICKLE_TAG_BITS].is_referred_to = true;
    }
}

tide_status tide_pickle_memo_put(tide_pickle_machine *machine, size_t number) {
    tide_pickle_value value = 0;
    TIDE_TRY(tide_pickle_top(machine, &value));
    if (number > machine->at + MEMO_SLACK) {
        return tide_pickle_fail(machine, TIDE_LIMIT,
                                "memo number %zu: %zu bytes of a pickle need none so high", number,
                                machine->at);
    }
    if (number >= machine->n_memo) {
        TIDE_TRY(array_reserve(machine, &machine->memo, number + 1));
        memset(machine->memo.values + machine->n_memo, 0,
               (number + 1 - machine->n_memo) * sizeof(*machine->memo.values));
        machine->n_memo = number + 1;
    }
    machine->memo_is_final = machine->memo_is_final && machine->memo.values[number] == 0;
    machine->memo.values[number] = value;
    tide_pickle_share(machine, value);
    return TIDE_OK;
}

tide_status tide_pickle_memo_get(tide_pickle_machine *machine, size_t number) {
    if (number >= machine->n_memo || machine->memo.values[number] == 0) {
        return tide_pickle_fail(machine, TIDE_FORMAT, "memo number %zu was never set", number);
    }
    return tide_pickle_push(machine, machine->memo.values[number]);
}

static tide_status step(tide_pickle_machine *machine) {
    machine->opcode_at = machine->at;
    machine->pickle->n_read = machine->at;
    if (!tide_window_has(&machine->window, machine->at, 1, machine->error)) {
        return machine->window.status != TIDE_OK
                   ? machine->window.status
                   : tide_fail(machine->error, TIDE_FORMAT,
                               "byte %zu: the pickle is truncated: it ends without the opcode STOP",
                               machine->at);
    }
    unsigned char code =
        (unsigned char)machine->window.bytes[machine->at++ - machine->window.begin];
    const tide_pickle_opcode *opcode = &tide_pickle_opcodes[code];
    if (opcode->name == NULL) {
        return tide_fail(machine->error, TIDE_FORMAT, "byte %zu: 0x%02x is no opcode of a pickle",
                         machine->opcode_at, (unsigned)code);
    }
    machine->opcode_name = opcode->name;
    if (opcode->run == NULL) {
        return tide_pickle_fail(machine, TIDE_UNSUPPORTED,
                                "refused, it %s: a snapshot holds plain data only", opcode->does);
    }
    if (machine->opcode_at == 0 && code != 0x80) {
        return tide_pickle_fail(machine, TIDE_FORMAT, "a pickle must begin with PROTO");
    }
    return opcode->run(machine);
}

/* After STOP. Like Python, reads no further. Zeros, which pad copies of disks and of buffers, cause
 * no warning. */
static tide_status end(tide_pickle_machine *machine) {
    tide_window *window = &machine->window;
    size_t at = machine->at;
    machine->pickle->n_read = machine->at;
    while (tide_window_has(window, at, 1, machine->error) &&
           window->bytes[at - window->begin] == 0) {
        at++;
    }
    if (window->status != TIDE_OK) {
        return window->status;
    }
    machine->pickle->has_rest = at < window->end;
    if (!machine->pickle->has_rest && machine->frame_end > at) {
        return tide_fail(machine->error, TIDE_FORMAT,
                         "byte %zu: the file is truncated: a frame promises %" PRIu64 " more bytes",
                         at, machine->frame_end - at);
    }
    return TIDE_OK;
}

static tide_status run(tide_pickle_machine *machine) {
    while (!machine->done) {
        TIDE_TRY(step(machine));
    }
    return end(machine);
}

void tide_pickle_init(tide_pickle *pickle, const tide_hostmem *mem) {
    *pickle = (tide_pickle){.mem = mem, .n_allowed = TIDE_PICKLE_FREE_BYTES};
    tide_arena_init(&pickle->arena, mem);
    tide_map_init(&pickle->text_at, mem);
}

tide_status tide_pickle_read(tide_pickle *pickle, const tide_source *source,
                             const tide_pickle_taker *taker, tide_error *error) {
    const tide_hostmem *mem = pickle->mem;
    tide_pickle_machine machine = {
        .pickle = pickle, .taker = taker, .opcode_name = "", .memo_is_final = true, .error = error};
    tide_window_open(&machine.window, source, mem);
    tide_status status = run(&machine);
    tide_window_close(&machine.window);
    mem->release(mem->ctx, machine.stack.values);
    mem->release(mem->ctx, machine.memo.values);
    return status;
}

void tide_pickle_fini(tide_pickle *pickle) {
    const tide_hostmem *mem = pickle->mem;
    for (size_t i = 0; i < pickle->n_containers; i++) {
        if (pickle->containers[i].capacity > (size_t)2 << (TIDE_PICKLE_CLASSES - 1)) {
            mem->release(mem->ctx, pickle->containers[i].items);
        }
    }
    tide_arena_fini(&pickle->arena);
    tide_map_fini(&pickle->text_at);
    mem->release(mem->ctx, pickle->texts);
    mem->release(mem->ctx, pickle->containers);
    mem->release(mem->ctx, pickle->numbers);
    tide_pickle_init(pickle, mem);
}
