import { isOutside } from './faults.ts';

/** What the log says of an error. */
export interface ErrorDescription {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
}

/**
 * What may be logged of an error: its class, code, a short message and where it happened; no statement with its values. What the world
 * outside does (time-outs, broken connections) happens nowhere in particular.
 */
export function describeError(error: unknown): ErrorDescription {
  return describe(error, !isOutside(error), 0);
}

function describe(error: unknown, withStack: boolean, depth: number): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    code: code === undefined ? undefined : String(code),
    message: withoutStatement(error.message),
    stack: withStack ? placesOf(error) : undefined,
    cause: error.cause === undefined || depth > 3 ? undefined : describe(error.cause, withStack, depth + 1),
  };
}

function placesOf({ stack }: Error): string | undefined {
  return stack
    ?.split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

/** The database layer puts the whole statement, values included, before the reason. */
function withoutStatement(message: string): string {
  const statement = /^\s*(?:insert|update|delete|select|with|begin|commit|create|alter)\b[^]* - ([^]*)$/i.exec(message);
  return (statement?.[1] ?? message).slice(0, 500);
}
