import { PassThrough } from 'node:stream';
import test from 'ava';
import { createPrompts } from '../../../cli/prompts.ts';
import { createTerminal } from '../../../cli/terminal.ts';
import { collector } from '../../cli/payctl.ts';
import { drawnByOthers } from '../../cli/hostile.ts';

/** A terminal with simulated keys. */
function keyboard(options: { env?: Record<string, string>; stderrTerminal?: boolean; input?: boolean } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const out = collector(80);
  const err = collector(options.stderrTerminal === false ? undefined : 80);
  const terminal = createTerminal(
    { stdin, stdout: out.stream, stderr: err.stream, env: options.env ?? {}, cwd: '/' },
    { input: options.input ?? true },
  );
  /** Sends keys once the question is shown. */
  const press = async (after: string, keys: string): Promise<void> => {
    while (!err.text().includes(after)) await new Promise((resolve) => err.stream.once('data', resolve));
    stdin.write(keys);
  };
  return { prompts: createPrompts(terminal), press, out: out.text, err: err.text };
}

test('a question is written to stderr and never to stdout', async (t) => {
  const { prompts, press, out, err } = keyboard();
  const answer = prompts.text({ message: 'Your name', flag: '--name' });
  await press('Your name', 'alice\r');
  t.is(await answer, 'alice');
  t.is(out(), '');
  t.regex(err(), /Your name/);
});

test('a typed secret is not shown', async (t) => {
  const { prompts, press, err } = keyboard();
  const answer = prompts.secret({ message: 'Password', flag: '--password-stdin' });
  await press('Password', 'hidden words\r');
  t.is(await answer, 'hidden words');
  t.false(err().includes('hidden'));
});

test('yes is never the default', async (t) => {
  const { prompts, press } = keyboard();
  const answer = prompts.yes({ message: 'Really', flag: '-y' });
  await press('Really', '\r');
  t.false(await answer);
});

test('an option is chosen with the arrow keys', async (t) => {
  const { prompts, press } = keyboard();
  const answer = prompts.choose({ message: 'Which', flag: '--mode' }, [{ value: 'one' }, { value: 'two' }]);
  await press('Which', '\u001b[B\r');
  t.is(await answer, 'two');
});

const ATTACK = 'a\u001B]0;title\u0007\u009B31m\u202E';
const SHOWN = 'a\\u001b]0;title\\u0007\\u009b31m\\u202e';

test('control characters in a choice are shown escaped, and the answer is the original value', async (t) => {
  const { prompts, press, err } = keyboard();
  const answer = prompts.choose({ message: 'Which', flag: '--project' }, [{ value: ATTACK }, { value: 'second' }]);
  await press('second', '\r');
  t.is(await answer, ATTACK);
  t.is(drawnByOthers(err()), undefined);
  t.true(err().includes(SHOWN));
});

test('a default answer is returned as shown', async (t) => {
  const { prompts, press, err } = keyboard();
  const answer = prompts.text({ message: `How much, ${ATTACK}`, flag: '--amount', default: ATTACK });
  await press('How much', '\r');
  t.is(await answer, SHOWN);
  t.is(drawnByOthers(err()), undefined);
});

for (const [name, key] of [
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
] as const) {
  test(`${name} cancels with 130`, async (t) => {
    const { prompts, press } = keyboard();
    const answer = prompts.text({ message: 'Your name', flag: '--name' });
    await press('Your name', key);
    const error = await t.throwsAsync(answer);
    t.is((error as { exitCode?: number } | undefined)?.exitCode, 130);
  });
}

for (const [name, options] of [
  ['CI is set', { env: { CI: 'true' } }],
  ['--no-input', { input: false }],
  ['stderr is no terminal', { stderrTerminal: false }],
] as const) {
  test(`no question is shown if ${name}: exit 2 names the flag`, async (t) => {
    const { prompts, out, err } = keyboard(options);
    t.false(prompts.possible);
    const error = await t.throwsAsync(prompts.text({ message: 'Your name', flag: '--name' }), { message: /--name/ });
    t.is((error as { exitCode?: number } | undefined)?.exitCode, 2);
    t.is(out() + err(), '');
  });
}
