import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../../../server/simulator/accounts.ts';
import { keepAccounts } from '../../../server/simulator/accounts.ts';
import { createCore, openCore } from '../../../server/simulator/core.ts';
import type { Deliver } from '../../../server/simulator/deliver.ts';
import type { Core } from '../../../server/simulator/half.ts';
import { HALVES } from '../../../server/simulator/halves.ts';
import { createApp } from '../../../server/simulator/simulator.ts';

const CHANNELS_HOST = '127.0.0.1:8081';
/** Where the channels seem to be. */
export const CHANNELS_URL = `http://${CHANNELS_HOST}`;

/** What is the same in every world: accounts with their keys. */
export interface ChannelKeys extends Pick<Core, 'authority' | 'strangerKey'> {
  readonly accounts: readonly Account[];
}

const SETTINGS = { halves: HALVES, timeFactor: 1, clockOffset: 0, log: () => {} };

/** Makes the accounts and keys of the simulator, once for all worlds of a process. */
export async function makeChannelKeys(): Promise<ChannelKeys> {
  const dir = mkdtempSync(join(tmpdir(), 'pay-seeds-'));
  try {
    const core = await openCore({ ...SETTINGS, dir });
    const accounts = HALVES.flatMap(({ payWay }) => [...core.accounts.of(payWay)]);
    const { authority, strangerKey } = core;
    core.close();
    return { authority, strangerKey, accounts };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The simulator of one world: its core, and its app behind no socket. */
export interface SimulatedChannels {
  readonly core: Core;
  /** Answers a request, or undefined when the channel says nothing. */
  ask(request: InnerRequest): Promise<InnerAnswer | undefined>;
}

export interface InnerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface InnerAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** Opens channels that have heard of nothing yet. */
export async function openChannels(
  { authority, strangerKey, accounts }: ChannelKeys,
  deliver: Deliver,
): Promise<SimulatedChannels> {
  const core = await createCore({
    ...SETTINGS,
    authority,
    strangerKey,
    accounts: keepAccounts(
      accounts.map((one) => ({ ...one, secrets: { ...one.secrets } })),
      () => {},
    ),
    openJournal: () => ({ append: () => {}, close: () => {} }),
    deliver,
    release: () => {},
  });
  core.url = CHANNELS_URL;
  const app = createApp(core);
  const serve = (app as object as Composing).compose(app.middleware);
  return {
    core,
    async ask(request) {
      const res = new InnerResponse();
      const ctx = app.createContext(requestOf(request) as never, res as never);
      await serve(ctx);
      if (ctx.respond === false) return undefined;
      const { body, status } = ctx;
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : textOf(body));
      return { status, headers: res.headers, body: bytes };
    },
  };
}

/** What Koa has and its types do not say. */
interface Composing {
  compose(middleware: readonly unknown[]): (ctx: unknown) => Promise<void>;
}

function textOf(body: unknown): string {
  return body === null || body === undefined ? '' : JSON.stringify(body);
}

/** As much of a request as Koa looks at; its connection ends as soon as somebody wants that. */
function requestOf({ method, url, headers, body }: InnerRequest): object {
  const socket = { destroyed: true, once: () => {}, destroy: () => {} };
  return {
    method,
    url: url.slice(CHANNELS_URL.length),
    headers: { host: CHANNELS_HOST, ...(body.length > 0 && { 'content-length': String(body.length) }), ...headers },
    httpVersion: '1.1',
    httpVersionMajor: 1,
    socket,
    async *[Symbol.asyncIterator]() {
      if (body.length > 0) yield body;
    },
  };
}

/** As much of an answer as Koa writes to. */
class InnerResponse {
  statusCode = 404;
  statusMessage = '';
  headersSent = false;
  writableEnded = false;
  readonly headers: Record<string, string> = {};

  setHeader(name: string, value: unknown): void {
    this.headers[name.toLowerCase()] = String(value);
  }

  getHeader(name: string): string | undefined {
    return this.headers[name.toLowerCase()];
  }

  getHeaders(): Record<string, string> {
    return this.headers;
  }

  hasHeader(name: string): boolean {
    return name.toLowerCase() in this.headers;
  }

  removeHeader(name: string): void {
    delete this.headers[name.toLowerCase()];
  }
}
