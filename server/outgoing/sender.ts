import { lookup as systemLookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { BlockList, type LookupFunction, isIP } from 'node:net';

interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The time limit in milliseconds for the whole request including DNS. Default and maximum: 10 s. */
  timeoutMs?: number | undefined;
  /** The maximum number of bytes of the response that are read. Default and maximum: 64 KB. */
  maxBytes?: number | undefined;
  /**
   * True if only the HTTP status matters. If reading the body fails, the result has an empty body and no error occurs.
   */
  statusOnly?: boolean | undefined;
}

/** Redirects are not followed; the redirect response itself is returned. */
interface OutgoingAnswer {
  status: number;
  /** The response headers by their lower-case names. */
  headers: Record<string, string>;
  body: Buffer;
}

/** With `url_invalid`, `scheme_refused`, `address_refused` and `unresolvable`, no request was sent. */
export type OutgoingFault =
  | 'url_invalid'
  | 'scheme_refused'
  | 'address_refused'
  | 'unresolvable'
  | 'timeout'
  | 'network'
  | 'too_large';

/** Thrown if a request was not sent or got no usable response. */
export class OutgoingFailed extends Error {
  readonly why: OutgoingFault;
  constructor(why: OutgoingFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutgoingFailed';
    this.why = why;
  }
}

/** Sends a POST request once. Throws OutgoingFailed. */
export type SendOutgoing = (request: OutgoingRequest) => Promise<OutgoingAnswer>;

export interface ResolvedAddress {
  address: string;
  family: number;
}

export interface SenderOptions {
  /** Private network ranges that the sender may call (Webhook.AllowedNetworks). */
  allowedNetworks: readonly string[];
  /** True in production: only https is allowed. */
  httpsOnly: boolean;
  resolve?: (host: string) => Promise<ResolvedAddress[]>;
  /** An additional certificate authority, used by tests. */
  ca?: string;
}

const MAX_MS = 10_000;
const MAX_BYTES = 64 * 1024;

/**
 * Creates the function that sends requests to configured URLs; all such requests must use it. The host name is resolved
 * first, and each of its addresses must be allowed. The connection then uses the checked address, so that a second DNS
 * lookup cannot return a different one. A proxy gets the checked address too.
 */
export function createSender({ allowedNetworks, httpsOnly, resolve = resolveAll, ca }: SenderOptions): SendOutgoing {
  const mayReach = addressGuard(allowedNetworks);
  return async (request) => {
    const url = readUrl(request.url, httpsOnly);
    const deadline = AbortSignal.timeout(Math.min(request.timeoutMs ?? MAX_MS, MAX_MS));
    const address = await addressOf(url, deadline);
    return exchange(url, address, request, deadline, ca);
  };

  async function addressOf(url: URL, deadline: AbortSignal): Promise<ResolvedAddress> {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const family = isIP(host);
    const found = family === 0 ? await withDeadline(resolve(host), deadline) : [{ address: host, family }];
    const [first] = found;
    if (!first) throw new OutgoingFailed('unresolvable', `The host ${url.hostname} has no IP address.`);
    // The request is refused if any of the addresses is not allowed. A name with both public and private addresses is
    // likely an attack.
    if (!found.every(({ address }) => mayReach(address)))
      throw new OutgoingFailed(
        'address_refused',
        `The host ${url.hostname} has a private address that Webhook.AllowedNetworks does not allow.`,
      );
    return first;
  }
}

/** Parses a URL and checks that its scheme is allowed. Throws OutgoingFailed. */
export function readUrl(text: string, httpsOnly: boolean): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new OutgoingFailed('url_invalid', 'The URL is invalid.');
  }
  if (url.username !== '' || url.password !== '')
    throw new OutgoingFailed('url_invalid', 'The URL must not contain a username or password.');
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && !httpsOnly);
  if (!isAllowed) throw new OutgoingFailed('scheme_refused', `The scheme ${url.protocol}// is not allowed; use https.`);
  return url;
}

async function resolveAll(host: string): Promise<ResolvedAddress[]> {
  return systemLookup(host, { all: true, verbatim: true });
}

async function withDeadline(work: Promise<ResolvedAddress[]>, deadline: AbortSignal): Promise<ResolvedAddress[]> {
  const late = Promise.withResolvers<never>();
  const stop = () => late.reject(timedOut());
  deadline.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, late.promise]);
  } catch (error) {
    if (error instanceof OutgoingFailed) throw error;
    throw new OutgoingFailed('unresolvable', 'The DNS lookup of the host name in the URL failed.', { cause: error });
  } finally {
    deadline.removeEventListener('abort', stop);
  }
}

