import { createPrivateKey, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PayWay } from '../payments/channel.ts';
import { type Accounts, openAccounts } from './accounts.ts';
import { type Authority, newRsaKeys, openAuthority, pkcs8 } from './certificates.ts';
import { createBills } from './bills/book.ts';
import { createClock } from './clock.ts';
import { deliver, type Deliver } from './notification.ts';
import { answerExchange } from './exchange.ts';
import { createFaults } from './faults.ts';
import { type OpenJournal, openJournal, takeSimulatorFolder, writePrivately } from './folder.ts';
import type { Core, ChannelSimulator } from './channel-simulator.ts';
import { openLedger, type Ledger } from './ledger.ts';
import { createNotifications } from './notifications.ts';
import { makeRefund } from './refunds.ts';
import { SimulatorRefusal } from './requests.ts';
import type { Trade } from './trade.ts';
import { createTrades } from './trades.ts';

interface Settings {
  channelSimulators: readonly ChannelSimulator[];
  timeFactor: number;
  clockOffset: number | undefined;
  log: Core['log'];
}

interface CoreOptions extends Settings {
  dir: string;
}

interface CoreParts extends Settings {
  authority: Authority;
  strangerKey: KeyObject;
  accounts: Accounts;
  openJournal: OpenJournal;
  deliver: Deliver;
  /** Unlocks the folder. Called when the core is closed. */
  release(): void;
}

/** Opens or creates the keys, accounts and ledger in the folder `dir`. Ensures an account `default` per channel. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const unlock = takeSimulatorFolder(options.dir);
  const { dir } = options;
  try {
    const [authority, strangerKey] = await Promise.all([openAuthority(dir), openStranger(dir)]);
    return await createCore({
      ...options,
      authority,
      strangerKey,
      accounts: openAccounts(dir),
      openJournal: (replay) => openJournal(join(dir, 'ledger.jsonl'), replay),
      deliver,
      release: unlock,
    });
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Creates the objects that all channel simulators use. Creates an account `default` for every channel. */
export async function createCore(parts: CoreParts): Promise<Core> {
  const {
    channelSimulators,
    timeFactor,
    clockOffset,
    log,
    authority,
    strangerKey,
    accounts,
    openJournal: open,
  } = parts;
  // Ledger and clock depend on each other: the ledger stores the clock's offset, and the clock gives the ledger
  // entries their time.
  const ledger: Ledger = openLedger(open, () => clock.now());
  const clock = createClock(clockOffset ?? ledger.clockOffset, timeFactor, (error) =>
    log('a task failed', { error: String(error) }),
  );
  const faults = createFaults();
  const rulesOf = (payWay: PayWay) => channelSimulator(payWay).billRules;
  const trades = createTrades(ledger, clock.now, rulesOf);
  const channelSimulator = (payWay: PayWay) => {
    const found = channelSimulators.find((candidate) => candidate.payWay === payWay);
    if (found === undefined)
      throw new SimulatorRefusal(404, 'no_such_channel', `The channel ${payWay} is not simulated.`);
    return found;
  };
  const notifications = createNotifications(() => core, channelSimulator, {
    ledger,
    clock,
    faults,
    deliver: parts.deliver,
  });
  const core: Core = {
    url: '',
    channelSimulators,
    clock,
    ledger,
    trades,
    accounts,
    authority,
    faults,
    notifications,
    bills: createBills(ledger, clock, rulesOf),
    strangerKey,
    log,
    channelSimulator,
    answer: (ctx, exchange) => answerExchange(ctx, exchange, { faults, clock }),
    payUrl: (trade) => `${core.url}/pay/${trade.payWay}/${trade.id}`,
    startFixed: (trade) => startFixed(core, trade),
    refund: (trade, draft, fault) => makeRefund(core, trade, draft, fault),
    notificationDelay: (trade) => (trade.fixed === 'late-notice' ? 60_000 : 0),
    close() {
      clock.stop();
      notifications.stop();
      ledger.close();
      parts.release();
    },
  };
  await Promise.all(channelSimulators.map((each) => ensureAccount(core, each, 'default')));
  return core;
}

/** Creates the account with this name, unless it exists. */
export async function ensureAccount(
  core: Core,
  channelSimulator: ChannelSimulator,
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (core.accounts.get(channelSimulator.payWay, name)) return;
  core.accounts.add({
    payWay: channelSimulator.payWay,
    name,
    secrets: await channelSimulator.newSecrets(core, name, options),
  });
}

/** Continues unfinished work of an earlier process: unacknowledged notifications and `pays-later` payments. */
export function resume(core: Core): void {
  core.notifications.resume();
  for (const trade of core.ledger.trades.values()) {
    if (trade.fixed === 'pays-later' && trade.state !== 'closed' && trade.state !== 'paid') startFixed(core, trade);
  }
}

function startFixed(core: Core, trade: Trade): void {
  const { fixed, payWay } = trade;
  if (fixed === 'pays' || fixed === 'late-notice' || fixed === 'refunds-fail')
    core.channelSimulator(payWay).pay(core, trade);
  if (fixed !== 'pays-later') return;
  core.clock.schedule(5000, () => {
    const current = core.trades.byId(trade.id);
    if (current?.state === 'open' || current?.state === 'offered') core.channelSimulator(payWay).pay(core, current);
  });
}

async function openStranger(dir: string): Promise<KeyObject> {
  const file = join(dir, 'stranger.pem');
  if (!existsSync(file)) writePrivately(file, pkcs8((await newRsaKeys()).privateKey));
  return createPrivateKey(readFileSync(file));
}
