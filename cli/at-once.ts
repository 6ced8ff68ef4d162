import type { Streams } from './terminal.ts';
import { OutputLost } from './whole-write.ts';

/**
 * Prints the version or the help without the parser and the compile cache, which take longer to load. Returns false if
 * the arguments ask for something else.
 */
export async function answerAtOnce(argv: readonly string[], env: Streams['env']): Promise<boolean> {
  const last = argv.at(-1) ?? '--help';
  if (argv.length === 1 && (last === '--version' || last === '-V')) {
    const { packageVersion } = await import('./version.ts');
    await new Promise<void>((resolve, reject) => {
      writeToStdout(`${packageVersion()}\n`, (error) =>
        error && error.code !== 'EPIPE' ? reject(new OutputLost(error)) : resolve(),
      );
    });
    return true;
  }
  if (last !== '--help' && last !== '-h') return false;
  const { printPrebuiltHelp } = await import('./prebuilt-help.ts');
  return printPrebuiltHelp(argv, { stdout: openStdout(), env });
}

/** A stdout that is no terminal has neither colours nor a width. Its stream would take 5 ms to load. */
function openStdout(): Streams['stdout'] {
  const { fstatSync } = process.getBuiltinModule('node:fs');
  if (fstatSync(1).isCharacterDevice()) return process.stdout;
  return { on() {}, write: writeToStdout } as unknown as Streams['stdout'];
}

/** Writes at once. What a full pipe does not accept is left to the stream of Node.js, which waits. */
function writeToStdout(text: string, done: (error?: NodeJS.ErrnoException | null) => void): void {
  const { writeSync } = process.getBuiltinModule('node:fs');
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
    done();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') process.stdout.on('error', () => {}).write(rest, done);
    else done(error as NodeJS.ErrnoException);
  }
}
