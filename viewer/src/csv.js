/* csv.js - tables as comma-separated values that spreadsheets open without running anything. */

/**
 * One field: numbers as they are; a text that a spreadsheet would take for a formula gets an apostrophe in
 * front.
 * @param {string | number} value
 */
export function csvField(value) {
  if (typeof value === 'number') return String(value);
  const safe = /^[-=+@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * A row with its end of line.
 * @param {(string | number)[]} values
 */
export function csvLine(values) {
  return `${values.map(csvField).join(',')}\r\n`;
}

/**
 * Rows as columns of text, numbers to the right: for the clipboard.
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
