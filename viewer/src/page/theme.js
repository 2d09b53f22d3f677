/* theme.js - the light or dark theme: the system's, until the user chooses. */

/** @param {() => void} onChange called when the colours have changed */
export function startTheme(onChange) {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;
  let chosen = '';
  const apply = () => {
    root.dataset.theme = chosen || (dark.matches ? 'dark' : 'light');
    onChange();
  };
  dark.addEventListener('change', apply);
  window.matchMedia('(forced-colors: active)').addEventListener('change', apply);
  apply();
  return {
    /** Switches to the other theme. */
    toggle() {
      chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
      apply();
    },
  };
}
