import { readdirSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { printPrebuiltHelp } from '../../cli/prebuilt-help.ts';
import { writeHelpFiles } from '../../cli/help-files.ts';
import { main } from '../../cli/main.ts';
import type { Streams } from '../../cli/terminal.ts';
import { program } from './examples.ts';
import { temporaryFolder } from '../support/folder.ts';

/** Every path to a command, by names and aliases. */
function pathsBelow(command: typeof program, path: readonly string[] = []): string[][] {
  return command.commands.flatMap((child) =>
    [child.name(), ...child.aliases()].flatMap((name) => [[...path, name], ...pathsBelow(child, [...path, name])]),
  );
}

interface Look {
  columns?: number;
  env: Record<string, string>;
}

/** Terminals of several widths, with and without colours, and a pipe. */
const LOOKS: readonly Look[] = [
  { columns: 80, env: {} },
  { columns: 120, env: { NO_COLOR: '1' } },
  { columns: 200, env: { TERM: 'dumb' } },
  { env: {} },
  { env: { COLUMNS: '44', FORCE_COLOR: '1' } },
];

function streams({ columns, env }: Look): { given: Streams; written: () => string } {
  const open = () => Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const [stdin, stdout, stderr] = [open(), open(), open()];
  return {
    given: { stdin, stdout, stderr, env: { ...env, PAYCTL_CONFIG_DIR: '/nonexistent' }, cwd: '/' },
    written: () => String(stdout.read() ?? ''),
  };
}

async function filesOf(t: Parameters<typeof temporaryFolder>[0]): Promise<URL> {
  const folder = temporaryFolder(t);
  await writeHelpFiles(folder);
  return pathToFileURL(`${folder}/`);
}

test('prebuilt help equals the help of the parser for every command and terminal', async (t) => {
  const files = await filesOf(t);
  const paths = pathsBelow(program);
  t.true(paths.length > 150, `${paths.length} commands`);
  for (const [at, path] of [[], ...paths].entries())
    for (const look of at === 0 ? LOOKS : [LOOKS[at % LOOKS.length]!, LOOKS[(at + 2) % LOOKS.length]!]) {
      const argv = [...path, at % 2 === 0 ? '--help' : '-h'];
      const [quick, slow] = [streams(look), streams(look)];
      t.true(await printPrebuiltHelp(argv, quick.given, files), argv.join(' '));
      t.is(await main(argv, slow.given), 0, argv.join(' '));
      t.is(quick.written(), slow.written(), argv.join(' '));
    }
  const none = [streams({ env: {} }), streams({ env: {} })] as const;
  t.true(await printPrebuiltHelp([], none[0].given, files));
  await main([], none[1].given);
  t.is(none[0].written(), none[1].written());
});

test('arguments that are not exactly a command before --help are left to the parser', async (t) => {
  const files = await filesOf(t);
  for (const argv of [
    ['nonsense', '--help'],
    ['order', 'nonsense', '--help'],
    ['order', 'get', 'P1', '--help'],
    ['--color', 'always', '--help'],
    ['constructor', '--help'],
    ['order', '__proto__', '--help'],
    ['../index', '--help'],
  ]) {
    const { given, written } = streams({ env: {} });
    t.false(await printPrebuiltHelp(argv, given, files), argv.join(' '));
    t.is(written(), '');
  }
});

test('help is left to the parser when no prebuilt files exist', async (t) => {
  const folder = temporaryFolder(t);
  t.deepEqual(readdirSync(folder), []);
  t.false(await printPrebuiltHelp(['--help'], streams({ env: {} }).given, pathToFileURL(`${folder}/`)));
});
