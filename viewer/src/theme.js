/* theme.js - light or dark: as the system has it, until someone chooses. */

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
    /** The other one, from now on. */
    toggle() {
      chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
      apply();
    },
  };
}
