import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from './context.ts';
import { CliError, EXIT } from './errors.ts';
import type { Change, ChangeFlags } from './safety.ts';
import { openSecretSink } from './secrets.ts';
import type { Row, View } from './values.ts';

/** The secret of a rotation, and how it is shown. */
interface Rotation {
  /** The member with the secret. */
  field: string;
  view: View;
  /** The command that rotates once more. */
  again: string;
  /** Members of the row that the answer lacks. */
  more?: Row;
}

/** How often the second step is sent; it may be repeated without harm. */
const TRIES = 3;

/**
 * Rotates a secret so that the old one ends only after the new one was written: the service prepares it, and it takes effect when
 * it comes back. Says whether it was done.
 */
export async function rotate(
  context: Context,
  request: Change,
  options: ChangeFlags & { secretFile?: string },
  { field, view, again, more }: Rotation,
): Promise<boolean> {
  const { change, flags, known } = context;
  if (options.dryRun) {
    await change(request, options);
    return false;
  }
  const sink = await openSecretSink({ ...context, quiet: flags.quiet === true }, options, field);
  try {
    const answer = await change({ ...request, body: { ...(request.body as Row), prepare: true } }, options);
    delete known.done;
    if (!answer) return false;
    const row = { ...more, ...answer };
    await sink.keep(row, view, again);
    await takeEffect(context, { ...request, body: { ...(request.body as Row), secret: answer[field] } }, again).catch(
      async (error: unknown) => {
        if (!isOpen(error)) await sink.withdraw();
        throw error;
      },
    );
    known.done = request.what;
    await sink.tell(row, view);
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

/** Whether the request may have been carried out. */
function isOpen(error: unknown): boolean {
  return error instanceof CliError && (error.exitCode === EXIT.tryAgain || error.exitCode === EXIT.cancelled);
}
