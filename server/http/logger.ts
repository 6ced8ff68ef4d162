import { type DestinationStream, type Logger, pino } from 'pino';
import { redactMembers, redactText } from './redaction.ts';

/** The part of the configuration that logging needs. */
export interface LogConfig {
  log: { level: string };
}

/** Lines are written together, every tenth of a second at the latest and when the process exits. */
const destination = { sync: false, minLength: 8192, periodicFlush: 100 };

/** Makes the logger: JSON lines without secrets, by name and by looks, without raw control characters, never a body. */
export function createLogger(config: LogConfig, stream?: DestinationStream): Logger {
  const options = {
    level: config.log.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: Record<string, unknown>) => redactMembers(members),
    },
    serializers: { err: describeError },
    hooks: { streamWrite: redactText },
  };
  return stream ? pino(options, stream) : pino(options, pino.destination(destination));
}

interface ErrorDescription {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
}

/** What may be logged of an error: its class, code, a short message and where it happened; no statement with its values. */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    code: code === undefined ? undefined : String(code),
    message: withoutStatement(error.message),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .join('\n'),
    cause: error.cause === undefined || depth > 3 ? undefined : describeError(error.cause, depth + 1),
  };
}

/** The database layer puts the whole statement, values included, before the reason. */
function withoutStatement(message: string): string {
  const statement = /^\s*(?:insert|update|delete|select|with|begin|commit|create|alter)\b[^]* - ([^]*)$/i.exec(message);
  return (statement?.[1] ?? message).slice(0, 500);
}
