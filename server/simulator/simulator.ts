/** The simulator as it is started: every half, on its addresses, within this process or as one of its own. */
import Router from '@koa/router';
import Koa, { type Context, type Next } from 'koa';
import { once } from 'node:events';
import { type RequestListener, type Server, createServer } from 'node:http';
import { makeFolder } from '../folder-lock.ts';
import type { PayWay } from '../payments/channel.ts';
import { alipaySimulator } from './alipay/simulator.ts';
import { consoleRoutes } from './console.ts';
import { controlRoutes } from './control.ts';
import { openCore, resume } from './core.ts';
import { type Core, type ChannelSimulator, leadToChannel, listenFor } from './channel-simulator.ts';
import { payerRoutes } from './payer.ts';
import { paypalSimulator } from './paypal/simulator.ts';
import { SimulatorRefusal, readBody } from './requests.ts';
import { wechatSimulator } from './wechat/simulator.ts';

/** Every channel that is simulated. */
export const HALVES: readonly ChannelSimulator[] = [alipaySimulator, wechatSimulator, paypalSimulator];

/** Where something listens; port 0 = a free one. */
export interface Address {
  host: string;
  port: number;
}

/** How a simulator is started. */
export interface SimulatorOptions {
  /** Folder of its keys, accounts and ledger; made when it is missing. One process at a time. */
  dir: string;
  listen: Address;
  /** Addresses at which one channel alone is, at the root. */
  roots?: Partial<Record<PayWay, Address>>;
  log?: Core['log'];
  /** The delays of channels (notices, late payments) times this; 1 = as long as the channels take. */
  timeFactor?: number;
  /** Milliseconds that the simulated clock starts ahead; by default what it was advanced before. */
  clockOffset?: number;
  /** Which channels; by default all. */
  channelSimulators?: readonly ChannelSimulator[];
}

/** A running simulator. */
export interface RunningSimulator {
  url: string;
  /** Where the channels with an address of their own are. */
  roots: Partial<Record<PayWay, string>>;
  close(): Promise<void>;
}

/** Starts the simulator and resolves when it listens. Rejects when the address is taken or the folder cannot be used. */
export async function startSimulator(options: SimulatorOptions): Promise<RunningSimulator> {
  const {
    dir,
    listen,
    roots = {},
    log = () => undefined,
    timeFactor = 1,
    clockOffset,
    channelSimulators = HALVES,
  } = options;
  makeFolder(dir, 'Simulator.Dir');
  const core = await openCore({ dir, channelSimulators, timeFactor, clockOffset, log });
  const app = createApp(core).callback();
  const servers: Server[] = [];
  const open = (address: Address, listener: RequestListener) => {
    const server = createServer(listener);
    // As long as channels keep them: a client that asks now and then shall not meet a connection that is just being closed.
    server.keepAliveTimeout = 65_000;
    servers.push(server);
    return listenOn(server, address);
  };
  const close = async () => {
    await Promise.all(servers.map(closeServer));
    core.close();
  };
  const own: RunningSimulator['roots'] = {};
  try {
    core.url = await open(listen, app);
    for (const { payWay } of channelSimulators) {
      const address = roots[payWay];
      if (address) own[payWay] = await open(address, listenFor(payWay, app));
    }
  } catch (error) {
    await close();
    throw error;
  }
  resume(core);
  return { url: core.url, roots: own, close };
}

/** The simulator's app: its channels, the payer's pages, the control API and the page that controls it. */
function createApp(core: Core): Koa {
  const app = new Koa();
  // A client that gives up in the middle of a silence is what the silence is for.
  app.on('error', (error: Error & { status?: number }) => core.log('request failed', { error: String(error) }));
  app.use(refuseReadably);
  app.use(leadToChannel(core.channelSimulators));
  app.use(readBody);
  const channels = new Router();
  for (const channelSimulator of core.channelSimulators) channelSimulator.mount(channels, core);
  for (const router of [controlRoutes(core), consoleRoutes(core), payerRoutes(core), channels])
    app.use(router.routes());
  return app;
}

/** Answers refusals in words. */
export async function refuseReadably(ctx: Context, next: Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (!(error instanceof SimulatorRefusal)) throw error;
    ctx.status = error.status;
    ctx.body = { error: { code: error.code, message: error.message } };
  }
}

function listenOn(server: Server, { host, port }: Address): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${bound}`);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Runs the simulator as a process of its own: tells its address once it listens, ends at SIGTERM or SIGINT. */
export async function runSimulator(options: SimulatorOptions, tellReady: (url: string) => void): Promise<void> {
  const simulator = await startSimulator(options);
  tellReady(simulator.url);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await simulator.close();
}
