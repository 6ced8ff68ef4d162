import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { credentialFiles } from '../../credential-files.ts';
import { CliError, EXIT } from '../../errors.ts';
import { changes, examples, given, json } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row, View } from '../../values.ts';

const PATH = '/api/v1/skillpay/agent-pay';

const VIEW: View = {
  noun: 'agent-pay',
  id: 'project',
  columns: [
    { field: 'project', kind: 'id' },
    { field: 'mode', kind: 'status' },
    { field: 'developerId' },
    { field: 'keyId' },
    { field: 'skills' },
    { field: 'lastSuccessAt', kind: 'time' },
    { field: 'lastFailureAt', kind: 'time' },
    { field: 'lastFailure' },
  ],
};

const TESTED: View = {
  noun: 'agent-pay',
  id: 'project',
  columns: [{ field: 'ok', kind: 'yesno' }, { field: 'message' }],
};

type Flags = Row & ChangeFlags & { project?: string; privateKeyFile?: string };

/** Adds `skillpay agent` with `get`, `set`, `test` and `delete`. */
export function define(noun: Command, context: ContextOf): void {
  const agent = noun.command('agent').description('Configure WeChat agent pay: who requests payment codes for agents.');
  const get = projectFlag(agent.command('get').description('Show the configuration, and the last answer of WeChat.'));
  examples(get, 'payctl skillpay agent get', 'payctl skillpay agent get --project shop-eu --json').action(
    (flags: Flags) => runGet(context(), flags),
  );
  defineSet(agent, context);
  const test = projectFlag(
    agent.command('test').description('Request a payment code for no order; exits with 1 if the key is refused.'),
  );
  examples(changes(test), 'payctl skillpay agent test', 'payctl skillpay agent test --json').action((flags: Flags) =>
    runTest(context(), flags),
  );
  const remove = projectFlag(
    agent.command('delete').description('Remove the configuration; codes already given still pay.'),
  );
  examples(changes(remove), 'payctl skillpay agent delete', 'payctl skillpay agent delete -y').action((flags: Flags) =>
    runRemove(context(), flags),
  );
}

function defineSet(agent: Command, context: ContextOf): void {
  const set = projectFlag(
    agent
      .command('set')
      .description(
        'Set the SkillHub developer, its key, and the skill id of each product. Omitted fields keep their values.',
      ),
  )
    .option('--developer-id <id>', 'developer at SkillHub, sh-…')
    .option('--key-id <id>', 'id of the public key at SkillHub, PUB_KEY_…')
    .option('--private-key-file <file>', 'PEM file with the private key')
    .option('--skills <json>', 'by product: {"weather":{"id":"weather-report","version":"1.0.0"}}', json);
  examples(
    changes(set),
    'payctl skillpay agent set --developer-id sh-1A2B3C4D --key-id PUB_KEY_408B07E7 --private-key-file skillhub.pem',
    'payctl skillpay agent set --skills \'{"weather":{"id":"weather-report","version":"1.0.0"}}\'',
  ).action((flags: Flags) => runSet(context(), flags));
}

const queryOf = ({ project }: Flags) => (project === undefined ? {} : { project });

/** Prints the configuration. */
export async function runGet({ api, print }: Context, flags: Flags): Promise<void> {
  await print.item(await api.get(PATH, queryOf(flags)), VIEW);
}

/** Sends what was named; the key comes from a file, never from the command line. */
export async function runSet(context: Context, flags: Flags): Promise<void> {
  const { change, print, terminal } = context;
  const { privateKeyFile: file } = flags;
  const named = given(flags, ['developerId', 'keyId', 'skills']);
  const body = { ...named, ...(file === undefined ? {} : { privateKey: await keyText(terminal, file) }) };
  const shown = { ...named, ...(file === undefined ? {} : { privateKey: '***' }) };
  const what = 'configure WeChat agent pay';
  const row = await change(
    { what, risk: 'moderate', method: 'PUT', path: PATH, query: queryOf(flags), body, shown },
    flags,
  );
  if (row) await print.item(row, VIEW);
}

async function keyText({ cwd, now }: Context['terminal'], file: string): Promise<string> {
  return (await credentialFiles(now())).text(resolve(cwd, file), file);
}

/** Tests the configuration. */
export async function runTest({ change, print }: Context, flags: Flags): Promise<void> {
  const what = 'test WeChat agent pay';
  const row = await change({ what, method: 'POST', path: `${PATH}/test`, query: queryOf(flags) }, flags);
  if (!row) return;
  await print.item(row, TESTED);
  if (row['ok'] === true) return;
  throw new CliError('agent_pay_test_failed', EXIT.failed, `WeChat agent pay: ${String(row['message'])}`, {
    hint: 'payctl skillpay agent set',
  });
}

/** Removes the configuration. */
export async function runRemove({ change, print }: Context, flags: Flags): Promise<void> {
  const what = 'remove the configuration of WeChat agent pay';
  const row = await change({ what, risk: 'moderate', method: 'DELETE', path: PATH, query: queryOf(flags) }, flags);
  if (row) await print.item(row, VIEW);
}
