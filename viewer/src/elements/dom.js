/* dom.js - creates elements. Text from files enters the page in text nodes only. */
import { categoryColour } from '../words/colours.js';

/**
 * An element that always exists in the page.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/* The end of a path with its line: "decoder.py:174". */
const PATH_LINE = /([^\s/\\(]{0,24}\.\w+:\d+)/;

/**
 * A text for the page, which never breaks a line inside the line number of a path.
 * @param {string} text
 * @returns {(string | Node)[]}
 */
function unbrokenLines(text) {
  return text.split(PATH_LINE).map((part, i) => {
    if (i % 2 === 0) return part;
    const line = document.createElement('span');
    line.className = 'path-line';
    line.append(part);
    return line;
  });
}

/**
 * Creates an element with children; texts become text nodes.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string | null)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const child of children) {
    if (typeof child === 'string') made.append(...unbrokenLines(child));
    else if (child !== null) made.append(child);
  }
  return made;
}

/**
 * A name that may be broken after its underscores, slashes and the brackets of templates, so that narrow
 * columns do not cut words.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function breakable(text) {
  const parts = text.split(/(?<=[_/\\<,-])/);
  return element('span', {}, ...parts.flatMap((part, i) => (i === 0 ? [part] : [element('wbr'), part])));
}

/**
 * A small square in a colour.
 * @param {string} colour
 * @returns {HTMLElement}
 */
export function colourSwatch(colour) {
  const made = element('span', { class: 'swatch', 'aria-hidden': 'true' });
  made.style.background = colour;
  return made;
}

/**
 * A small square in a category's colour.
 * @param {string} category
 * @returns {HTMLElement}
 */
export function swatch(category) {
  return colourSwatch(categoryColour(category));
}

/**
 * A framed part of the page with a heading.
 * @param {string} title
 * @param {...(Node | string | null)} children
 * @returns {HTMLElement}
 */
export function card(title, ...children) {
  return element('section', { class: 'card' }, element('h2', {}, title), ...children);
}

/**
 * A button with an action.
 * @param {string} text
 * @param {() => void} press
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function pushButton(text, press, attributes = {}) {
  const made = /** @type {HTMLButtonElement} */ (element('button', { type: 'button', ...attributes }, text));
  made.addEventListener('click', press);
  return made;
}
