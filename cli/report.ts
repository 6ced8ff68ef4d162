import { CliError, EXIT, codeOf } from './errors.ts';
import { visible } from './values.ts';
import type { Terminal } from './terminal.ts';
import { writeFault } from './whole-write.ts';

/** The failure as the one JSON object that JSON mode puts on stderr. */
export function errorDocument(error: CliError): { error: Record<string, unknown> } {
  const { status, hint, requestId, fields, extra } = error.options;
  return {
    error: {
      code: error.code,
      message: error.message,
      status: status ?? null,
      hint: hint ?? null,
      requestId: requestId ?? null,
      exitCode: error.exitCode,
      ...(fields && fields.length > 0 ? { fields } : {}),
      ...extra,
    },
  };
}

/** Writes a failure on stderr: what failed, where, one next step and the request id. Returns the exit code. */
export async function report(
  terminal: Terminal,
  failure: unknown,
  where: { json: boolean; target?: string },
): Promise<number> {
  const error = toCliError(failure);
  const text = where.json ? JSON.stringify(errorDocument(error)) : lines(terminal, error, where.target).join('\n');
  await terminal.err.write(`${text}\n`);
  return error.exitCode;
}

function lines(terminal: Terminal, error: CliError, target: string | undefined): string[] {
  const { style } = terminal.err;
  const { hint, requestId, fields = [], extra } = error.options;
  const orderNo = typeof extra?.['orderNo'] === 'string' ? extra['orderNo'] : undefined;
  const facts = [
    target,
    error.exitCode === EXIT.usage ? undefined : error.code,
    orderNo && `order ${orderNo}`,
    requestId && `request ${requestId}`,
  ];
  const known = facts.filter((fact): fact is string => Boolean(fact)).map(visible);
  const mark = error.exitCode === EXIT.cancelled ? style('yellow', 'cancelled:') : style(['red', 'bold'], 'error:');
  return [
    `${mark} ${error.message.split('\n').map(visible).join('\n')}`,
    ...fields.map((field) => `  ${style('bold', visible(field.pointer || '/'))}  ${visible(field.detail)}`),
    ...(known.length > 0 && error.exitCode !== EXIT.cancelled ? [`  ${style('dim', known.join('  ·  '))}`] : []),
    ...(hint ? [`  ${style('cyan', 'next:')} ${visible(hint)}`] : []),
  ];
}

/** Any thrown value as a CliError; a programming error keeps its message, without a stack. */
export function toCliError(failure: unknown): CliError {
  if (failure instanceof CliError) return failure;
  const code = codeOf(failure);
  const message = failure instanceof Error ? failure.message : String(failure);
  const fault = writeFault(failure);
  if (fault !== undefined)
    return new CliError('file_not_written', EXIT.failed, `Cannot write the file: ${fault}.`, {
      cause: failure,
      hint: 'make room or choose another place, then run it again',
    });
  if (code === 'ENOENT') return new CliError('file_not_found', EXIT.usage, message);
  if (code === 'EACCES' || code === 'EPERM') return new CliError('file_denied', EXIT.failed, message);
  return new CliError('unexpected', EXIT.failed, message, {
    hint: 'rerun with --debug and report the problem',
    cause: failure,
  });
}
