import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestFn } from 'ava';
import type { Channel, ChannelInput, ChannelKind, PayHint, PayWay } from '../../../../server/payments/channel.ts';
import type { ChannelSimulator } from '../../../../server/simulator/channel-simulator.ts';
import { startSimulator, type RunningSimulator } from '../../../../server/simulator/simulator.ts';
import { giveKeys } from '../../../support/simulator.ts';
import { agreeInPage, simulatorDriver } from './driver.ts';
import type { FaultWords } from './faults.ts';
import { promisesOf, type ChannelPromise } from './promises.ts';
import { connect, givingUpOnceStruck, type Subject } from './subject.ts';

type Config = Pick<ChannelInput, 'fields' | 'pems'>;
type Configs = Partial<Record<PayWay, Config>>;

/** The options that differ between channels. */
export interface PromiseOptions {
  /** A prefix for each test name, needed when a file tests a channel in several ways. */
  title?: string;
  /** The channel simulator to start; all of them by default. */
  channelSimulator?: ChannelSimulator;
  /** Additional members for POST /sim/accounts. */
  account?: object;
  /** The value for POST /sim/rotate before the first order. */
  rotate?: string;
  /** The configuration of the other account, if its ids must match the first to reach the key check. */
  strangerConfig?(own: Config, other: Config): Config;
  /** Faults with a different cause in this setup, or an additional cause. */
  words?: FaultWords;
  unknownWord: Subject['unknownWord'];
  /** Members of each order; the default scene needs none. */
  order?: Subject['order'];
  /** The URL that starts an order of this scene; the channel is not called before the payer opens it. */
  opens?(pay: PayHint, simulatorUrl: string): string;
  /** The payer approves in a page by the channel's order number, and the shop captures immediately (PayPal buttons). */
  buttons?: true;
  /** Additional promises of this payment method. */
  more?: readonly ChannelPromise[];
  /** Names of promises that this scene cannot keep; its own tests must cover the actual behaviour. */
  without?: RegExp;
}

/** Declares one test per promise of a channel, against its own simulator in this process. */
export function testPromises(test: TestFn, kind: ChannelKind, options: PromiseOptions): void {
  let simulator: RunningSimulator;
  let folder: string;
  let subject: Subject;

  test.before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'promises-'));
    await giveKeys(folder);
    simulator = await startSimulator({
      dir: folder,
      listen: { host: '127.0.0.1', port: 0 },
      timeFactor: 0.01,
      channelSimulators: options.channelSimulator && [options.channelSimulator],
    });
    subject = await subjectAt(simulator.url, kind, options);
  });
  test.after.always(async () => {
    await simulator?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const { title, words, more = [], without } = options;
  for (const { name, run } of [...promisesOf(kind.payWay, words), ...more]) {
    if (without?.test(name)) continue;
    test(title ? `${title}: ${name}` : name, (t) => run(t, subject));
  }
}

async function subjectAt(simulatorUrl: string, kind: ChannelKind, options: PromiseOptions): Promise<Subject> {
  const { account = {}, strangerConfig = (_own, other) => other, unknownWord, order, opens, rotate } = options;
  let own = await openAccount(simulatorUrl, kind.payWay, 'promises', account);
  if (rotate)
    own = await control(simulatorUrl, '/sim/rotate', { payWay: kind.payWay, account: 'promises', what: rotate });
  const other = await openAccount(simulatorUrl, kind.payWay, 'stranger', account);
  const input = { mode: 'simulator', simulatorUrl, ...own } as const;
  const driver = simulatorDriver(simulatorUrl, kind.payWay);
  const known = new Map<string, { payUrl?: string; channelOrderId?: string | undefined }>();
  const remembering = (channel: Channel): Channel => {
    const place: Channel['place'] = async (asked) => {
      const outcome = await channel.place(asked);
      if (outcome.kind !== 'pending') return outcome;
      const { pay, channelOrderId } = outcome;
      known.set(asked.orderNo, { channelOrderId, ...(opens && pay && { payUrl: opens(pay, simulatorUrl) }) });
      return outcome;
    };
    return { ...channel, place };
  };
  const pay = (orderNo: string): Promise<void> => {
    const { payUrl, channelOrderId = '' } = known.get(orderNo) ?? {};
    return options.buttons ? agreeInPage(simulatorUrl, kind.payWay, channelOrderId) : driver.pay(orderNo, payUrl);
  };
  return {
    kind,
    input,
    driver: { ...driver, pay },
    channel: remembering(connect(kind, input)),
    impatient: remembering(connect(kind, input, givingUpOnceStruck(driver))),
    isPlacedUnasked: opens !== undefined,
    takesAtOnce: options.buttons === true,
    stranger: connect(kind, { ...input, ...strangerConfig(own, other) }),
    unknownWord,
    order,
  };
}

function openAccount(simulatorUrl: string, payWay: PayWay, name: string, options: object): Promise<Config> {
  return control(simulatorUrl, '/sim/accounts', { ...options, payWay, name });
}

/** Calls the control API and returns the configuration. */
async function control<Body extends { payWay: PayWay }>(
  simulatorUrl: string,
  path: string,
  body: Body,
): Promise<Config> {
  const { payWay } = body;
  const response = await fetch(simulatorUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const configs = (await response.json()) as Configs;
  const config = configs[payWay];
  if (!config) throw new Error(`The simulator has no ${payWay} account: ${response.status}`);
  return config;
}
