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

/** How a channel's promise tests differ from the others'. */
export interface PromiseOptions {
  /** Goes before the name of each test; needed when a file tests a channel in more than one way. */
  title?: string;
  /** The channel's side in the simulator, to start that one alone; all of them unless given. */
  channelSimulator?: ChannelSimulator;
  /** What POST /sim/accounts is told beside the name. */
  account?: object;
  /** What POST /sim/rotate replaces of it before the first order. */
  rotate?: string;
  /** The configuration of the other account, when its ids must be those of the first to reach the key check. */
  strangerConfig?(own: Config, other: Config): Config;
  /** Faults that this way of using the channel tells apart otherwise, or at all. */
  words?: FaultWords;
  unknownWord: Subject['unknownWord'];
  /** What is different about each order; the default scene needs nothing. */
  order?: Subject['order'];
  /** The address that an order of this scene begins at: nobody is asked before the payer opens it. */
  opens?(pay: PayHint, simulatorUrl: string): string;
  /** The payer agrees in a page that the channel opens by its own number, and the shop has the money taken at once (PayPal's buttons). */
  buttons?: true;
  /** Promises of this way of paying beyond those of every channel. */
  more?: readonly ChannelPromise[];
  /** Names of promises that cannot be made in this scene; whoever leaves one out tests what holds instead. */
  without?: RegExp;
}

/** Declares one test for every promise of a channel, against a simulator of their own in this process. */
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

/** A call of the control API that hands a configuration over. */
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
