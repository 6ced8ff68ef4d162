import type { Command } from 'commander';
import { type Context, type ContextOf, DEFAULT_TIMEOUT_SECONDS } from '../context.ts';
import { chooseLanguage } from '../language.ts';
import { examples } from '../options.ts';
import { configFolder } from '../session.ts';
import type { Row, View } from '../values.ts';

const VIEW: View = {
  noun: 'setting',
  id: 'setting',
  columns: [{ field: 'setting', kind: 'id' }, { field: 'value' }, { field: 'source' }],
};

function defineExplain(noun: Command, context: ContextOf): void {
  examples(
    noun
      .command('explain')
      .description(
        'Print every payctl setting with its value and source. Precedence: flag, environment, context, default.',
      ),
    'payctl config explain',
    'payctl config explain -C prod --json',
  ).action(() => runExplain(context()));
}

/** Prints the effective settings and their sources. A token is never printed. */
async function runExplain(context: Context): Promise<void> {
  const target = await context.target();
  const { env } = context.terminal;
  const { flags } = context;
  const folder = configFolder(env);
  const spoken = chooseLanguage(flags.lang, env);
  const rows: Row[] = [
    { setting: 'context', value: target.context, source: target.sources.context },
    { setting: 'server', value: target.server, source: target.sources.server },
    { setting: 'label', value: target.label, source: target.sources.label },
    { setting: 'user', value: target.user, source: target.sources.user },
    await token(context),
    {
      setting: 'output',
      value: context.print.format,
      source:
        flags.output === undefined
          ? context.terminal.out.isTerminal
            ? 'default on a terminal'
            : 'default in a pipe'
          : sourceOf(env, 'PAYCTL_OUTPUT', flags.output),
    },
    {
      setting: 'timeout',
      value: flags.timeout ?? DEFAULT_TIMEOUT_SECONDS,
      source: flags.timeout === undefined ? 'default' : sourceOf(env, 'PAYCTL_TIMEOUT', String(flags.timeout)),
    },
    {
      setting: 'colour',
      value: flags.color ?? 'auto',
      source: flags.color ? 'flag' : env['NO_COLOR'] ? 'NO_COLOR' : env['FORCE_COLOR'] ? 'FORCE_COLOR' : 'default',
    },
    { setting: 'language', value: spoken.language, source: spoken.source },
    {
      setting: 'questions',
      value: context.terminal.canAsk ? 'possible' : 'not possible',
      source: flags.input === false ? '--no-input' : env['CI'] ? 'CI' : 'stdin and stderr',
    },
    { setting: 'folder', value: folder.path, source: folder.source },
  ];
  await context.print.list(rows, VIEW);
}

function sourceOf(env: Record<string, string | undefined>, name: string, value: string): string {
  return env[name] === value ? name : 'flag';
}

async function token({ terminal, sessions, target }: Context): Promise<Row> {
  if (terminal.env['PAYCTL_TOKEN']) return { setting: 'token', value: 'set', source: 'PAYCTL_TOKEN' };
  if (terminal.env['PAYCTL_TOKEN_FILE']) return { setting: 'token', value: 'set', source: 'PAYCTL_TOKEN_FILE' };
  const source = 'PAYCTL_CLIENT_ID';
  if (terminal.env[source]) return { setting: 'token', value: 'requested when needed', source };
  const { context } = await target();
  const session = context === null ? undefined : await sessions.session(context);
  return {
    setting: 'token',
    value: session ? `until ${session.expiresAt}${session.app ? ', then renewed' : ''}` : null,
    source: session ? `context ${context}` : 'none',
  };
}

/** Adds the subcommands of `payctl config`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Show the settings of payctl itself.');
  defineExplain(noun, context);
}
