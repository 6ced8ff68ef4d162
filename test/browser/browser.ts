import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const executablePath = process.env['PAY_TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts one browser per test file, which costs a second of CPU; each test gets an isolated context. */
export async function browserOfFile(
  t: Pick<ExecutionContext, 'teardown'>,
): Promise<(t: ExecutionContext, options?: BrowserContextOptions) => Promise<BrowserContext>> {
  const browser = await chromium.launch({ executablePath, headless: true, args });
  t.teardown(() => browser.close());
  return async (one, options) => {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(0);
    one.teardown(() => context.close());
    return context;
  };
}

/** Starts a browser with a new profile until the test ends. */
export async function openBrowser(t: ExecutionContext, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'browser-'));
  const browser = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, ...options });
  // Tests wait for conditions; only the test run limits the time.
  browser.setDefaultTimeout(0);
  t.teardown(async () => {
    await browser.close();
    await rm(profile, { recursive: true, force: true });
  });
  return browser;
}

/** Collects errors of the page, including violations of its content security policy. */
export function watch(page: Page): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    // The shop in these tests is a JSON document, for which the browser requests an icon.
    const isIcon = message.location().url.endsWith('/favicon.ico');
    if (message.type() === 'error' && !isIcon) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  return faults;
}

/** Writes screenshots (phone and desktop, light and dark) if `PAY_TEST_PICTURES` names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PAY_TEST_PICTURES'];
  if (!folder) return;
  for (const [size, viewport] of Object.entries({
    wide: { width: 1280, height: 800 },
    narrow: { width: 360, height: 740 },
  })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
    }
  }
}

/** The links, buttons and fields that are too low for a finger, and the fields into which a phone zooms. */
export async function hardToTouch(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('a, button, input:not([type=hidden]), select')]
    .filter((one) => one.checkVisibility())
    .filter((one) => one.getBoundingClientRect().height < 44 ||
      (one.matches('input, select') && parseFloat(getComputedStyle(one).fontSize) < 16))
    .map((one) => one.outerHTML)`);
}

/** Whether the page fits the width of the window. */
export async function fits(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= innerWidth');
}
