import { PassThrough } from 'node:stream';
import { main } from '../../cli/main.ts';
import type { Streams } from '../../cli/terminal.ts';

// Runs payctl on a simulated terminal in its own process, and writes the CPU and wall time to stderr.
const { argv, columns, rows } = JSON.parse(process.env['PAY_TEST_TOP'] ?? '{}') as {
  argv: string[];
  columns: number;
  rows: number;
};
const stdin: Streams['stdin'] = Object.assign(process.stdin, { isTTY: true, setRawMode: () => {} });
const stdout = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
stdout.pipe(process.stdout);
const before = process.cpuUsage();
const begun = performance.now();
const code = await main(
  argv,
  { stdin, stdout, stderr: process.stderr, env: process.env, cwd: process.cwd() },
  { retryPause: () => 20 },
);
const { user, system } = process.cpuUsage(before);
process.stderr.write(`${JSON.stringify({ cpuMs: (user + system) / 1000, ms: performance.now() - begun })}\n`);
process.exitCode = code;
