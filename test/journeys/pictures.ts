// `npm run pictures`: makes the pictures of README.md from a running service. Needs Chromium and python3.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { bundled } from '../support/built.ts';
import { onTerminals } from '../cli/payctl.ts';
import { screenReader } from '../cli/screen-reader.ts';
import { openStage, type Stage } from './tour/stage.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'server/pages/pictures');
const SIZE: [columns: number, rows: number] = [110, 32];
const COLOURS: Readonly<Record<string, string>> = {
  31: '#ff6b6b',
  32: '#5fd38d',
  33: '#f2c94c',
  34: '#6fa8ff',
  35: '#d291e4',
  36: '#56c8d8',
  90: '#8a8f98',
};
const APP = { client_id: 'test-app', client_secret: 'pays_test-app-secret-for-debug-only' };

const stage = await openStage('pay-pictures-');
const browser = await chromium.launch({
  executablePath: process.env['PAY_TEST_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  mkdirSync(folder, { recursive: true });
  const payctl = await bundled(join(root, 'bin/payctl.ts'));
  const admin = ['bootstrap', 'admin', '-u', 'admin', '--generate', '--secret-file', 'admin.password', '--migrate'];
  await must(stage.payctl(admin));
  await stage.start();
  await must(stage.payctl(['login', '-u', 'admin', '--password-file', 'admin.password']));
  await must(stage.payctl(['project', 'update', 'default', '--name', 'Blue Door', '--yes']));
  const { access_token: token } = await post('/oauth/token', { grant_type: 'client_credentials', ...APP });
  const pay = (body: object) => post('/api/v2/payment/pay', { subject: 'Two coffees', ...body }, String(token));
  const placed = (await pay({ amount: 12.5, payWay: 'alipay' }))['data'] as { payUrl: string };
  await takePage(placed.payUrl, 'payer-page', { width: 480, height: 840 }, '.qr');
  await takePage(`${stage.url}/swagger/index.html`, 'api-explorer', { width: 1000, height: 840 }, '.opblock');
  let isOver = false;
  const traffic = (async () => {
    for (let turn = 0; !isOver; turn += 1) {
      const payWay = ['alipay', 'wechat', 'paypal'][turn % 3]!;
      await pay({ amount: 0.01, payWay, currency: payWay === 'paypal' ? 'USD' : 'CNY' });
      await sleep(150);
    }
  })();
  await takeTop(payctl).finally(() => (isOver = true));
  await traffic;
} finally {
  await browser.close();
  await stage.close();
}

async function must(ran: ReturnType<Stage['payctl']>): Promise<void> {
  const { code, stderr } = await ran;
  if (code !== 0) throw new Error(stderr);
}

async function post(path: string, body: object, token?: string): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(`${stage.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Takes the picture once the element of `shown` is there. */
async function takePage(
  url: string,
  name: string,
  viewport: { width: number; height: number },
  shown: string,
): Promise<void> {
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(0);
  await page.goto(url);
  await page.locator(shown).first().waitFor();
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}

/** `payctl top` on a real terminal, drawn as a page. */
async function takeTop(payctl: string): Promise<void> {
  const env = {
    ...(stage.env as Record<string, string>),
    TERM: 'xterm-256color',
    NO_COLOR: '',
    COLUMNS: '',
    LINES: '',
  };
  // Ten events are enough for the figures of the screen.
  const steps = [...Array.from({ length: 10 }, () => ({ wait: 'order.paid' })), { type: 'q' }];
  const [ended] = await onTerminals([{ name: 'top', argv: [process.execPath, payctl, 'top'], env, size: SIZE, steps }]);
  const reader = screenReader(...SIZE);
  const drawn = ended!.output.replaceAll(/\r?\n/g, '');
  reader.write(drawn.slice(0, drawn.lastIndexOf('\u001B[?1049l')));
  const page = await browser.newPage({ viewport: { width: 1000, height: 640 } });
  await page.setContent(terminalPage(reader));
  await page.locator('pre').screenshot({ path: join(folder, 'payctl-top.png') });
  await page.close();
}

function terminalPage(reader: ReturnType<typeof screenReader>): string {
  const rows = reader.rows().map((_, row) => {
    const looks = reader.looks(row);
    return looks
      .map((look, column) => `<span style="${styleOf(look)}">${escaped(reader.at(row, column))}</span>`)
      .join('');
  });
  return `<body style="margin:0"><pre style="display:inline-block;margin:0;padding:12px;background:#16181d;color:#e6e6e6;font:14px/1.35 'DejaVu Sans Mono',monospace">${rows.join('\n')}</pre>`;
}

function styleOf(look: string): string {
  const codes = look.split(';');
  const colour = codes.map((code) => COLOURS[code]).find(Boolean);
  return [
    codes.includes('1') && 'font-weight:bold',
    codes.includes('2') && 'opacity:.65',
    codes.includes('7') && 'background:#e6e6e6;color:#16181d',
    colour && `color:${colour}`,
  ]
    .filter(Boolean)
    .join(';');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
