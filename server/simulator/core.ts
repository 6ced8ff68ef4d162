import { createPrivateKey, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PayWay } from '../payments/channel.ts';
import { openAccounts } from './accounts.ts';
import { openAuthority, pkcs8 } from './authority.ts';
import { newRsaKeys } from './certificates.ts';
import { createClock } from './clock.ts';
import { answerExchange } from './exchange.ts';
import { createFaults } from './faults.ts';
import { writePrivately } from './files.ts';
import type { Core, Half } from './half.ts';
import { openLedger, type Ledger } from './ledger.ts';
import { takeSimulatorFolder } from './lock.ts';
import { createNotices } from './notices.ts';
import { makeRefund } from './refunds.ts';
import { SimulatorRefusal } from './refusal.ts';
import type { Trade } from './trade.ts';
import { createTrades } from './trades.ts';

/** What a core is made from. */
export interface CoreOptions {
  dir: string;
  halves: readonly Half[];
  timeFactor: number;
  clockOffset: number | undefined;
  log: Core['log'];
}

/** Opens keys, accounts and ledger in `dir`, making them at the first start; every channel has an account `default`. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const unlock = takeSimulatorFolder(options.dir);
  try {
    return await assemble(options, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

async function assemble({ dir, halves, timeFactor, clockOffset, log }: CoreOptions, unlock: () => void): Promise<Core> {
  const [authority, strangerKey] = await Promise.all([openAuthority(dir), openStranger(dir)]);
  // The ledger stamps its lines with the clock, whose offset it remembers: it is only written after both exist.
  const ledger: Ledger = openLedger(dir, () => clock.now());
  const clock = createClock(clockOffset ?? ledger.clockOffset, timeFactor, (error) =>
    log('a task failed', { error: String(error) }),
  );
  const faults = createFaults();
  const trades = createTrades(ledger, clock.now);
  const half = (payWay: PayWay) => {
    const found = halves.find((candidate) => candidate.payWay === payWay);
    if (found === undefined)
      throw new SimulatorRefusal(404, 'no_such_channel', `The channel ${payWay} is not simulated.`);
    return found;
  };
  const notices = createNotices(() => core, half, { ledger, clock, faults });
  const core: Core = {
    url: '',
    halves,
    clock,
    ledger,
    trades,
    accounts: openAccounts(dir),
    authority,
    faults,
    notices,
    strangerKey,
    log,
    half,
    answer: (ctx, exchange) => answerExchange(ctx, exchange, { faults, clock }),
    payUrl: (trade) => `${core.url}/pay/${trade.payWay}/${trade.id}`,
    startFixed: (trade) => startFixed(core, trade),
    refund: (trade, draft, fault) => makeRefund(core, trade, draft, fault),
    noticeDelay: (trade) => (trade.fixed === 'late-notice' ? 60_000 : 0),
    close() {
      clock.stop();
      notices.stop();
      ledger.close();
      unlock();
    },
  };
  await Promise.all(halves.map((each) => ensureAccount(core, each, 'default')));
  return core;
}

/** The account of this name, made when it is new. */
export async function ensureAccount(
  core: Core,
  half: Half,
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (core.accounts.get(half.payWay, name)) return;
  core.accounts.add({ payWay: half.payWay, name, secrets: await half.newSecrets(core, name, options) });
}

/** Takes up what an earlier process left: notices that nobody acknowledged, payments that were to come. */
export function resume(core: Core): void {
  core.notices.resume();
  for (const trade of core.ledger.trades.values()) {
    if (trade.fixed === 'pays-later' && trade.state !== 'closed' && trade.state !== 'paid') startFixed(core, trade);
  }
}

function startFixed(core: Core, trade: Trade): void {
  const { fixed, payWay } = trade;
  if (fixed === 'pays' || fixed === 'late-notice' || fixed === 'refunds-fail') core.half(payWay).pay(core, trade);
  if (fixed !== 'pays-later') return;
  core.clock.schedule(5000, () => {
    const current = core.trades.byId(trade.id);
    if (current?.state === 'open' || current?.state === 'offered') core.half(payWay).pay(core, current);
  });
}

async function openStranger(dir: string): Promise<KeyObject> {
  const file = join(dir, 'stranger.pem');
  if (!existsSync(file)) writePrivately(file, pkcs8((await newRsaKeys()).privateKey));
  return createPrivateKey(readFileSync(file));
}
