/** Starts the simulator with all channels. It runs inside the calling process, or as a process of its own. */
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

export const CHANNEL_SIMULATORS: readonly ChannelSimulator[] = [alipaySimulator, wechatSimulator, paypalSimulator];

/** An address to listen on; port 0 = any free port. */
export interface Address {
  host: string;
  port: number;
}

export interface SimulatorOptions {
  /** The folder of keys, accounts and ledger, created if it is missing. Only one process at a time can use it. */
  dir: string;
  listen: Address;
  /** Addresses that serve only one channel each, without the `/<payWay>` prefix. */
  roots?: Partial<Record<PayWay, Address>>;
  log?: Core['log'];
  /** A factor for the channels' delays, e.g. the time until a notification is sent again. 1 = the real delays. */
  timeFactor?: number;
  /** How far the simulated clock is ahead of real time at the start (ms); by default the stored offset. */
  clockOffset?: number;
  /** The channels to simulate; by default all. */
  channelSimulators?: readonly ChannelSimulator[];
}

export interface RunningSimulator {
  url: string;
  /** The base URL of each channel that `options.roots` gives its own address. */
  roots: Partial<Record<PayWay, string>>;
  close(): Promise<void>;
}

/** Starts the simulator. Resolves when it listens; rejects if an address is in use or the folder cannot be used. */
export async function startSimulator(options: SimulatorOptions): Promise<RunningSimulator> {
  const {
    dir,
    listen,
    roots = {},
    log = () => undefined,
    timeFactor = 1,
    clockOffset,
    channelSimulators = CHANNEL_SIMULATORS,
  } = options;
  makeFolder(dir, 'Simulator.Dir');
  const core = await openCore({ dir, channelSimulators, timeFactor, clockOffset, log });
  const app = createApp(core).callback();
  const servers: Server[] = [];
  const open = (address: Address, listener: RequestListener) => {
    const server = createServer(listener);
    // An unused connection stays open for 65 seconds, as at the real channels. After a shorter time, clients would
    // still try to use the closed connection.
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

function createApp(core: Core): Koa {
  const app = new Koa();
  // When a fault delays a response, clients disconnect. The errors that this causes are only logged.
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

/** Converts a SimulatorRefusal into a JSON error response. */
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

/** Runs the simulator as a process of its own, until SIGTERM or SIGINT. */
export async function runSimulator(options: SimulatorOptions, onReady: (url: string) => void): Promise<void> {
  const simulator = await startSimulator(options);
  onReady(simulator.url);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await simulator.close();
}
