// Damages files as a disk, a faulty program or an attacker would, deterministically.

const NUMBERS = [
  '-1',
  '0',
  '1',
  '2',
  '3',
  '7',
  '10',
  '255',
  '256',
  '511',
  '512',
  '65536',
  '2147483647',
  '2147483648',
  '4294967294',
  '4294967295',
  '4294967296',
  '999999999',
  '1000000000',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '4611686018427387904',
  '9223372036854775807',
  '9223372036854775806',
  '9223372036854775808',
  '18446744073709551615',
  '-9223372036854775808',
  '-9223372036854775809',
  '-9007199254740993',
  '1.5',
  '1e3',
  '1E400',
  '-0',
  '00',
  '01',
  '-',
  '.5',
  '1.',
  '1e',
  '123456789012345678901234567890',
  '-2',
  '',
];
const VALUES = [
  'null',
  'true',
  'false',
  '"x"',
  '""',
  '[]',
  '{}',
  '7',
  '[[]]',
  '{"a":[1]}',
  'nul',
  '"\\u0000"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\u00e9"',
  '"\\q"',
  '[1,]',
  '[,]',
  '{"a":1,}',
  '{"a"}',
  '"',
  '[',
  '{',
  ']',
  '}',
];

const pick = (random, list) => list[Math.floor(random() * list.length)];

/** Chooses one of all matches of a pattern, so small parts are damaged as often as columns. */
function place(text, pattern, random) {
  const found = [...text.matchAll(pattern)];
  if (found.length === 0) return null;
  const small = found.filter(({ index }) => !/[\d,-]{40}$/.test(text.slice(Math.max(0, index - 40), index)));
  return pick(random, random() < 0.5 && small.length > 0 ? small : found);
}

/** The end of the value at an offset. */
function valueEnd(text, begin) {
  let depth = 0;
  let isText = false;
  for (let at = begin; at < text.length; at++) {
    const c = text[at];
    if (isText) {
      if (c === '\\') at++;
      else if (c === '"') isText = false;
      if (!isText && depth === 0 && c === '"') return at + 1;
    } else if (c === '"') isText = true;
    else if (c === '[' || c === '{') depth++;
    else if (c === ']' || c === '}') {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && c === ',') return at;
  }
  return text.length;
}

const cut = (text, begin, end, instead = '') => text.slice(0, begin) + instead + text.slice(end);

const KINDS = {
  'a byte changed': (text, random) => {
    const at = Math.floor(random() * text.length);
    return cut(text, at, at + 1, String.fromCharCode(Math.floor(random() * 256)));
  },
  'some bits flipped': (text, random) => {
    let made = text;
    for (let i = 0; i < 3; i++) {
      const at = Math.floor(random() * text.length);
      made = cut(
        made,
        at,
        at + 1,
        String.fromCharCode(made.charCodeAt(at) ^ (1 << Math.floor(random() * 8))),
      );
    }
    return made;
  },
  'bytes in a row changed': (text, random) => {
    const at = Math.floor(random() * text.length);
    const n = 1 + Math.floor(random() * 6);
    return cut(
      text,
      at,
      at + n,
      String.fromCharCode(...Array.from({ length: n }, () => Math.floor(random() * 256))),
    );
  },
  'cut off': (text, random) => text.slice(0, Math.floor(random() * text.length)),
  'bytes removed': (text, random) => {
    const at = Math.floor(random() * text.length);
    return cut(text, at, at + 1 + Math.floor(random() ** 4 * 200));
  },
  'a number replaced': (text, random) => {
    const found = place(text, /(?<=[:[,])-?\d[\d.e+-]*/g, random);
    return found === null
      ? text
      : cut(text, found.index, found.index + found[0].length, pick(random, NUMBERS));
  },
  'a number shifted': (text, random) => {
    const found = place(text, /(?<=[:[,])-?\d+(?=[,\]}])/g, random);
    return found === null
      ? text
      : cut(
          text,
          found.index,
          found.index + found[0].length,
          String(Number(found[0]) + Math.floor(random() * 5) - 2),
        );
  },
  'a value replaced': (text, random) => {
    const found = place(text, /"\w+":/g, random);
    const begin = found === null ? 0 : found.index + found[0].length;
    return cut(text, begin, valueEnd(text, begin), pick(random, VALUES));
  },
  'an item replaced': (text, random) => {
    const found = place(text, /[[,](?=[\d"{-])/g, random);
    const begin = found === null ? 0 : found.index + 1;
    return cut(text, begin, valueEnd(text, begin), pick(random, VALUES));
  },
  'a key removed': (text, random) => {
    const found = place(text, /"\w+":/g, random);
    if (found === null) return text;
    const end = valueEnd(text, found.index + found[0].length);
    return cut(text, found.index, text[end] === ',' ? end + 1 : end);
  },
  'a key doubled': (text, random) => {
    const found = place(text, /"\w+":/g, random);
    if (found === null) return text;
    const end = valueEnd(text, found.index + found[0].length);
    return cut(text, found.index, found.index, `${text.slice(found.index, end)},`);
  },
  'a key renamed': (text, random) => {
    const found = place(text, /"\w+":/g, random);
    return found === null
      ? text
      : cut(text, found.index + 1, found.index + 2, pick(random, ['\u00ff', '\\u0061', 'Z', '\\', '']));
  },
  'white space and unknown keys put in': (text, random) => {
    const found = place(text, /"\w+":/g, random);
    return found === null
      ? text
      : cut(
          text,
          found.index,
          found.index,
          ` \n"later${Math.floor(random() * 3)}" :\t${pick(random, VALUES)} , `,
        );
  },
};
const PICKLE_KINDS = [
  'a byte changed',
  'some bits flipped',
  'bytes in a row changed',
  'cut off',
  'bytes removed',
];

/**
 * @param {boolean} isPickle
 * @returns {string[]}
 */
export function kindsOfDamage(isPickle = false) {
  return isPickle ? PICKLE_KINDS : Object.keys(KINDS);
}

/**
 * @param {Buffer} bytes
 * @param {string} kind
 * @param {() => number} random
 * @returns {Buffer}
 */
export function damaged(bytes, kind, random) {
  return Buffer.from(KINDS[kind](bytes.toString('latin1'), random), 'latin1');
}
