import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { TOKEN } from '../support/fake-api.ts';
import { temporaryFolder } from '../support/folder.ts';
import { startLiveServer } from '../support/live-server.ts';
import { screenReader } from '../support/screen-reader.ts';

const BIN = fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url));
const PTY = fileURLToPath(new URL('../support/pty.py', import.meta.url));

type Step = { wait: string } | { type: string } | { signal: string } | { resize: [number, number] };
interface Ended {
  name: string;
  same: boolean;
  status: number | null;
  signal: string | null;
  output: string;
}

const SHOWN: Step = { wait: 'order.paid' };

/** How payctl top comes to its end, and what the shell hears of it. */
const CASES: readonly [name: string, steps: Step[], ends: { status: number | null; signal: string | null }][] = [
  ['q', [SHOWN, { type: 'q' }], { status: 0, signal: null }],
  ['Ctrl-C', [SHOWN, { type: '\u0003' }], { status: 0, signal: null }],
  ['SIGINT', [SHOWN, { signal: 'SIGINT' }], { status: 130, signal: null }],
  ['SIGTERM', [SHOWN, { signal: 'SIGTERM' }], { status: null, signal: 'SIGTERM' }],
  ['SIGHUP', [SHOWN, { signal: 'SIGHUP' }], { status: null, signal: 'SIGHUP' }],
  // The terminal of a session leader is nobody's who could stop it: it goes on by itself.
  ['Ctrl-Z', [SHOWN, { type: '\u001A' }, { wait: '[?1049h' }, { type: 'q' }], { status: 0, signal: null }],
  [
    'SIGCONT',
    [SHOWN, { signal: 'SIGSTOP' }, { signal: 'SIGCONT' }, { wait: '[?1049h' }, { type: 'q' }],
    { status: 0, signal: null },
  ],
  ['a resize', [SHOWN, { resize: [60, 20] }, { wait: '[2J' }, { type: 'q' }], { status: 0, signal: null }],
];

test('a real terminal is left as it was, however payctl top ends', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) {
    t.log('Not run: this machine has no python3. Debian: apt install python3');
    return t.pass();
  }
  const server = await startLiveServer({ eventsPerSecond: 50, cuts: 0, everyMs: 200 });
  t.teardown(() => server.close());
  const env = {
    PAYCTL_CONFIG_DIR: temporaryFolder(t),
    PAYCTL_SERVER: server.url,
    PAYCTL_TOKEN: TOKEN,
    TERM: 'xterm-256color',
    COLUMNS: '',
    LINES: '',
    CI: '',
  };
  const cases = CASES.map(([name, steps]) => ({
    name,
    argv: [process.execPath, BIN, 'top'],
    env,
    size: [100, 30],
    steps,
  }));
  const child = spawn('python3', [PTY], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(cases));
  let text = '';
  for await (const part of child.stdout) text += String(part);
  for (const [at, ended] of (JSON.parse(text) as Ended[]).entries()) {
    const [name, , ends] = CASES[at]!;
    t.like(ended, { name, ...ends }, `${name}: ${ended.output.slice(-400)}`);
    t.true(ended.same, `${name}: the modes of the terminal`);
    const reader = screenReader(100, 30);
    reader.write(ended.output.replaceAll(/\r?\n/g, ''));
    t.deepEqual([...reader.modes].toSorted(), ['?25', '?7'], `${name}: the screen of the shell and its cursor`);
  }
});
