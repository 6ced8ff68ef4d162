import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from './context.ts';
import { CliError, EXIT } from './errors.ts';
import type { Change, ChangeFlags } from './safety.ts';
import { openSecretSink } from './secrets.ts';
import type { Row, View } from './values.ts';

interface Rotation {
  /** Name of the response field with the new secret. */
  field: string;
  view: View;
  /** The command to rotate again, for error messages. */
  again: string;
  /** Fields that payctl prints in addition to the response, because the response does not contain them. */
  more?: Row;
}

/** Maximum attempts to activate the secret. Repeating the request is harmless. */
const TRIES = 3;

/**
 * Rotates a secret: the service prepares it, payctl writes it to its destination, then the service activates it. Until
 * then the old secret stays fully valid. Returns false after --dry-run.
 */
export async function rotate(
  context: Context,
  request: Change,
  options: ChangeFlags & { secretFile?: string },
  { field, view, again, more }: Rotation,
): Promise<boolean> {
  const { change, flags, run } = context;
  if (options.dryRun) {
    await change(request, options);
    return false;
  }
  const sink = await openSecretSink({ ...context, quiet: flags.quiet === true }, options, field);
  try {
    const answer = await change({ ...request, body: { ...(request.body as Row), prepare: true } }, options);
    delete run.completedChange;
    if (!answer) return false;
    const row = { ...more, ...answer };
    await sink.write(row, view, again);
    await takeEffect(context, { ...request, body: { ...(request.body as Row), secret: answer[field] } }, again).catch(
      async (error: unknown) => {
        if (!isOpen(error)) await sink.withdraw();
        throw error;
      },
    );
    run.completedChange = request.what;
    await sink.printRest(row, view);
    return true;
  } finally {
    await sink.discard();
  }
}

async function takeEffect(
  { api, retryPause }: Context,
  { method, path, query, body }: Change,
  again: string,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await api.data({ method, path, body, ...(query && { query }) });
      return;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      if (error.exitCode === EXIT.tryAgain && tries < TRIES) {
        await wait(retryPause(tries - 1));
        continue;
      }
      const { code, exitCode, message, options } = error;
      const state = isOpen(error)
        ? 'Whether the new secret has taken effect is unknown'
        : 'The new secret was written, but did not take effect; the old one stays valid';
      throw new CliError(code, exitCode, `${state}: ${message}`, { ...options, hint: `rotate once more: ${again}` });
    }
  }
}

/** Whether it is unknown if the service executed the request. */
function isOpen(error: unknown): boolean {
  return error instanceof CliError && (error.exitCode === EXIT.tryAgain || error.exitCode === EXIT.cancelled);
}
