// Runs payctl command lines one after the other in a process that cannot write to files, each with a regular file as its stdout.
// Prints one JSON result per command line to the process's own stdout, which is a pipe.
import { closeSync, openSync, writeSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { main } from '../../cli/main.ts';
import { collector } from './payctl.ts';

/** A command line and the file that is its stdout. */
export interface LimitedRun {
  argv: string[];
  cwd: string;
  stdin: string;
  env: Record<string, string | undefined>;
  file: string;
}

/** The exit code of a command line and its error output. */
export interface LimitedResult {
  code: number;
  stderr: string;
}

async function runOn({ argv, cwd, stdin, env, file }: LimitedRun): Promise<LimitedResult> {
  const fd = openSync(file, 'w');
  const write = (chunk: Buffer, _encoding: string, done: (error?: Error) => void) => {
    try {
      writeSync(fd, chunk);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
  const err = collector();
  const streams = {
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]) as typeof process.stdin,
    stdout: Object.assign(new Writable({ write }), { fd }),
    stderr: err.stream,
    env,
    cwd,
  };
  const code = await main(argv, streams);
  closeSync(fd);
  return { code, stderr: err.text() };
}

if (import.meta.main)
  for (const one of (await json(process.stdin)) as LimitedRun[])
    process.stdout.write(`${JSON.stringify(await runOn(one))}\n`);
