import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SimulatedChannelConfig } from '../../../server/simulator/channel-simulator.ts';
import type { OrderSums } from '../../../server/simulator/ledger.ts';
import type { Delivery } from '../../../server/simulator/notification.ts';
import { startSimulator, type RunningSimulator, type SimulatorOptions } from '../../../server/simulator/simulator.ts';
import type { LedgerEntry } from '../../../server/simulator/trade.ts';
import { listenOnFreePort } from '../../support/free-port.ts';
import { giveKeys } from '../../support/simulator.ts';

/** A merchant's notification receiver: its received requests and its response. */
export interface Receiver {
  url: string;
  /** `names` are the header names as sent. */
  received: { headers: Record<string, unknown>; names: string[]; body: Buffer }[];
  answer: { status: number; body: string };
  close(): void;
}

/** Starts a notification receiver that acknowledges with this body. */
export async function startReceiver(body = 'success'): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answer: { status: 200, body }, close: () => void 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const names = request.rawHeaders.filter((_, at) => at % 2 === 0);
      receiver.received.push({ headers: request.headers, names, body: Buffer.concat(chunks) });
      response.writeHead(receiver.answer.status).end(receiver.answer.body);
    });
  });
  const port = await listenOnFreePort(server);
  receiver.url = `http://127.0.0.1:${port}/notify`;
  receiver.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return receiver;
}

const dirs: string[] = [];
// One listener for all folders: sixteen files share a process, and Node warns at the eleventh.
process.once('exit', () => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** Creates a simulator folder that is removed when the process ends. */
export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'simulator-'));
  dirs.push(dir);
  return dir;
}

/** A running simulator with calls of its control API. */
export interface World {
  simulator: RunningSimulator;
  url: string;
  dir: string;
  get<T>(path: string): Promise<T>;
  post<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>;
  ledger(orderNo?: string): Promise<{ entries: LedgerEntry[]; orders: OrderSums[] }>;
  deliveries(orderNo: string): Promise<Delivery[]>;
  config(account?: string): Promise<Record<string, SimulatedChannelConfig>>;
  close(): Promise<void>;
}

/** Starts a simulator in `dir`, by default a new one. */
export async function startWorld(options: Partial<SimulatorOptions> = {}): Promise<World> {
  const dir = options.dir ?? newDir();
  if (!options.dir) await giveKeys(dir);
  const simulator = await startSimulator({ listen: { host: '127.0.0.1', port: 0 }, ...options, dir });
  const { url } = simulator;
  const get = async <T>(path: string) => (await fetch(url + path)).json() as Promise<T>;
  const post = async <T>(path: string, body: unknown = {}) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.json() as Promise<T>;
  };
  return {
    simulator,
    url,
    dir,
    get,
    post,
    ledger: (orderNo) => get(`/sim/ledger${orderNo === undefined ? '' : `?orderNo=${orderNo}`}`),
    deliveries: async (orderNo) =>
      (await get<{ deliveries: Delivery[] }>(`/sim/deliveries?orderNo=${orderNo}`)).deliveries,
    config: (account = 'default') => get(`/sim/config?account=${account}`),
    close: () => simulator.close(),
  };
}

/** Resolves once `probe` returns a value; limited by the timeout of the test. */
export async function until<T>(probe: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
