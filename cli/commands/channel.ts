import type { Command } from 'commander';
import { CHANNEL_LIST } from '../../server/domain.ts';
import { addAction, addToggle } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Finding, atTarget, drawFindings } from '../findings.ts';
import { examples } from '../options.ts';
import { type RowFlags, printList, projectFlag, projectQuery, rowPath } from '../resource.ts';
import type { Change } from '../safety.ts';
import { type Row, type View, plain } from '../values.ts';
import { channel, defineSet, printConfig, printRegistrations } from './channel-set.ts';
import { fixOf, isSilent, networkAdvice } from './doctor/finding.ts';

function defineList(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun.command('list').description('List the channel configurations of a project; secrets are never shown.'),
  );
  examples(command, 'payctl channel list', 'payctl channel list --project shop-eu --json').action(
    (flags: { project?: string }) => runList(context(), flags),
  );
}

function runList(context: Context, { project }: { project?: string }): Promise<void> {
  return printList(context, `${channel.path}/list`, { project }, channel.view, {});
}

const MARKS: Readonly<Record<string, Finding['status']>> = { ok: 'ok', failed: 'failed' };

const CHECK_LINES: View = {
  noun: 'check',
  id: 'name',
  columns: ['about', 'name', 'status', 'field', 'code', 'message', 'supportId'].map((field) => ({ field })),
};

async function printChecks(context: Context, payWay: string, checks: readonly Row[], inProject: string): Promise<void> {
  const { print, terminal } = context;
  if (print.format === 'table') {
    const findings = atTarget(
      checks.map((check) => findingOf(payWay, check, inProject)),
      context,
    );
    return terminal.out.write(drawFindings(findings, terminal.out));
  }
  await print.list(checks, CHECK_LINES);
}

function findingOf(payWay: string, check: Row, inProject: string): Finding {
  const [name, word, field, code, message, supportId] = ['name', 'status', 'field', 'code', 'message', 'supportId'].map(
    (member) => plain(check[member]),
  ) as [string, string, string, string, string, string];
  const status = MARKS[word] ?? 'degraded';
  const facts = status === 'ok' ? [] : [code, field && `change ${field}`, supportId && `support id ${supportId}`];
  const known = facts.filter(Boolean).join(', ');
  const words = message || (status === 'ok' ? 'works' : word);
  const detail = known ? `${words} (${known})` : words;
  return { check: name, status, detail, fix: status !== 'ok' && field ? fixOf(payWay, field, inProject) : null };
}

const TESTED: View = {
  noun: 'channel',
  id: 'payWay',
  columns: [{ field: 'payWay', kind: 'id' }, { field: 'ok', kind: 'yesno' }, { field: 'field' }, { field: 'message' }],
};

/** All products, or those of the given scenes (ways to pay, e.g. `qr`). Without --products no product is tested. */
function productsOf({ products }: Row): Pick<Change, 'body'> {
  if (products === undefined) return {};
  const isAll = products === true || products === 'all';
  return {
    body: {
      products: isAll
        ? 'all'
        : String(products)
            .split(',')
            .map((scene) => scene.trim()),
    },
  };
}

async function printTest(context: Context, row: Row, payWay: string, { project }: RowFlags): Promise<void> {
  const { print } = context;
  const checks = Array.isArray(row['checks']) ? (row['checks'] as Row[]) : [];
  const inProject = project === undefined ? '' : ` --project ${project}`;
  const isForPeople = ['table', 'tsv'].includes(print.format) && !print.fields && context.flags.quiet !== true;
  if (isForPeople && checks.length > 0) await printChecks(context, payWay, checks, inProject);
  else await print.item({ payWay, ...row }, TESTED);
  await printRegistrations(context, row['registrations']);
  if (row['ok'] !== false) return;
  const message = `${payWay}: ${String(row['message'] ?? 'the test request was refused')}`;
  const field = typeof row['field'] === 'string' ? row['field'] : '';
  const code = plain(row['code']);
  const hint = isSilent(code) ? networkAdvice(code, message) : fixOf(payWay, field, inProject);
  throw new CliError('channel_test_failed', EXIT.failed, message, { hint });
}

/** Adds the subcommands of `payctl channel`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(`Manage the ${CHANNEL_LIST} configurations, one per project and channel.`);
  defineList(noun, context);
  defineGet(noun, context);
  defineSet(noun, context);
  addAction(noun, context, channel, {
    verb: 'test',
    words:
      'Test each credential and webhook of a stored configuration with signed requests that move no money. Exits with 1 and names the fault if a test fails.',
    lines: [
      'payctl channel test alipay',
      'payctl channel test wechat --products qr,h5',
      'payctl channel test wechat --project shop-eu --json',
    ],
    flags: (command) =>
      command.option(
        '--products [scenes]',
        'also test products, all or for some scenes (qr,h5), with small orders that cannot be paid and are closed at once',
      ),
    request: (payWay, _body, _context, flags) => ({ what: `test ${payWay}`, ...productsOf(flags) }),
    print: printTest,
  });
  addToggle(
    noun,
    context,
    channel,
    {
      enable: ['payctl channel enable alipay', 'payctl channel enable alipay --project shop-eu --confirm alipay'],
      disable: ['payctl channel disable alipay', 'payctl channel disable alipay --project shop-eu --confirm alipay'],
    },
    (verb) =>
      verb === 'enable'
        ? { words: 'Accept new orders on a channel again.' }
        : {
            words:
              'Stop accepting new orders on a channel; queries, closes, refunds and notifications continue. For a live channel, type its name to confirm.',
            async request(payWay, _body, { api }, flags) {
              const { mode } = await api.get(rowPath(channel, payWay), projectQuery(channel, flags));
              return mode === 'live' ? { risk: 'severe' } : {};
            },
          },
  );
}

function defineGet(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('get')
      .description('Show one channel configuration, and the registrations that its scenes need at the channel.')
      .argument('<payWay>'),
  );
  examples(command, 'payctl channel get alipay', 'payctl channel get wechat --project shop-eu --json').action(
    (payWay: string, flags: { project?: string }) => runGet(context(), payWay, flags),
  );
}

async function runGet(context: Context, payWay: string, { project }: { project?: string }): Promise<void> {
  const row = await context.api.get(rowPath(channel, payWay), { project });
  await printConfig(context, row, channel.view);
}
