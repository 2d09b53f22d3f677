#include "snapshot/pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/pickle_internal.h"

enum {
    FREE_BYTES = 256 * 1024, /* of memory, whatever the pickle's size */
    MESSAGE_BYTES = 512
};

/* Offsets of values have 32 bits. */
#define MAX_PICKLE_BYTES ((size_t)UINT32_MAX)

tide_status tide_pickle_fail(const tide_pickle_machine *machine, tide_status status,
                             const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return tide_fail(machine->error, status, "byte %zu, opcode %s: %s", machine->opcode_at,
                     machine->opcode_name, message);
}

tide_status tide_pickle_take(tide_pickle_machine *machine, size_t n_bytes,
                             const unsigned char **ret_data) {
    size_t n_left = machine->pickle->n_bytes - machine->at;
    if (n_bytes > n_left) {
        return tide_pickle_fail(machine, TIDE_FORMAT,
                                "the file is truncated: %zu bytes follow, %zu are needed", n_left,
                                n_bytes);
    }
    *ret_data = (const unsigned char *)machine->pickle->data + machine->at;
    machine->at += n_bytes;
    return TIDE_OK;
}

/* Before memory is taken. */
static tide_status charge(tide_pickle_machine *machine, size_t n_bytes) {
    if (n_bytes > machine->n_allowed - machine->n_charged) {
        return tide_pickle_fail(machine, TIDE_LIMIT,
                                "up to here the %zu bytes make more than the limit of %zu bytes of "
                                "memory: no snapshot is that dense",
                                machine->pickle->n_bytes, machine->n_allowed);
    }
    machine->n_charged += n_bytes;
    return TIDE_OK;
}

/* Room for `n_needed` items, doubling. */
static tide_status grow(tide_pickle_machine *machine, void **items, size_t *capacity,
                        size_t n_needed, size_t item_bytes) {
    if (n_needed <= *capacity) {
        return TIDE_OK;
    }
    size_t old = *capacity;
    TIDE_TRY(charge(machine, (n_needed > 2 * old ? n_needed - old : old) * item_bytes));
    void *grown = tide_hostmem_grow(machine->pickle->mem, *items, capacity, n_needed, item_bytes);
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    *items = grown;
    return TIDE_OK;
}

static tide_status array_reserve(tide_pickle_machine *machine, tide_pickle_array *array,
                                 size_t n_needed) {
    void *values = array->values;
    tide_status status = grow(machine, &values, &array->capacity, n_needed, sizeof(*array->values));
    array->values = values;
    return status;
}

