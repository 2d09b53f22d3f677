/* clipboard.js - copies text from the page to the clipboard, or to a file that the browser saves. */

const URL_LIFE_MS = 60_000; // by then the browser has begun to save

/**
 * Copies a text to the clipboard. Pages opened from disk may lack the modern interface; the old one needs a
 * selection.
 * @param {string} text
 * @returns {Promise<boolean>} false: the browser refused
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    const had = /** @type {HTMLElement | null} */ (document.activeElement);
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    had?.focus();
    return done;
  }
}

/**
 * Saves parts as a file.
 * @param {string} name
 * @param {BlobPart[]} parts
 * @param {string} [type]
 */
export function saveFile(name, parts, type = 'text/csv;charset=utf-8') {
  const link = document.createElement('a');
  const url = URL.createObjectURL(new Blob(parts, { type }));
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), URL_LIFE_MS);
}
