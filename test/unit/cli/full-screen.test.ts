import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import test from 'ava';
import { type FullScreen, type Key, keyOf, withFullScreen } from '../../../cli/screen/full-screen.ts';
import { createTerminal, type Signals, type Streams } from '../../../cli/terminal.ts';
import { screenReader } from '../../cli/screen-reader.ts';

/** A terminal that records its changes, and a process whose signals come from the test. */
function stage(columns = 20, rows = 4) {
  const reader = screenReader(columns, rows);
  const raw: boolean[] = [];
  const raised: string[] = [];
  const sent = new EventEmitter();
  const stdin: Streams['stdin'] = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(on: boolean) {
      raw.push(on);
      stdin.isRaw = on;
    },
  });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  stdout.setEncoding('utf8').on('data', (text: string) => reader.write(text));
  const signals: Signals = {
    on: (name, listener) => sent.on(name, listener),
    off: (name, listener) => sent.off(name, listener),
    raise: (name, to) => void raised.push(`${name} ${to}`),
  };
  const terminal = createTerminal({ stdin, stdout, stderr: new PassThrough(), env: {}, cwd: '/', signals });
  return { terminal, stdin, stdout, reader, raw, raised, sent };
}

const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

/** The modes of a terminal after a shell. */
const AS_IT_WAS = ['?25', '?7'];
const LISTENED = ['SIGTERM', 'SIGHUP', 'SIGTSTP', 'SIGCONT', 'exit'];

function open(of: ReturnType<typeof stage>, onKey: (key: Key) => void = () => {}) {
  const quit = Promise.withResolvers<string>();
  const opened = Promise.withResolvers<FullScreen>();
  let resizes = 0;
  const done = withFullScreen(of.terminal, { onKey, onResize: () => void (resizes += 1) }, (screen) => {
    opened.resolve(screen);
    return quit.promise;
  });
  return { quit, done, opened: opened.promise, resizes: () => resizes };
}

test('the terminal modes are restored after success and after failure', async (t) => {
  for (const fails of [false, true]) {
    const of = stage();
    const { quit, done, opened } = open(of);
    const screen = await opened;
    screen.draw(['hello', '茶']);
    await settle();
    t.deepEqual([...of.reader.modes], ['?1049']);
    t.deepEqual(of.reader.rows(), ['hello', '茶', '', '']);
    t.true(of.stdin.isRaw);
    if (fails) quit.reject(new Error('broken'));
    else quit.resolve('done');
    if (fails) await t.throwsAsync(done, { message: 'broken' });
    else t.is(await done, 'done');
    await settle();
    t.deepEqual([...of.reader.modes].toSorted(), AS_IT_WAS);
    t.false(of.stdin.isRaw);
    t.true(of.stdin.isPaused());
    t.is(of.stdin.listenerCount('keypress'), 0);
    for (const name of LISTENED) t.is(of.sent.listenerCount(name), 0, name);
    t.is(of.stdout.listenerCount('resize'), 0);
    t.deepEqual(of.reader.strange, []);
  }
});

for (const name of ['SIGTERM', 'SIGHUP'] as const)
  test(`${name} restores the terminal first and then ends the process as by default`, async (t) => {
    const of = stage();
    await open(of).opened;
    of.sent.emit(name);
    await settle();
    t.deepEqual([...of.reader.modes].toSorted(), AS_IT_WAS);
    t.false(of.stdin.isRaw);
    t.deepEqual(of.raised, [`${name} process`]);
    for (const one of LISTENED) t.is(of.sent.listenerCount(one), 0, one);
  });

test('a process that exits after an error restores the terminal', async (t) => {
  const of = stage();
  await open(of).opened;
  of.sent.emit('exit');
  await settle();
  t.deepEqual([...of.reader.modes].toSorted(), AS_IT_WAS);
  t.false(of.stdin.isRaw);
});