function exchange(
  url: URL,
  address: ResolvedAddress,
  { headers, body, maxBytes, statusOnly }: OutgoingRequest,
  signal: AbortSignal,
  ca: string | undefined,
): Promise<OutgoingAnswer> {
  const { request } = url.protocol === 'https:' ? https : http;
  const proxied = throughProxy(url, address);
  const fixed = { 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) };
  const options = {
    method: 'POST',
    ...(proxied ?? { lookup: pinned(address), agent: false as const }),
    headers: { ...headers, ...proxied?.headers, ...fixed },
    signal,
    ...(ca === undefined ? {} : { ca }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(failureOf(error, signal));
    let answered = false;
    const sent = request(url, options, (answer) => {
      answered = true;
      readAnswer(answer, Math.min(maxBytes ?? MAX_BYTES, MAX_BYTES)).then(resolve, (error: unknown) => {
        sent.destroy();
        if (statusOnly) resolve(answerOf(answer, Buffer.alloc(0)));
        else fail(error);
      });
    });
    // After the response head has arrived, a connection error is handled where the body is read.
    sent.on('error', (error) => answered || fail(error));
    sent.end(body);
  });
}

/** Returns a DNS lookup that always returns the checked address, so that the connection uses this address. */
function pinned({ address, family }: ResolvedAddress): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

async function readAnswer(answer: http.IncomingMessage, limit: number): Promise<OutgoingAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new OutgoingFailed('too_large', `The response is larger than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return answerOf(answer, Buffer.concat(chunks));
}

function answerOf({ headers, statusCode = 0 }: http.IncomingMessage, body: Buffer): OutgoingAnswer {
  const single = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(single), body };
}

function failureOf(error: unknown, signal: AbortSignal): OutgoingFailed {
  if (error instanceof OutgoingFailed) return error;
  if (signal.aborted) return timedOut();
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
  return new OutgoingFailed('network', `The connection failed: ${code}.`, { cause: error });
}

function timedOut(): OutgoingFailed {
  return new OutgoingFailed('timeout', 'No complete response in time.');
}

/** Requests must not reach this machine, private and shared networks, ranges reserved for tests, and multicast. */
const REFUSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  '64:ff9b::/96',
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const;

const refused = listOf(REFUSED);

/**
 * Returns a function that checks whether an address may be called. Addresses in `allowed` may be called even if they
 * are in a refused range.
 */
export function addressGuard(allowed: readonly string[]): (address: string) => boolean {
  const open = listOf(allowed);
  return (address) => {
    const plain = unmapped(address);
    const family = isIP(plain);
    if (family === 0 || plain.includes('%')) return false;
    const kind = family === 6 ? 'ipv6' : 'ipv4';
    return open.check(plain, kind) || !refused.check(plain, kind);
  };
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** Unwraps the IPv4 address in `::ffff:a.b.c.d` and in the deprecated form `::a.b.c.d`. */
function unmapped(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  const [, high = '', low = ''] = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(canonical(address)) ?? [];
  if (high === '') return address;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname;
}

type Through = Pick<https.RequestOptions, 'agent' | 'hostname' | 'servername'> & { headers: { host: string } };

/**
 * Returns undefined without a proxy (NODE_USE_ENV_PROXY=1), for hosts in NO_PROXY and for plain http. The proxy gets
 * the checked address and not the host name, because it would resolve the name itself and might reach a refused
 * address. Plain http never uses the proxy, because without a tunnel the proxy would get the host name.
 */
function throughProxy(url: URL, { address }: { address: string }): Through | undefined {
  if (url.protocol !== 'https:') return undefined;
  const { Agent, globalAgent } = https;
  const proxyEnv = (globalAgent as { options?: http.AgentOptions }).options?.proxyEnv;
  if (proxyEnv === undefined || isDirect(url, proxyEnv['no_proxy'] ?? proxyEnv['NO_PROXY'])) return undefined;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return {
    agent: new Agent({ proxyEnv }),
    hostname: address,
    ...(name === address ? {} : { servername: name }),
    headers: { host: url.host },
  };
}

/** The entries have the forms of Node.js: `*`, a host with or without a port, `.suffix` or `*.suffix`. */
function isDirect({ hostname, host }: URL, noProxy: string | undefined): boolean {
  return (noProxy ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*' || entry === hostname || entry === host) return true;
      return entry.startsWith('*.')
        ? hostname.endsWith(entry.slice(1))
        : entry.startsWith('.') && hostname.endsWith(entry);
    });
}
