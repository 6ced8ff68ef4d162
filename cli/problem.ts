import { CliError, EXIT, exitCodeFor, type FieldProblem } from './errors.ts';
import type { Row } from './values.ts';

/** The parts of an answer that explain a refusal. */
export interface RefusedAnswer {
  status: number;
  headers: Record<string, string | undefined>;
  text: string;
}

/** The next command after a refusal that the server gave no hint for. */
const HINTS: Readonly<Record<string, string>> = {
  channel_disabled: 'payctl channel list',
  channel_not_configured: 'payctl channel list',
  channel_refused: 'payctl channel test <payWay>',
  order_already_paid: 'payctl refund create <orderNo>',
  order_not_paid: 'payctl order get <orderNo>',
  refund_exceeds_refundable: 'payctl order get <orderNo>',
  refund_in_progress: 'payctl refund list --order <orderNo>',
  refunds_blocked: 'payctl exception list --order <orderNo>',
  in_use: 'disable it instead',
  project_disabled: 'payctl project list',
  user_blocked: 'payctl user enable <userId>',
};

/** The failure that an answer with a 4xx or 5xx (or an unexpected 3xx) stands for. */
export function readProblem(answer: RefusedAnswer, where: { login: string }): CliError {
  const body = unwrap(parseObject(answer.text));
  if (answer.status >= 300 && answer.status < 400) return redirected(answer);
  const message =
    firstText(body['detail'], body['error_description'], body['title']) ?? `The server returned HTTP ${answer.status}.`;
  const code = firstText(body['code'], body['error']) ?? `http_${answer.status}`;
  const retryAfter = seconds(answer.headers['retry-after']);
  return new CliError(code, exitCodeFor(answer.status), channelWords(message, body['channel']), {
    status: answer.status,
    hint: hintFor(answer.status, firstText(body['hint'], HINTS[code]), retryAfter, where.login),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    requestId: firstText(body['requestId'], answer.headers['x-request-id']),
    fields: readFields(body['errors']),
    extra: extras(body),
  });
}

/** The simulator and others put the problem into a member `error`. */
function unwrap(body: Row): Row {
  const { error } = body;
  return typeof error === 'object' && error !== null ? { ...(error as Row), detail: (error as Row)['message'] } : body;
}

function redirected(answer: RefusedAnswer): CliError {
  const place = answer.headers['location'] ?? 'another address';
  return new CliError(
    'redirected',
    EXIT.failed,
    `The server redirects to ${place}. Redirects are not followed, to protect the token.`,
    {
      status: answer.status,
      hint: 'use that address with --server',
    },
  );
}

function channelWords(message: string, channel: unknown): string {
  if (typeof channel !== 'object' || channel === null) return message;
  const { payWay, code, message: said } = channel as Row;
  const words = [payWay, code, said].filter((word) => typeof word === 'string' && word !== '');
  return words.length > 0 ? `${message} (${words.join(' ')})` : message;
}

function hintFor(
  status: number,
  hint: string | undefined,
  retryAfter: number | undefined,
  login: string,
): string | undefined {
  if (hint) return hint;
  if (status === 401) return login;
  if (status === 404) return undefined;
  return retryAfter !== undefined ? `retry in ${retryAfter} s` : undefined;
}

function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header) ? Number(header) : undefined;
}

function readFields(errors: unknown): FieldProblem[] {
  if (!Array.isArray(errors)) return [];
  return errors
    .filter((item): item is Row => typeof item === 'object' && item !== null)
    .map((item) => ({
      pointer: String(item['pointer'] ?? ''),
      code: String(item['code'] ?? ''),
      detail: String(item['detail'] ?? ''),
    }));
}

const STANDARD = new Set([
  'type',
  'title',
  'status',
  'detail',
  'code',
  'requestId',
  'errors',
  'hint',
  'error',
  'error_description',
  'error_uri',
  'instance',
  'message',
  'exitCode',
]);

function extras(body: Row): Row {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !STANDARD.has(key)));
}

function firstText(...candidates: unknown[]): string | undefined {
  return candidates.find((candidate): candidate is string => typeof candidate === 'string' && candidate !== '');
}

function parseObject(text: string): Row {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
  } catch {
    return {};
  }
}
