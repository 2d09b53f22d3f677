/* shapes.js - the schema of a document, key by key. It mirrors the program's reader (snapshot/reader*.c).
 *
 * A shape reads one value from a JsonReader, and refuses a value of any other kind.
 */
import { categoryNumber } from './categories.js';
import { CATEGORIES } from './colours.js';
import { CERTAINTY_NAMES } from './format_names.js';
import { MOST_INTEGER } from './json.js';

const MOST_OF_A_KIND = 256; // devices, streams
const MOST_NAMES = 255;
const MOST_SHORT_BYTES = 4096; // bytes of a text in a large table
const MOST_SHOWN_PHASES = 64;
const MOST_ALLOCATOR_SETTINGS = 1024;
const MOST_INEXACT = 1024;
const MOST_OWNERS = 1024;
const MOST_GROUPS = 256;
const MOST_POOLS = 65535;
const MOST_SAMPLES = 1_000_000;
const MOST_PAIRS = 1000;
const MOST_STRINGS = 100_000_000;
const MOST_INDEX = 2 ** 32 - 2; // 2^32 - 1 means "none" in the program
const MOST_BYTE = 255;
const MOST_CERTAINTY = CERTAINTY_NAMES.length - 1;

/**
 * @typedef {import('./json.js').JsonReader} JsonReader
 * @typedef {(json: JsonReader) => any} Shape
 */

/** @type {Shape} */
const aText = (json) => json.getText();
/**
 * @param {number | bigint} lo
 * @param {number | bigint} hi
 * @returns {Shape}
 */
const anInteger = (lo, hi) => (json) => json.getInteger(lo, hi);
/**
 * @param {number | bigint} lo
 * @param {number | bigint} hi
 * @returns {Shape} a BigInt beyond 2^53
 */
const anExact = (lo, hi) => (json) => json.getExact(lo, hi);
const aNumber = anInteger(-1, MOST_INTEGER);
const aCount = anInteger(0, MOST_INTEGER);
const anAmount = anExact(0, MOST_INTEGER);

// Values that are only displayed do not make a file invalid: docs/snapshot-format.md, "Odd values".
/** @type {Shape} */
const anOddText = (json) => (json.skipsOdd('text') ? '' : json.getText());
/** @type {Shape} */
const anOddBoolean = (json) => (json.skipsOdd('boolean') ? false : json.getBoolean());
/** @type {Shape} */
const anOddReal = (json) => (json.peek() === 'null' && json.skipsOdd('') ? -1 : json.getReal());
/**
 * @param {number | bigint} lo
 * @returns {Shape}
 */
const anOddInteger = (lo) => (json) => json.getOddInteger(lo, MOST_INTEGER, -1);
const anOddNumber = anOddInteger(-1);

/**
 * @param {Shape} shape
 * @returns {Shape} the same for short texts
 */
function ofShortTexts(shape) {
  return (json) => {
    const usual = json.textLimit;
    json.textLimit = MOST_SHORT_BYTES;
    try {
      return shape(json);
    } finally {
      json.textLimit = usual;
    }
  };
}

/**
 * @param {Record<string, Shape>} fields
 * @param {readonly string[]} [required]
 * @returns {Shape} {} if there is none
 */
function anOddObject(fields, required) {
  const whole = anObject(fields, required);
  return (json) => (json.skipsOdd('object') ? {} : whole(json));
}

/**
 * @param {Record<string, Shape>} fields
 * @param {readonly string[]} [required]
 * @returns {Shape}
 */
function anObject(fields, required = []) {
  return (json) => {
    const made = Object.create(null); // a key may be __proto__
    json.enter(false);
    for (let key = json.nextField(fields, required); key !== ''; key = json.nextField(fields, required))
      made[key] = fields[key](json);
    return made;
  };
}

/**
 * @param {Shape} item
 * @param {number} [limit]
 * @returns {Shape}
 */
