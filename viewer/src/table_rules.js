/* table_rules.js - the tables of a document, column by column. It mirrors the program's rules
 * (snapshot/format/columns.c).
 */
import { CERTAINTY_NAMES, NO_INTERVAL } from './format_names.js';
import { MOST_INTEGER } from './json.js';

const MOST_INDEX = 2 ** 32 - 2; // 2^32 - 1 means "none" in the program
const MOST_BYTE = 255;
const MOST_CERTAINTY = CERTAINTY_NAMES.length - 1;
const MOST_POOLS = 65535;

/**
 * The values that a column may hold, after its differences are summed.
 * @typedef {{lo: number, hi: number | bigint, isDelta: boolean, odd: {unknown: number, isFine: boolean} | null, isOptional?: boolean}}
 *   ColumnRule odd: in a column that is only displayed, the value that stands for an invalid one, and whether
 *   out-of-range values go uncounted; isOptional: a file may lack it
 */

/**
 * @param {number} lo
 * @param {number | bigint} hi
 * @returns {ColumnRule}
 */
const rule = (lo, hi) => ({ lo, hi, isDelta: false, odd: null });
/**
 * @param {number} lo
 * @param {number | bigint} hi
 * @returns {ColumnRule}
 */
const deltaRule = (lo, hi) => ({ lo, hi, isDelta: true, odd: null });
/**
 * @param {number} lo
 * @param {number} hi
 * @param {number} unknown
 * @param {boolean} [isFine]
 * @returns {ColumnRule}
 */
const oddRule = (lo, hi, unknown, isFine = false) => ({ lo, hi, isDelta: false, odd: { unknown, isFine } });
const anIndexRule = rule(-1, MOST_INDEX);
const aRowRule = rule(0, MOST_INDEX);
const aBytesRule = rule(0, MOST_INTEGER);
const aByteRule = rule(0, MOST_BYTE);
const aNumberRule = rule(0, MOST_BYTE - 1);
const aTimeRule = rule(-1, MOST_INTEGER);
const aCertaintyRule = { ...oddRule(0, MOST_CERTAINTY, 0), isOptional: true };

/**
 * The tables, column by column.
 * @type {Record<string, Record<string, ColumnRule>>}
 */
export const TABLES = {
  frames: {
    function: anIndexRule,
    file: anIndexRule,
    line: oddRule(0, 2 ** 31 - 1, 0, true),
    inlined: oddRule(0, 1, 0),
  },
  stacks: { parent: anIndexRule, frame: aRowRule },
  scopes: {
    parent: anIndexRule,
    kind: aNumberRule,
    name: aRowRule,
    index: oddRule(-1, 2 ** 31 - 1, -1),
    thread: rule(0, 65535),
    begin_delta: deltaRule(0, MOST_INTEGER),
    duration: rule(NO_INTERVAL, MOST_INTEGER),
    device_begin: aTimeRule,
    device_duration: aTimeRule,
  },
  kernels: {
    name: aRowRule,
    phase: anIndexRule,
    path: aRowRule,
    launches: rule(1, MOST_INTEGER),
    total_ns: aBytesRule,
    min_ns: aBytesRule,
    max_ns: aBytesRule,
  },
  events: {
    time_delta: deltaRule(0, MOST_INTEGER),
    action: aNumberRule,
    device: aByteRule,
    address_delta: deltaRule(0, MOST_INTEGER),
    requested_bytes: aBytesRule,
    block_bytes: aBytesRule,
    stream: aByteRule,
    stack: anIndexRule,
    scope_delta: deltaRule(-1, MOST_INDEX),
    category: aNumberRule,
    certainty: aCertaintyRule,
    name: anIndexRule,
    pool: { ...rule(0, MOST_POOLS), isOptional: true },
  },
};
