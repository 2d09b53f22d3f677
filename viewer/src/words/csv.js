/* csv.js - tables as comma-separated values from which a spreadsheet runs no formula. */

/**
 * One field: numbers stay as they are; a text that a spreadsheet would take for a formula gets a leading
 * apostrophe.
 * @param {string | number} value
 */
export function csvField(value) {
  if (typeof value === 'number') return String(value);
  const safe = /^[-=+@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * A row with its line break.
 * @param {(string | number)[]} values
 */
export function csvLine(values) {
  return `${values.map(csvField).join(',')}\r\n`;
}

/**
 * Rows as aligned text for the clipboard, with numbers to the right.
 * @param {(string | number)[][]} rows the first is the head
 */
export function textTable(rows) {
  const text = rows.map((row) => row.map(String));
  const widths = text[0].map((_, c) => Math.max(...text.map((row) => row[c].length)));
  const isRight = text[0].map((_, c) => rows.slice(1).some((row) => typeof row[c] === 'number'));
  return text
    .map((row) =>
      row
        .map((value, c) => (isRight[c] ? value.padStart(widths[c]) : value.padEnd(widths[c])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
