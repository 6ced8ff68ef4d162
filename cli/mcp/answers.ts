import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { CliError, EXIT } from '../errors.ts';
import type { Row } from '../values.ts';
import { NOTICE, sortAnswer, type Sorted } from './untrusted.ts';

/** A refusal of this process itself, before the service is asked. */
export class ToolRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The answer of a tool: text and structure say the same, texts of others stand apart in both. */
export function toolAnswer(summary: string, answer: unknown): CallToolResult {
  const sorted = sortAnswer(answer);
  return assemble(summary, { ok: true, data: sorted.data }, sorted);
}

/** A failure as a tool error: a stable code and what may be tried next; no stack, and nothing of the request that was sent. */
export function toolError(error: unknown, isWrite: boolean): CallToolResult {
  if (error instanceof ToolRefusal) return refused(error.code, error.message, {});
  if (!(error instanceof CliError)) return refused('internal', 'The tool failed. Nothing more is known about it.', {});
  const { status, retryAfter, requestId, extra, fields, hint } = error.options;
  const code = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(error.code) ? error.code : 'refused';
  const place = status === undefined ? 'The service did not answer' : `The service refused (HTTP ${status})`;
  const advice =
    error.exitCode !== EXIT.tryAgain
      ? ''
      : isWrite
        ? ' Try again later with the same key and the same arguments: it runs only once.'
        : ' Try again later.';
  const said = {
    details: extra,
    requestId,
    message: error.message,
    // What payctl would do next is for a person at a shell.
    hint: hint?.startsWith('payctl') || hint?.includes('--') ? undefined : hint,
    fields,
  };
  return refused(code, `${place}: ${code}.${advice}`, { status, retryAfter }, said);
}

function refused(code: string, message: string, members: Row, said: Row = {}): CallToolResult {
  const sorted = sortAnswer(said);
  const known = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  const error = { code, message, ...known, ...sorted.data };
  return { ...assemble(`Error: ${message}`, { ok: false, error }, sorted), isError: true };
}

function assemble(summary: string, structure: Row, { untrusted, truncated }: Sorted): CallToolResult {
  const marked = Object.keys(untrusted).length > 0 ? { untrusted: { notice: NOTICE, texts: untrusted } } : {};
  const own = { ...structure, ...(truncated ? { truncated } : {}) };
  const texts = [`${summary}\n${JSON.stringify(own)}`, ...('untrusted' in marked ? [JSON.stringify(marked)] : [])];
  return { content: texts.map((text) => ({ type: 'text', text })), structuredContent: { ...own, ...marked } };
}