tide_status tide_pickle_push(tide_pickle_machine *machine, tide_pickle_value value) {
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
    TIDE_TRY(grow(machine, &numbers, &pickle->number_capacity, pickle->n_numbers + 1,
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
    tide_pickle *pickle = machine->pickle;
    void *containers = pickle->containers;
    TIDE_TRY(grow(machine, &containers, &pickle->container_capacity, pickle->n_containers + 1,
                  sizeof(*pickle->containers)));
    pickle->containers = containers;
    pickle->containers[pickle->n_containers] =
        (tide_pickle_container){.offset = (uint32_t)machine->opcode_at, .kind = (uint8_t)kind};
    return tide_pickle_push(
        machine, TIDE_PICKLE_MAKE(TIDE_PICKLE_TAG_CONTAINER, (uint64_t)pickle->n_containers++));
}

/* The first items get just the room they need: most containers are filled at once. */
static tide_status reserve_items(tide_pickle_machine *machine, tide_pickle_container *to,
                                 size_t n_more) {
    size_t n_needed = to->n_items + n_more;
    if (n_needed <= to->capacity) {
        return TIDE_OK;
    }
    size_t capacity = to->n_items == 0 ? n_needed : 2 * n_needed;
    TIDE_TRY(charge(machine, capacity * sizeof(*to->items)));
    tide_pickle_value *items = tide_arena_alloc(&machine->pickle->arena, capacity, sizeof(*items));
    if (items == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (to->n_items > 0) {
        memcpy(items, to->items, to->n_items * sizeof(*items));
    }
    to->items = items;
    to->capacity = (uint32_t)capacity;
    return TIDE_OK;
}

tide_status tide_pickle_append(tide_pickle_machine *machine, tide_pickle_value container,
                               size_t base) {
    tide_pickle *pickle = machine->pickle;
    tide_pickle_container *to = &pickle->containers[container >> TIDE_PICKLE_TAG_BITS];
    size_t n_more = machine->stack.n - base;
    if (n_more == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(reserve_items(machine, to, n_more));
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

tide_status tide_pickle_memo_put(tide_pickle_machine *machine, size_t number) {
    tide_pickle_value value = 0;
    TIDE_TRY(tide_pickle_top(machine, &value));
    if (number >= machine->pickle->n_bytes) {
        return tide_pickle_fail(machine, TIDE_LIMIT,
                                "memo number %zu: a pickle of %zu bytes needs none so high", number,
                                machine->pickle->n_bytes);
    }
    size_t old = machine->memo.capacity;
    TIDE_TRY(array_reserve(machine, &machine->memo, number + 1));
    memset(machine->memo.values + old, 0,
           (machine->memo.capacity - old) * sizeof(*machine->memo.values));
    machine->memo.values[number] = value;
    machine->n_memo = number + 1 > machine->n_memo ? number + 1 : machine->n_memo;
    return TIDE_OK;
}

tide_status tide_pickle_memo_get(tide_pickle_machine *machine, size_t number) {
    if (number >= machine->n_memo || machine->memo.values[number] == 0) {
        return tide_pickle_fail(machine, TIDE_FORMAT, "memo number %zu was never set", number);
    }
    return tide_pickle_push(machine, machine->memo.values[number]);
}

static tide_status step(tide_pickle_machine *machine) {
    tide_pickle *pickle = machine->pickle;
    machine->opcode_at = machine->at;
    if (machine->at >= pickle->n_bytes) {
        return tide_fail(machine->error, TIDE_FORMAT,
                         "byte %zu: the pickle is truncated: it ends without the opcode STOP",
                         machine->at);
    }
    unsigned char code = (unsigned char)pickle->data[machine->at++];
    const tide_pickle_opcode *opcode = &TIDE_PICKLE_OPCODES[code];
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

static tide_status run(tide_pickle_machine *machine) {
    while (!machine->done) {
        TIDE_TRY(step(machine));
    }
    if (machine->at < machine->pickle->n_bytes) {
        return tide_fail(machine->error, TIDE_FORMAT,
                         "byte %zu: the file goes on after the end of the pickle", machine->at);
    }
    return TIDE_OK;
}

tide_status tide_pickle_init(tide_pickle *pickle, const char *data, size_t n_bytes,
                             const tide_hostmem *mem, tide_error *error) {
    *pickle = (tide_pickle){.data = data, .n_bytes = n_bytes, .mem = mem};
    tide_arena_init(&pickle->arena, mem);
    if (n_bytes > MAX_PICKLE_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "a pickle of more than 2^32 - 1 bytes");
    }
    tide_pickle_machine machine = {.pickle = pickle,
                                   .opcode_name = "",
                                   .n_allowed = FREE_BYTES + TIDE_PICKLE_DENSITY * n_bytes,
                                   .error = error};
    tide_status status = run(&machine);
    mem->release(mem->ctx, machine.stack.values);
    mem->release(mem->ctx, machine.memo.values);
    if (status != TIDE_OK) {
        tide_pickle_fini(pickle);
    }
    return status;
}

void tide_pickle_fini(tide_pickle *pickle) {
    if (pickle->mem == NULL) {
        return;
    }
    tide_arena_fini(&pickle->arena);
    pickle->mem->release(pickle->mem->ctx, pickle->containers);
    pickle->mem->release(pickle->mem->ctx, pickle->numbers);
    *pickle = (tide_pickle){.mem = pickle->mem};
    tide_arena_init(&pickle->arena, pickle->mem);
}
