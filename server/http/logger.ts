// The logger: JSON lines, or text for terminals, with secrets redacted.
import { styleText } from 'node:util';
import { type DestinationStream, type Logger, pino } from 'pino';
import { currentWork, traceId } from '../work.ts';
import { type ErrorDescription, describeError } from './faults.ts';

interface LogConfig {
  log: { level: string; format?: 'auto' | 'json' | 'text' };
}

/** Lines are written in batches: at least every tenth of a second, and when the process exits. */
const TOGETHER = { sync: false, minLength: 8192, periodicFlush: 100 };

/** Creates the logger: JSON lines, or text on a terminal. Secrets are redacted, and bodies are never logged. */
export function createLogger(config: LogConfig, stream?: DestinationStream): Logger {
  const options = {
    level: config.log.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: Record<string, unknown>) => redactMembers(members),
    },
    // Adds the ids of the current request or job to every line. A field that the line sets itself is not replaced.
    mixin: () => ({ ...currentWork(), traceId: traceId() }),
    serializers: { err: describeError },
    hooks: { streamWrite: redactText },
  };
  return pino(options, stream ?? (logsText(config) ? textStream() : pino.destination(TOGETHER)));
}

/** Whether lines are written as text: if configured, or by default on a terminal. */
export function logsText({ log: { format = 'auto' } }: LogConfig): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY === true);
}

/** Writes every line immediately, because an operator reads it on the terminal. */
function textStream(): DestinationStream {
  const terminal = pino.destination({ sync: true });
  return { write: (json) => void terminal.write(logText(json)) };
}

interface Line extends Record<string, unknown> {
  level?: string;
  time?: string;
  msg?: string;
  err?: ErrorDescription;
}

/** Colours text if the terminal supports it and NO_COLOR is not set. */
type Paint = (look: Parameters<typeof styleText>[0], text: string) => string;

const LOOKS: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  fatal: ['red', 'bold'],
  error: 'red',
  warn: 'yellow',
  info: 'green',
};

/**
 * Fields of a request that are not printed as `name=value`. `requestId` and `ip` are not printed at all, and the text
 * of the line contains the others.
 */
const SHOWN: ReadonlySet<string> = new Set(['method', 'route', 'status', 'ms', 'requestId', 'ip', 'caller']);

/** Formats a log line as text, with the stack of an error. Control characters are escaped. */
export function logText(json: string, paint: Paint = styleText): string {
  const { level = '', time = '', msg = '', err, ...members } = JSON.parse(json) as Line;
  const isRequest = msg === 'request' && typeof members['route'] === 'string';
  const about = Object.entries(members).filter(([name]) => !(isRequest && SHOWN.has(name)));
  const words = [
    paint('dim', new Date(time).toTimeString().slice(0, 8)),
    paint(LOOKS[level] ?? 'dim', level.toUpperCase().padEnd(5)),
    plainText(isRequest ? requestWords(members) : msg),
    ...about.map(([name, value]) => paint('dim', `${name}=${shown(value)}`)),
  ];
  const places = errorLines(err);
  // An error without a stack is printed on the line of the message.
  if (err && !err.stack) return `${[...words, '-', ...places.map((line) => line.trim())].join(' ')}\n`;
  return `${[words.join(' '), ...places].join('\n')}\n`;
}

function requestWords({ method, route, status, ms, caller }: Record<string, unknown>): string {
  return [method, route, status, `${String(ms)} ms`, caller].filter((word) => word !== undefined).join(' ');
}

function errorLines(err: ErrorDescription | undefined, depth = 0): string[] {
  if (!err) return [];
  const { type, code, message, stack = '', cause } = err;
  const head = `${depth > 0 ? 'caused by ' : ''}${type}${code === undefined ? '' : ` ${code}`}: ${message}`;
  const lines = [head, ...stack.split('\n').filter(Boolean)].map((line) => `    ${plainText(line.trim())}`);
  return [...lines, ...errorLines(cause, depth + 1)];
}