function aList(item, limit = Infinity) {
  return (json) => {
    const items = [];
    json.enter(true);
    while (json.nextItem()) {
      if (items.length === limit) json.fail(`more than the limit of ${limit} of them`);
      items.push(item(json));
    }
    return items;
  };
}

/**
 * @param {string[]} keys
 * @param {Shape} shape
 * @returns {Record<string, Shape>}
 */
const alike = (keys, shape) => Object.fromEntries(keys.map((key) => [key, shape]));

/**
 * Names are checked before their count is.
 * @param {(name: string) => string} refused why a name is refused, or ""
 * @returns {Shape}
 */
function names(refused) {
  return (json) => {
    const found = [];
    json.enter(true);
    while (json.nextItem()) {
      const { at } = json;
      const name = json.getText();
      if (found.length === MOST_NAMES) json.fail(`more than the limit of ${MOST_NAMES} names`, at);
      const reason = refused(name);
      if (reason !== '') json.fail(reason, at);
      found.push(name);
    }
    return found;
  };
}
const anyNames = names(() => '');

/** @type {Shape} */
const categoryNames = (json) => {
  const known = [...CATEGORIES];
  return names((name) => {
    const number = categoryNumber(known, name);
    return typeof number === 'string' ? number : '';
  })(json);
};

/** @type {Shape} */
const aLoss = (json) => {
  if (json.look() !== 34) return json.getReal();
  const { at } = json;
  const text = json.getText();
  if (!['nan', 'inf', '-inf'].includes(text))
    json.fail('a number was expected, or "nan", "inf" or "-inf"', at);
  return text;
};

const aModel = anOddObject(
  {
    size: anOddText,
    ...alike(['d_model', 'd_ff', 'n_layers', 'n_heads', 'vocab_size', 'n_parameters'], anOddNumber),
  },
  ['size'],
);
const aHost = anOddObject({
  ...alike(['name', 'os', 'cpu', 'computed_by'], anOddText),
  ...alike(['n_cpus', 'total_bytes'], anOddNumber),
});
const aRun = anOddObject({
  ...alike(
    ['command', 'precision', 'mode', 'attention', 'recompute', 'outcome', 'implementation'],
    anOddText,
  ),
  ...alike(
    ['batch_size', 'context_length', 'seed', 'memory_limit_bytes', 'started_unix_us'],
    anOddInteger(-MOST_INTEGER - 1n),
  ),
  keep_graph: anOddBoolean,
  cuda_graph: anOddBoolean,
  clip_grad_norm: anOddReal,
  host: aHost,
  model: (json) => {
    if (json.look() !== 110) return aModel(json);
    json.skip();
    return null;
  },
});

const aDevice = anObject(
  {
    kind: aText,
    name: anOddText,
    ...alike(
      [
        'total_bytes',
        'compute_capability',
        'driver_version',
        'runtime_version',
        'sm_clock_khz',
        'memory_clock_khz',
      ],
      anOddNumber,
    ),
  },
  ['kind', 'name'],
);

const manyReals = aList(anOddReal, MOST_SAMPLES);

/** @type {Shape} */
const aPhase = (json) => {
  const row = anObject({ name: aText, host_ms: manyReals, device_ms: manyReals }, [
    'name',
    'host_ms',
    'device_ms',
  ])(json);
  if (row.host_ms.length !== row.device_ms.length)
    json.fail(`${row.host_ms.length} samples in host_ms, ${row.device_ms.length} in device_ms`);
  return row;
};

/** @type {Shape} */
const pairs = (json) => {
  const { recorded_ms, unrecorded_ms } = anObject(alike(['recorded_ms', 'unrecorded_ms'], manyReals), [
    'recorded_ms',
    'unrecorded_ms',
  ])(json);
  if (unrecorded_ms.length > MOST_PAIRS) json.fail(`the limit is ${MOST_PAIRS} pairs`);
  if (unrecorded_ms.length !== recorded_ms.length)
    json.fail(`${recorded_ms.length} samples in recorded_ms, ${unrecorded_ms.length} in unrecorded_ms`);
  return { recorded_ms, unrecorded_ms };
};

