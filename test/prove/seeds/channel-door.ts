import { parse, type ParsedUrlQuery } from 'node:querystring';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { keepBody } from '../../../server/simulator/requests.ts';
import type { Core } from '../../../server/simulator/channel-simulator.ts';
import { refuseReadably } from '../../../server/simulator/simulator.ts';

const lowerNames = new Map<string, string>();

/** Lower-cases a header name; equal names return the same string for fast lookup. */
export function lowered(name: string): string {
  const known = lowerNames.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  lowerNames.set(name, lower);
  return lower;
}

const CHANNELS_HOST = '127.0.0.1:8081';
/** The address of the simulated channels. */
export const CHANNELS_URL = `http://${CHANNELS_HOST}`;

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

/** Answers a request, or returns undefined if the channel stays silent. */
export type AskChannels = (request: InnerRequest) => Promise<InnerAnswer | undefined>;

/** Calls the simulator's channel handlers without sockets and without Koa, which costs more than most of them. */
export function openDoor(core: Core): AskChannels {
  const routes = new InnerRoutes();
  for (const half of core.channelSimulators) half.mount(routes as unknown as Router, core);
  return async (request) => {
    const ctx = new InnerContext(request);
    keepBody(ctx as unknown as Context, request.body);
    await refuseReadably(ctx as unknown as Context, () => routes.serve(ctx));
    if (!ctx.respond) return undefined;
    const { body, status, headers } = ctx;
    // HTTP allows no body with this status.
    if (body === null || status === 204) return { status, headers, body: Buffer.alloc(0) };
    return { status, headers, body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)) };
  };
}

type Handler = (ctx: InnerContext) => unknown;

/** Every world registers the same routes. */
const patterns = new Map<string, RegExp>();

function patternOf(path: string): RegExp {
  const known = patterns.get(path);
  if (known) return known;
  const pattern = path
    .replaceAll('.', String.raw`\.`)
    .replace(/\{\*\w+\}$/, '.*')
    .replaceAll(/:(\w+)/g, '(?<$1>[^/]+)');
  const made = new RegExp(`^${pattern}$`);
  patterns.set(path, made);
  return made;
}

/** The part of a router that the channels use: the first matching route answers. */
class InnerRoutes {
  readonly #routes: { method: string | undefined; begin: string; path: RegExp; handler: Handler }[] = [];
  readonly get = this.#adds('GET');
  readonly post = this.#adds('POST');
  readonly patch = this.#adds('PATCH');
  readonly delete = this.#adds('DELETE');
  readonly all = this.#adds();

  #adds(method?: string): (path: string, handler: Handler) => void {
    return (path, handler) => {
      const [begin = ''] = path.split(/[:{]/, 1);
      this.#routes.push({ method, begin, path: patternOf(path), handler });
    };
  }

  async serve(ctx: InnerContext): Promise<void> {
    for (const { method, begin, path, handler } of this.#routes) {
      if (method !== undefined && method !== ctx.method) continue;
      if (!ctx.path.startsWith(begin)) continue;
      const found = path.exec(ctx.path);
      if (!found) continue;
      ctx.params = found.groups ?? {};
      return void (await handler(ctx));
    }
  }
}

/** The part of Koa's context that the channels use; its connection ends on request. */
class InnerContext {
  readonly state = {};
  readonly host = CHANNELS_HOST;
  readonly hostname = '127.0.0.1';
  readonly req: { readonly url: string; readonly socket: { readonly destroyed: true } };
  readonly method: string;
  /** The address as it was signed. */
  readonly originalUrl: string;
  readonly path: string;
  readonly querystring: string;
  readonly headers: Record<string, string> = {};
  readonly #request: InnerRequest;
  params: Record<string, string> = {};
  status = 404;
  body: Buffer | object | null = null;
  respond = true;

  constructor(request: InnerRequest) {
    const url = request.url.slice(CHANNELS_URL.length);
    const end = url.indexOf('?');
    this.#request = request;
    this.method = request.method;
    this.originalUrl = url;
    this.path = end < 0 ? url : url.slice(0, end);
    this.querystring = end < 0 ? '' : url.slice(end + 1);
    this.req = { url, socket: { destroyed: true } };
  }

  get URL(): Pick<URL, 'searchParams'> {
    return { searchParams: new URLSearchParams(this.querystring) };
  }

  get query(): ParsedUrlQuery {
    return parse(this.querystring);
  }

  get(name: string): string {
    return this.#request.headers[lowered(name)] ?? '';
  }

  is(type: string): boolean {
    return this.#request.body.length > 0 && this.get('content-type').split(';')[0] === type;
  }

  set(name: string, value: string): void {
    this.headers[lowered(name)] = value;
  }
}