function shown(value: unknown): string {
  return plainText(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
}

const hidden = '[redacted]';

/** Field names whose values are never logged, at any depth. */
const secretName =
  /password|passphrase|secret|private_?key|master_?key|api_?v3_?key|authorization|cookie|credential|recovery_?codes|signature|tokens?$|^(?:csrf|jwt|pem|content|body|raw_?body|extra)$/i;

/** Each pattern begins with fixed text, which V8 finds fast; one pattern with all of them was fifty times slower. */
const secretTexts = [
  /-----BEGIN [A-Z ]+-----(?:[^-"]|-(?!----END))*(?:-----END [A-Z ]+-----)?/g,
  /eyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*/g,
  /pays_[\w-]{8,}/g,
  /whsec_[\w+/=-]{8,}/g,
  /otpauth:\/\/[^\s"]+/g,
  /Bearer\s+[\w.~+/=-]+/gi,
  /Basic\s+[\w.~+/=-]{6,}/gi,
];
const userInfo = /(:\/\/[^\s/:@"]*:)[^\s/@"]+(?=@)/g;
const longRun = /[\w+/-]{43,}={0,2}/g;
/** Characters that JSON leaves unescaped, but that control a terminal, reorder text or are invisible. */
const rawControl = /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const ascii = /[\u0000-\u001f]/g;

/** Redacts secrets in text by pattern: PEM blocks, JWTs, own secrets, Bearer and Basic, long keys, URL passwords. */
export function redactText(text: string): string {
  let shown = text;
  for (const looks of secretTexts) shown = shown.replace(looks, hidden);
  shown = shown.replace(userInfo, `$1${hidden}`);
  if (hasLongRun(shown))
    shown = shown.replace(longRun, (run, at: number, text: string) =>
      isKey(run) && !isTip(run, at, text) ? hidden : run,
    );
  return shown.replace(rawControl, escaped);
}

/** Text for a terminal: control characters and characters that reorder text are escaped as in JSON. */
function plainText(text: string): string {
  return text.replace(rawControl, escaped).replace(ascii, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const runLength = 43;
const isRunChar = Uint8Array.from({ length: 128 }, (_, code) => (/[\w+/-]/.test(String.fromCharCode(code)) ? 1 : 0));

/**
 * Whether the text has 43 or more consecutive letters, digits or signs `_+/-`, as keys have. Such a run covers one of
 * the positions 42, 85, 128 and so on, so only the characters around these positions are read.
 */
function hasLongRun(text: string): boolean {
  for (let place = runLength - 1; place < text.length; place += runLength) {
    let from = place;
    let to = place;
    while (isRunChar[text.charCodeAt(from)] === 1 && place - from < runLength) from -= 1;
    while (isRunChar[text.charCodeAt(to)] === 1 && to - from <= runLength) to += 1;
    if (to - from > runLength) return true;
  }
  return false;
}

/**
 * Whether a run is a key: at least 32 bytes in hexadecimal or base64. File paths can be as long, but have more slashes
 * or fewer capital letters and digits.
 */
function isKey(run: string): boolean {
  if (/^[0-9a-f]{64,}$/i.test(run)) return true;
  const count = (pattern: RegExp): number => run.match(pattern)?.length ?? 0;
  return count(/[A-Z]/g) >= 5 && count(/[a-z]/g) >= 5 && count(/\d/g) >= 1 && count(/\//g) <= 4;
}

/** The hash of the newest audit entry (`payctl audit --tip`) is no secret, and an operator must be able to copy it. */
function isTip(run: string, at: number, text: string): boolean {
  return text.slice(at - TIP.length, at) === TIP && /^[0-9a-f]{64}$/.test(run);
}

const TIP = '"tip":"';

/** A copy of a log object without the values of secret fields. Values nested deeper than six levels are redacted. */
export function redactMembers(value: Record<string, unknown>, depth = 0): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const name in value) shown[name] = redactMember(name, value[name], depth);
  return shown;
}

function redactMember(name: string, member: unknown, depth: number): unknown {
  if (member !== undefined && member !== null && isSecretName(name)) return hidden;
  if (typeof member !== 'object' || member === null) return member;
  if (Buffer.isBuffer(member) || depth > 6) return hidden;
  if (member instanceof Error || member instanceof Date) return member;
  if (Array.isArray(member)) return member.map((entry: unknown) => redactMember('', entry, depth + 1));
  return redactMembers(member as Record<string, unknown>, depth + 1);
}

const known = new Map<string, boolean>();

/** The result is cached, because names repeat; the cache is limited, because names may come from clients. */
function isSecretName(name: string): boolean {
  const answer = known.get(name);
  if (answer !== undefined) return answer;
  const isSecret = secretName.test(name);
  if (known.size < 1000) known.set(name, isSecret);
  return isSecret;
}