/** @type {Shape} */
const aSetting = (json) => {
  const kind = json.peek();
  if (kind === 'text') return json.getText();
  if (kind === 'boolean') return json.getBoolean() ? 1 : 0;
  return json.skipsOdd('number') ? '?' : json.getReal();
};

/**
 * Settings, whose keys are data.
 * @type {Shape}
 */
const settings = (json) => {
  const made = Object.create(null);
  let n = 0;
  json.enter(false);
  const level = json.levels[json.levels.length - 1];
  while (json.takeKey()) {
    const begin = level.keyAt - json.base;
    const key = json.textOf(begin, begin + level.keySize);
    if (n++ === MOST_ALLOCATOR_SETTINGS)
      json.fail(`more than the limit of ${MOST_ALLOCATOR_SETTINGS} of them`);
    if (key in made) json.fail('this key comes twice');
    made[key] = aSetting(json);
  }
  return made;
};

const anInexact = anObject({
  ...alike(['call', 'what'], anOddText),
  bound_bytes: anOddNumber,
  refused: anOddBoolean,
});

const forecast = anOddObject({
  ...alike(['card', 'bound'], anOddText),
  is_calibrated: anOddBoolean,
  ...alike(['n_steps', 'step'], anOddNumber),
  ...alike(
    [
      'step_ms',
      'low_ms',
      'high_ms',
      'gpu_ms',
      'host_ms',
      'utilisation',
      'guessed_share',
      'uncompared_share',
      'host_factor',
    ],
    anOddReal,
  ),
});

const aDeviceNumber = anInteger(0, MOST_BYTE);
const owners = anObject({
  accounts: aList(
    anObject(
      {
        device: aDeviceNumber,
        ...alike(
          ['total_bytes', 'used_at_start_bytes', 'used_at_peak_bytes', 'used_at_end_bytes', 'context_bytes'],
          anOddNumber,
        ),
      },
      ['device'],
    ),
    MOST_OF_A_KIND,
  ),
  rows: aList(
    anObject(
      {
        device: aDeviceNumber,
        name: anOddText,
        ...alike(['peak_bytes', 'end_bytes', 'allocations'], anOddNumber),
      },
      ['device'],
    ),
    MOST_OWNERS,
  ),
});

const rank = anOddObject({
  ...alike(['rank', 'local_rank', 'world_size'], anOddNumber),
  groups: aList(
    anOddObject({
      ...alike(['name', 'description'], anOddText),
      ...alike(['size', 'position', 'first', 'stride'], anOddNumber),
    }),
    MOST_GROUPS,
  ),
});

const aBlock = anObject(
  {
    ...alike(['offset_bytes', 'block_bytes', 'requested_bytes'], anAmount),
    ...alike(['state', 'category'], anInteger(0, MOST_BYTE - 1)),
    ...alike(['stack', 'scope', 'name'], anInteger(-1, MOST_INDEX)),
    certainty: (json) => json.getOddInteger(0, MOST_CERTAINTY, 0),
  },
  ['offset_bytes', 'block_bytes', 'requested_bytes', 'state', 'stack', 'scope', 'category', 'name'],
);

/**
 * Two numbers; anything else is read as [0, 0].
 * @type {Shape}
 */
const aPoolId = (json) => {
  const { nOdd } = json;
  const none = [0, 0];
  if (json.peek() !== 'array') return json.skipsOdd('') ? none : (json.skip(), none);
  const found = aList((of) => of.getOddInteger(0, 2 ** 32 - 1, -1, true))(json);
  if (found.length === 2 && Math.min(...found) >= 0) return found;
  if (json.nOdd === nOdd) json.countOdd();
  return none;
};

