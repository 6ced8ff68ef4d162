import { type DestinationStream, type Logger, pino } from 'pino';
import { traceId } from '../tracing.ts';
import { currentWork } from '../work.ts';
import { describeError } from './describe-error.ts';
import { logText } from './log-text.ts';
import { redactMembers, redactText } from './redaction.ts';

/** The part of the configuration that logging needs. */
export interface LogConfig {
  log: { level: string; format?: 'auto' | 'json' | 'text' };
}

/** Lines are written together, every tenth of a second at the latest and when the process exits. */
const TOGETHER = { sync: false, minLength: 8192, periodicFlush: 100 };

/**
 * Makes the logger: JSON lines with what the work in hand is about, or text on a terminal; without secrets, by name and by looks, without raw
 * control characters, never a body.
 */
export function createLogger(config: LogConfig, stream?: DestinationStream): Logger {
  const options = {
    level: config.log.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: Record<string, unknown>) => redactMembers(members),
    },
    // Of two members with one name that of the line itself counts.
    mixin: () => ({ ...currentWork(), traceId: traceId() }),
    serializers: { err: describeError },
    hooks: { streamWrite: redactText },
  };
  return pino(options, stream ?? (logsText(config) ? textStream() : pino.destination(TOGETHER)));
}

/** Whether lines are text for people: if it is wished, or unless something else is wished on a terminal. */
export function logsText({ log: { format = 'auto' } }: LogConfig): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY === true);
}

/** Written at once: somebody is looking. */
function textStream(): DestinationStream {
  const terminal = pino.destination({ sync: true });
  return { write: (json) => void terminal.write(logText(json)) };
}
