"""Faults that are planted in a recording and in PyTorch's history: the comparison must see each one."""


def rows_that_allocate(run):
    """Places of rows of the log, those in the middle first, with a stack that has Python's frames."""
    log = run.log
    found = [i for i, row in enumerate(log.rows) if log.action(row) == "alloc" and log.python(row)]
    return found[len(found) // 2:]


def change_row(run, **changes):
    at = rows_that_allocate(run)[0]
    run.log.rows[at] = run.log.rows[at]._replace(**changes)


def drop_row(run):
    del run.log.rows[rows_that_allocate(run)[0]]


def swap_rows(run):
    rows, at = run.log.rows, rows_that_allocate(run)
    other = next(i for i in at if (rows[i].address, rows[i].requested) != (rows[at[0]].address, rows[at[0]].requested)
                 and rows[i].device == rows[at[0]].device)
    rows[at[0]], rows[other] = rows[other], rows[at[0]]


def shift_line(run):
    row = run.log.rows[rows_that_allocate(run)[0]]
    pc = run.log.stacks[row.stack][-1]  # the outermost frame
    line, file, function = run.log.frames[pc & ~(1 << 63)]
    run.log.frames[pc & ~(1 << 63)] = (line + 1, file, function)


def lose_outermost_frame(run):
    row = run.log.rows[rows_that_allocate(run)[0]]
    run.log.stacks[row.stack] = run.log.stacks[row.stack][:-1]


def other_pool(run):
    run.log.pools[77] = (1, 0)
    change_row(run, pool=77)


def other_stream(run):
    run.log.streams[77] = 12345
    change_row(run, stream=77)


def other_device(run):
    change_row(run, device=1 - run.log.rows[rows_that_allocate(run)[0]].device)


def other_block(run):
    block = next(b for segment in run.own["segments"] for b in segment["blocks"] if b["state"] == "active_allocated")
    block["size"] += 512


def other_segment_pool(run):
    run.own["segments"][0]["segment_pool_id"] = (7, 0)


def lose_segment(run):
    run.own["segments"].pop()


def lose_exported_event(run):
    run.own["device_traces"][0].pop(3)


FAULTS = {
    "a row less": drop_row,
    "two rows in another order": swap_rows,
    "a size that is one off": lambda run: change_row(run, requested=1),
    "an address that is one off": lambda run: change_row(run, address=1),
    "another action": lambda run: change_row(run, action=3),
    "a line that is one off": shift_line,
    "a stack without its outermost frame": lose_outermost_frame,
    "another pool": other_pool,
    "another stream": other_stream,
    "another device": other_device,
    "a block that is larger": other_block,
    "a segment of another pool": other_segment_pool,
    "a segment less": lose_segment,
    "an exported event less": lose_exported_event,
}
