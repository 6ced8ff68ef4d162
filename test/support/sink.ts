import { createTerminal, type Sink } from '../../cli/terminal.ts';
import { collector } from './cli.ts';

/** The standard output of a terminal of this width, or of a pipe, with what came out. */
export function sinkOf(columns?: number): { sink: Sink; text: () => string } {
  const out = collector(columns);
  const streams = { stdin: process.stdin, stdout: out.stream, stderr: collector().stream, env: {}, cwd: '/' };
  return { sink: createTerminal(streams).out, text: out.text };
}