test('Ctrl-Z returns the terminal to the shell, and a resume takes it again and redraws everything', async (t) => {
  for (const how of ['key', 'signal'] as const) {
    const of = stage();
    const { opened, resizes, quit, done } = open(of);
    const screen = await opened;
    screen.draw(['before']);
    await settle();
    if (how === 'key') screen.suspend();
    else of.sent.emit('SIGTSTP');
    await settle();
    t.deepEqual([...of.reader.modes].toSorted(), AS_IT_WAS);
    t.false(of.stdin.isRaw);
    t.deepEqual(of.raised, ['SIGTSTP group']);
    t.is(of.sent.listenerCount('SIGTSTP'), 0, 'it would stop nothing while somebody listens');
    screen.draw(['not on the screen of the shell']);
    await settle();
    t.is(of.reader.rows()[0], 'before');
    of.reader.write('\u001B[2J\u001B[1;1Hthe shell');
    of.sent.emit('SIGCONT');
    await settle();
    t.is(resizes(), 1);
    screen.draw(['after']);
    await settle();
    t.deepEqual(of.reader.rows(), ['after', '', '', '']);
    t.deepEqual([...of.reader.modes], ['?1049']);
    t.true(of.stdin.isRaw);
    t.is(of.sent.listenerCount('SIGTSTP'), 1);
    quit.resolve('');
    await done;
  }
});

test('Ctrl-Z resumes immediately if no shell can stop the process', async (t) => {
  const of = stage();
  const { opened, resizes, quit, done } = open(of);
  const screen = await opened;
  screen.suspend();
  while (resizes() === 0) await settle();
  await settle();
  t.deepEqual([...of.reader.modes], ['?1049']);
  t.true(of.stdin.isRaw);
  quit.resolve('');
  await done;
});

test('a process stopped from outside takes the terminal again', async (t) => {
  const of = stage();
  const { opened, quit, done } = open(of);
  const screen = await opened;
  // SIGSTOP is not delivered to the process, and the shell has reset the terminal mode.
  of.stdin.isRaw = false;
  of.sent.emit('SIGCONT');
  screen.draw(['on']);
  await settle();
  t.true(of.stdin.isRaw);
  t.is(of.reader.rows()[0], 'on');
  quit.resolve('');
  await done;
});

test('a resize redraws everything for the new size', async (t) => {
  const of = stage(20, 4);
  const { opened, resizes, quit, done } = open(of);
  const screen = await opened;
  screen.draw(['a long line of words']);
  await settle();
  Object.assign(of.stdout, { columns: 6, rows: 2 });
  of.stdout.emit('resize');
  t.is(resizes(), 1);
  screen.draw(['a long line of words', 'two', 'three']);
  await settle();
  t.deepEqual(of.reader.rows().slice(0, 3), ['a long', 'two', '']);
  quit.resolve('');
  await done;
});

test('a slow terminal receives only the newest lines', async (t) => {
  const of = stage(80, 4);
  of.stdout.pause();
  const { opened, quit, done } = open(of);
  const screen = await opened;
  for (let turn = 0; turn < 5_000; turn++) screen.draw([`line ${turn} ${'x'.repeat(60)}`]);
  t.true(of.stdout.readableLength + of.stdout.writableLength < 64 * 1024, 'nothing piles up');
  of.stdout.resume();
  while (!of.reader.rows()[0]!.startsWith('line 4999')) await settle();
  quit.resolve('');
  await done;
  t.pass();
});

test('keys are reported by name, and text as typed', async (t) => {
  const of = stage();
  const keys: Key[] = [];
  const { opened, quit, done } = open(of, (key) => void keys.push(key));
  await opened;
  of.stdin.push('q\u001B[A\u001BOB\t\u001B[Z\r\u007F/红\u0003\u001A\u001B[5~');
  while (keys.length < 12) await settle();
  t.deepEqual(
    keys.map(({ name, ctrl, shift, text }) => [name, text, `${ctrl ? 'c' : ''}${shift ? 's' : ''}`]),
    [
      ['q', 'q', ''],
      ['up', '', ''],
      ['down', '', ''],
      ['tab', '', ''],
      ['tab', '', 's'],
      ['return', '', ''],
      ['backspace', '', ''],
      ['/', '/', ''],
      ['红', '红', ''],
      ['c', '', 'c'],
      ['z', '', 'c'],
      ['pageup', '', ''],
    ],
  );
  keys.length = 0;
  of.stdin.push('\u001B');
  while (keys.length === 0) await settle();
  t.is(keys[0]!.name, 'escape');
  t.is(keyOf(undefined, {}).name, '');
  quit.resolve('');
  await done;
});
