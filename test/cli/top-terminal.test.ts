import { fileURLToPath } from 'node:url';
import test from 'ava';
import { missing, onTerminals, type TerminalStep as Step } from './payctl.ts';
import { TOKEN } from './fakes/api.ts';
import { temporaryFolder } from '../support/folder.ts';
import { startLiveServer } from './fakes/live.ts';
import { screenReader } from './screen-reader.ts';

const BIN = fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url));

const SHOWN: Step = { wait: 'order.paid' };

/** Ways to end payctl top, with the exit status or signal that the shell receives. */
const CASES: readonly [name: string, steps: Step[], ends: { status: number | null; signal: string | null }][] = [
  ['q', [SHOWN, { type: 'q' }], { status: 0, signal: null }],
  ['Ctrl-C', [SHOWN, { type: '\u0003' }], { status: 0, signal: null }],
  ['SIGINT', [SHOWN, { signal: 'SIGINT' }], { status: 130, signal: null }],
  ['SIGTERM', [SHOWN, { signal: 'SIGTERM' }], { status: null, signal: 'SIGTERM' }],
  ['SIGHUP', [SHOWN, { signal: 'SIGHUP' }], { status: null, signal: 'SIGHUP' }],
  // A session leader's process group is orphaned, so SIGTSTP does not stop it.
  ['Ctrl-Z', [SHOWN, { type: '\u001A' }, { wait: '[?1049h' }, { type: 'q' }], { status: 0, signal: null }],
  [
    'SIGCONT',
    [SHOWN, { signal: 'SIGSTOP' }, { signal: 'SIGCONT' }, { wait: '[?1049h' }, { type: 'q' }],
    { status: 0, signal: null },
  ],
  ['a resize', [SHOWN, { resize: [60, 20] }, { wait: '[2J' }, { type: 'q' }], { status: 0, signal: null }],
];

test('payctl top restores a real terminal however it ends', async (t) => {
  const lacking = missing('python3');
  if (lacking !== undefined) {
    t.log(lacking);
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
  const argv = [process.execPath, BIN, 'top'];
  const ends = await onTerminals(CASES.map(([name, steps]) => ({ name, argv, env, size: [100, 30], steps })));
  for (const [at, ended] of ends.entries()) {
    const [name, , wanted] = CASES[at]!;
    t.like(ended, { name, ...wanted }, `${name}: ${ended.output.slice(-400)}`);
    t.true(ended.same, `${name}: the terminal modes are restored`);
    const reader = screenReader(100, 30);
    reader.write(ended.output.replaceAll(/\r?\n/g, ''));
    t.deepEqual([...reader.modes].toSorted(), ['?25', '?7'], `${name}: the shell's screen and cursor are restored`);
  }
});
