import { digestOf } from '../pages/stylesheet.ts';

/**
 * The script of the page that controls the simulator: it asks for the page every two seconds and puts what has changed in its
 * place, but for a part in which somebody is just pressing a button. Without it the page loads itself again.
 */
export const CONSOLE_SCRIPT = `'use strict';
(() => {
  let pressed;
  addEventListener('pointerdown', (event) => { pressed = event.target.closest('[data-live]'); });
  addEventListener('pointerup', () => { pressed = undefined; });

  async function renew() {
    if (document.hidden) return;
    const answer = await fetch('/' + location.search, { cache: 'no-store' });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = page.querySelector('[data-live="' + part.dataset.live + '"]');
      if (!fresh || part === pressed || fresh.innerHTML === part.innerHTML) continue;
      const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
      part.replaceChildren(...document.adoptNode(fresh).childNodes);
      if (focused) [...part.querySelectorAll('a, button')].find((one) => keyOf(one) === focused)?.focus();
    }
  }

  const keyOf = (element) => element.href ?? [...new FormData(element.form, element)].join();

  setInterval(() => renew().catch(() => {}), 2000);
})();
`;

/** Where the script is served. */
export const CONSOLE_SCRIPT_PATH = '/console/console.js';

/** Its address in a page: another script has another one. */
export const CONSOLE_SCRIPT_ADDRESS = `${CONSOLE_SCRIPT_PATH}?v=${digestOf(CONSOLE_SCRIPT)}`;
