import { digestOf } from './stylesheet.ts';

/**
 * The script of the payer's pages: counts the time down, asks for the state, and puts the new page in the place of the
 * old one when it has changed. Plain text for browsers; the page works without it.
 */
export const PAYER_SCRIPT = `'use strict';
(() => {
  const main = () => document.querySelector('main');
  let started = performance.now();
  let failures = 0;
  let timer;

  function showTimeLeft() {
    const left = document.getElementById('left');
    if (!left) return;
    const seconds = Math.max(0, Math.floor(Number(left.dataset.seconds) - (performance.now() - started) / 1000));
    const two = (number) => String(number).padStart(2, '0');
    const hours = Math.floor(seconds / 3600);
    if (hours >= 48) return;
    const rest = two(Math.floor(seconds / 60) % 60) + ':' + two(seconds % 60);
    left.textContent = hours > 0 ? hours + ':' + rest : rest;
  }

  async function look() {
    clearTimeout(timer);
    const { poll, state } = main().dataset;
    if (!poll || document.hidden) return;
    try {
      const answer = await fetch(poll, { cache: 'no-store' });
      if (!answer.ok) throw new Error(String(answer.status));
      failures = 0;
      if ((await answer.json()).data.state !== state) await renew();
    } catch {
      failures += 1;
    }
    plan();
  }

  async function renew() {
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    document.title = page.title;
    main().replaceWith(document.adoptNode(page.querySelector('main')));
    started = performance.now();
    goOn();
  }

  function plan() {
    clearTimeout(timer);
    if (!main().dataset.poll) return;
    const patience = performance.now() > 300000 ? 5000 : 2000;
    timer = setTimeout(look, Math.min(30000, patience * 2 ** Math.min(failures, 4)));
  }

  function goOn() {
    showTimeLeft();
    const seconds = Number(main().dataset.continue);
    const shop = document.getElementById('shop');
    if (seconds > 0 && shop) setTimeout(() => location.assign(shop.href), seconds * 1000);
  }

  document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
  addEventListener('pageshow', (event) => { if (event.persisted) look(); });
  setInterval(showTimeLeft, 1000);
  goOn();
  plan();
})();
`;

/** Where the script is served. */
export const PAYER_SCRIPT_PATH = '/pay/assets/payer.js';

/** Its address in a page: another script has another one. */
export const PAYER_SCRIPT_ADDRESS = `${PAYER_SCRIPT_PATH}?v=${digestOf(PAYER_SCRIPT)}`;