const aState = anObject(
  {
    segments: aList(
      anObject(
        {
          device: anInteger(0, MOST_BYTE),
          address: anAmount,
          total_bytes: anAmount,
          stream: anInteger(0, MOST_BYTE),
          blocks: aList(aBlock),
          is_expandable: anOddBoolean,
          pool: anOddText,
          pool_id: aPoolId,
        },
        ['device', 'address', 'total_bytes', 'stream', 'blocks'],
      ),
    ),
  },
  ['segments'],
);

/**
 * Parts of a document that are read whole, which are all except the tables.
 * @type {Record<string, Shape>}
 */
export const PARTS = {
  format: (json) => {
    const { at } = json;
    if (json.getText() !== 'tidemark-snapshot') json.fail('this is not a tidemark snapshot', at);
    return 'tidemark-snapshot';
  },
  version: (json) => {
    const { at } = json;
    const version = json.getInteger(1, MOST_INTEGER);
    if (version > 1)
      json.fail(`the file has version ${version}, this viewer reads version 1: use a newer one`, at);
    return version;
  },
  address_unit_bytes: (json) => {
    const { at } = json;
    const unit = json.getInteger(1, 512);
    if (unit !== 1 && unit !== 512) json.fail('only 1 and 512 are allowed', at);
    return unit;
  },
  devices: ofShortTexts(aList(aDevice, MOST_OF_A_KIND)),
  streams: aList(
    anObject({ device: anInteger(0, MOST_BYTE), handle: (json) => json.getHandle() }, ['device', 'handle']),
    MOST_OF_A_KIND,
  ),
  strings: aList(aText, MOST_STRINGS),
  start: aState,
  end: aState,
  tool: anOddObject(alike(['version', 'build'], anOddText)),
  origin: anObject({ format: aText, events: aCount, contradictions: aCount }),
  user_path: aText,
  run: aRun,
  clock: anObject({ unit_ns: anInteger(1, 1), source: aText, device_uncertainty_ns: aNumber }),
  actions: anyNames,
  categories: categoryNames,
  scope_kinds: anyNames,
  block_states: anyNames,
  allocator: ofShortTexts(settings),
  software: ofShortTexts(settings),
  inexact: ofShortTexts(aList(anInexact, MOST_INEXACT)),
  owners: ofShortTexts(owners),
  rank: ofShortTexts(rank),
  peak_range: aList(
    anOddObject(
      alike(
        [
          'device',
          'allocated_low_bytes',
          'allocated_high_bytes',
          'reserved_low_bytes',
          'reserved_high_bytes',
        ],
        anOddNumber,
      ),
    ),
    MOST_OF_A_KIND,
  ),
  pools: aList(aPoolId, MOST_POOLS),
  log: anObject({ full_policy: anOddText, dropped_events: aCount, dropped_scopes: aCount }),
  timing: ofShortTexts(
    anObject({
      warmup_steps: aNumber,
      measured_steps: aNumber,
      phases: aList(aPhase, MOST_SHOWN_PHASES),
      ...alike(['flops', 'stated_peak_flops', 'recorder_ns_per_event'], anOddReal),
      recorder_pairs: pairs,
    }),
  ),
  forecast,
  loss: aList(aLoss, MOST_SAMPLES),
  loss_scaling: anObject({ scale: anOddReal, skipped_steps: aCount }, ['scale', 'skipped_steps']),
  summary: aList(anObject({})),
  oom: aList(
    anObject({ event: aCount, requested_bytes: aCount, free_bytes: aNumber }, [
      'event',
      'requested_bytes',
      'free_bytes',
    ]),
  ),
};

/** Keys that a document must have. */
export const REQUIRED_PARTS = [
  'format',
  'version',
  'address_unit_bytes',
  'devices',
  'streams',
  'strings',
  'frames',
  'stacks',
  'scopes',
  'start',
  'end',
  'events',
];
