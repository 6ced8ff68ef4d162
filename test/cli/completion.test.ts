import test from 'ava';
import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nouns } from '../../cli/commands/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { missing, onTerminals, runPayctl } from './payctl.ts';

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`completion ${shell} knows every noun`, async (t) => {
    const { code, stdout } = await runPayctl(['completion', shell]);
    t.is(code, 0);
    for (const { name } of nouns) t.true(stdout.includes(name), name);
    t.true(stdout.includes('rotate-secret'));
  });
}

test('the bash completion completes nouns, verbs, flags, the words of flags, and what follows help', async (t) => {
  const { stdout } = await runPayctl(['completion', 'bash']);
  const complete = async (...words: string[]): Promise<string> => {
    const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _payctl; echo "\${COMPREPLY[*]}"`;
    const shell = await promisify(execFile)('bash', ['-c', script, 'bash', 'payctl', ...words]);
    return shell.stdout.trim();
  };
  const verbs = 'list get timeline capture close sync export';
  t.is(await complete('ord'), 'order');
  t.is(await complete('order', ''), verbs);
  t.is(await complete('orders', ''), verbs);
  t.is(await complete('order', 'list', '--st'), '--status');
  t.is(await complete('order', 'list', '--status', 'pa'), 'paid partially_refunded');
  t.is(await complete('order', 'list', '--status', '=', 'pa'), 'paid partially_refunded');
  t.regex(await complete('order', 'list', '--status', '='), /paid/);
  t.is(await complete('--context', '=', 'app', 'order', ''), verbs);
  t.is(await complete('app', 'list', '-o', 'js'), 'json jsonl');
  t.is(await complete('-o', ''), 'table tsv json jsonl env name');
  t.is(await complete('-o', 'json', 'order', ''), verbs);
  t.is(await complete('help', 'ord'), 'order');
  t.is(await complete('help', 'exit'), 'exit-codes');
  t.is(await complete('help', 'boot'), 'bootstrap');
  t.is(await complete('help', 'order', ''), verbs);
  t.is(await complete('help', 'orders', ''), verbs);
});

/** How a shell loads the completion from the file `script`, and whether it shows descriptions. */
const SHELLS = {
  'bash without its package of completions': {
    argv: ['bash', '--norc', '--noprofile', '-i'],
    script: '.bash_completion',
    begin: '. ~/.bash_completion; ',
    tells: false,
  },
  'bash, from a pipe': {
    argv: ['bash', '--norc', '--noprofile', '-i'],
    script: 'script',
    begin: 'source <(cat ~/script); ',
    tells: false,
  },
  'zsh, by its function path': { argv: ['zsh', '-i'], script: 'functions/_payctl', begin: '', tells: true },
  'zsh, from a pipe': { argv: ['zsh', '-i'], script: 'script', begin: 'source <(cat ~/script); ', tells: true },
  'fish, by its folder': {
    argv: ['fish', '--private', '-i'],
    script: '.config/fish/completions/payctl.fish',
    begin: '',
    tells: true,
  },
  'fish, from a pipe': {
    argv: ['fish', '--private', '-i'],
    script: 'script',
    begin: 'cat ~/script | source; ',
    tells: true,
  },
} as const;

/** The typed line, and the arguments that payctl then gets. */
const LINES = (home: string) =>
  [
    ['payctl ord\tli\t--stat\tclosed\r', 'order list --status closed'],
    ['payctl order list --pay-way ali\t\r', 'order list --pay-way alipay'],
    ['payctl orders li\t--status=pai\t\r', 'orders list --status=paid'],
    ['payctl -C app ord\tlis\t\r', '-C app order list'],
    ['payctl -o tab\torder tim\t\r', '-o table order timeline'],
    ['payctl app list --col\tneve\t\r', 'app list --color never'],
    ['payctl completion zs\t\r', 'completion zsh'],
    ['payctl help ord\ttim\t\r', 'help order timeline'],
    ['payctl help exi\t\r', 'help exit-codes'],
    [`payctl api --input ${home}/chan\t\r`, `api --input ${home}/channel.json`],
  ] as const;

/** The line typed before Tab is pressed twice, and a word and a description that the shell then lists. */
const LISTS = [
  ['payctl order ', 'timeline', 'Show the history'],
  ['payctl app ', 'rotate-secret', 'Create an API application'],
  ['payctl -o ', 'jsonl', 'jsonl'],
  ['payctl -o json order ', 'timeline', 'Show the history'],
  ['payctl order list --status ', 'partially_refunded', 'partially_refunded'],
  ['payctl help e', 'exit-codes', 'topic'],
] as const;

for (const [name, { argv, script, begin, tells }] of Object.entries(SHELLS)) {
  const [shell] = argv;
  test(`in a real ${name}: Tab completes nouns, verbs, flags, their words and files${tells ? ', with descriptions' : ''}`, async (t) => {
    const lacking = missing('python3') ?? missing(shell);
    if (lacking !== undefined) {
      t.log(lacking);
      return t.pass();
    }
    const home = temporaryFolder(t, {
      [script]: (await runPayctl(['completion', shell])).stdout,
      '.zshrc': 'fpath=(~/functions $fpath); autoload -U compinit; compinit -u -D',
      'channel.json': '{}',
    });
    const folder = temporaryFolder(t, { payctl: '#!/bin/sh\necho "<$*>"\n' });
    await chmod(join(folder, 'payctl'), 0o755);
    // The shell splits each line into arguments; the test program prints them.
    const lines = LINES(home).map(([typed, ran]) => [typed, `<${ran}>`] as const);
    const [ended] = await onTerminals([
      {
        name,
        argv: ['/usr/bin/env', ...argv],
        env: {
          HOME: home,
          ZDOTDIR: home,
          XDG_CONFIG_HOME: join(home, '.config'),
          XDG_DATA_HOME: join(home, '.local'),
          PATH: `${folder}:${process.env['PATH']}`,
          TERM: 'xterm',
          LANG: 'C.UTF-8',
        },
        size: [160, 60],
        steps: [
          { type: `${begin}echo be''gun\r` },
          { wait: 'begun' },
          ...lines.flatMap(([typed, ran]) => [{ type: typed }, { wait: ran }]),
          ...LISTS.flatMap(([typed, word, description]) => [
            { type: `${typed}\t\t` },
            { wait: tells ? description : word },
            { type: '\u0015' },
          ]),
          { type: 'exit 0\r' },
        ],
      },
    ]);
    t.notRegex(ended?.output ?? '', /unrecognized|not found|error/i);
    for (const [, ran] of lines) t.true(ended?.output.includes(ran), `${ran}: ${ended?.output.slice(-2000)}`);
    t.is(ended?.status, 0);
  });
}

test('zsh without its completion system is told how to start it', async (t) => {
  const lacking = missing('zsh');
  if (lacking !== undefined) {
    t.log(lacking);
    return t.pass();
  }
  const { stdout } = await runPayctl(['completion', 'zsh']);
  const home = temporaryFolder(t, { script: stdout });
  const ran = await promisify(execFile)('zsh', ['-f', '-c', `source ${join(home, 'script')}; echo done`]);
  t.is(ran.stdout, 'done\n');
  t.is(ran.stderr, 'payctl completion: first run "autoload -U compinit && compinit"\n');
});
