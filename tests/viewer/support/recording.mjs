// Writes documents in the snapshot format row by row.

export const CATEGORIES = [
  'unknown',
  'parameter',
  'gradient',
  'optimizer_state',
  'activation',
  'temporary',
  'workspace',
  'input',
  'weight_copy',
  'kv_cache',
];
const ACTIONS = [
  'alloc',
  'free',
  'free_requested',
  'free_completed',
  'segment_alloc',
  'segment_free',
  'segment_map',
  'segment_unmap',
  'oom',
  'mark',
];
const KINDS = ['step', 'phase', 'layer', 'operator', 'user'];

/** Writes a document row by row; each call is one event or one edge of a scope. */
export class Recording {
  constructor({ nsPerEvent = 10_000 } = {}) {
    this.strings = [];
    this.stringIds = new Map();
    this.frames = { function: [], file: [], line: [], inlined: [] };
    this.frameIds = new Map();
    this.stacks = { parent: [], frame: [] };
    this.stackIds = new Map();
    this.scopes = [];
    this.open = [];
    this.events = [];
    this.oom = [];
    this.nowNs = 1000;
    this.nsPerEvent = nsPerEvent;
    this.nextAddress = 4096;
    this.freeAddresses = new Map();
    this.path = ['main'];
  }

  string(text) {
    if (!this.stringIds.has(text)) {
      this.stringIds.set(text, this.strings.length);
      this.strings.push(text);
    }
    return this.stringIds.get(text);
  }

  /** A stack from function names, outermost first. */
  stack(names) {
    let parent = -1;
    for (const name of names) {
      if (!this.frameIds.has(name)) {
        this.frameIds.set(name, this.frames.function.length);
        this.frames.function.push(this.string(name));
        this.frames.file.push(this.string(`model/${name}.c`));
        this.frames.line.push(10 + this.frames.function.length);
        this.frames.inlined.push(0);
      }
      const key = `${parent}/${this.frameIds.get(name)}`;
      if (!this.stackIds.has(key)) {
        this.stackIds.set(key, this.stacks.parent.length);
        this.stacks.parent.push(parent);
        this.stacks.frame.push(this.frameIds.get(name));
      }
      parent = this.stackIds.get(key);
    }
    return parent;
  }

  event(action, fields) {
    this.nowNs += this.nsPerEvent;
    this.events.push({
      time: this.nowNs,
      action: ACTIONS.indexOf(action),
      address: this.events.at(-1)?.address ?? 0,
      requested: 0,
      block: 0,
      stack: this.stack([...this.path, ...this.open.map((s) => this.scopes[s].text)]),
      scope: this.open.at(-1) ?? -1,
      category: 0,
      name: -1,
      ...fields,
    });
  }

  begin(kind, text, index = -1) {
    this.scopes.push({
      parent: this.open.at(-1) ?? -1,
      kind: KINDS.indexOf(kind),
      name: this.string(text),
      text,
      index,
      begin: this.nowNs,
      duration: -1,
    });
    this.open.push(this.scopes.length - 1);
  }

  end() {
    this.nowNs += 50;
    const scope = this.scopes[this.open.pop()];
    scope.duration = this.nowNs - scope.begin;
  }

  within(kind, text, index, body) {
    this.begin(kind, text, index);
    body();
    this.end();
  }

  alloc(name, category, requested) {
    const block = Math.max(512, Math.ceil(requested / 512) * 512);
    const reuse = this.freeAddresses.get(block)?.pop();
    const address = reuse ?? this.nextAddress;
    if (reuse === undefined) this.nextAddress += block / 512;
    const made = {
      address,
      requested,
      block,
      category: CATEGORIES.indexOf(category),
      name: this.string(name),
    };
    this.event('alloc', made);
    return made;
  }

  free(block) {
    this.event('free', block);
    if (!this.freeAddresses.has(block.block)) this.freeAddresses.set(block.block, []);
    this.freeAddresses.get(block.block).push(block.address);
  }

  segment(bytes) {
    this.event('segment_alloc', { address: this.nextAddress, requested: bytes, block: bytes });
  }

  outOfMemory(requested, free) {
    this.event('oom', { requested, block: free });
    this.oom.push({ event: this.events.length - 1, requested_bytes: requested, free_bytes: free });
  }

  document(more = {}) {
    const delta = (values) => values.map((value, i) => value - (i > 0 ? values[i - 1] : 0));
    const column = (key) => this.events.map((event) => event[key]);
    const scope = (key) => this.scopes.map((row) => row[key]);
    return {
      format: 'tidemark-snapshot',
      version: 1,
      tool: { version: '0.1.0', build: 'synthetic' },
      clock: { unit_ns: 1, source: 'monotonic' },
      address_unit_bytes: 512,
      actions: ACTIONS,
      categories: CATEGORIES,
      scope_kinds: KINDS,
      block_states: ['free', 'allocated', 'pending_free'],
      devices: [
        {
          kind: 'cpu',
          name: 'cpu',
          total_bytes: -1,
          compute_capability: -1,
          driver_version: -1,
          runtime_version: -1,
        },
      ],
      streams: [{ device: 0, handle: 0 }],
      allocator: {},
      log: { full_policy: 'keep-newest', dropped_events: 0 },
      timing: {
        warmup_steps: 0,
        measured_steps: 0,
        phases: [],
        flops: -1,
        stated_peak_flops: -1,
        recorder_ns_per_event: -1,
      },
      summary: [],
      strings: this.strings,
      frames: this.frames,
      stacks: this.stacks,
      scopes: {
        parent: scope('parent'),
        kind: scope('kind'),
        name: scope('name'),
        index: scope('index'),
        thread: scope('parent').map(() => 0),
        begin_delta: delta(scope('begin')),
        duration: scope('duration'),
        device_begin: scope('parent').map(() => -1),
        device_duration: scope('parent').map(() => -1),
      },
      start: { segments: [] },
      end: { segments: [] },
      events: {
        time_delta: delta(column('time')),
        action: column('action'),
        device: column('time').map(() => 0),
        address_delta: delta(column('address')),
        requested_bytes: column('requested'),
        block_bytes: column('block'),
        stream: column('time').map(() => 0),
        stack: column('stack'),
        scope_delta: delta(column('scope')),
        category: column('category'),
        name: column('name'),
      },
      oom: this.oom,
      ...more,
      run: {
        command: 'tidemark profile',
        started_unix_us: 0,
        model: { size: 'small' },
        precision: 'fp32',
        mode: 'train',
        attention: 'flash',
        recompute: 'none',
        batch_size: 4,
        context_length: 128,
        seed: 0,
        memory_limit_bytes: -1,
        outcome: 'completed',
        ...more.run,
      },
    };
  }
}
