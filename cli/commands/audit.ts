import { type Command, InvalidArgumentError } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT } from '../errors.ts';
import { drawFindings, type Finding } from '../findings.ts';
import { examples } from '../options.ts';
import { withSpinner } from '../terminal.ts';
import type { KeptTip } from '../session.ts';
import { plain, visible, type Row, type View } from '../values.ts';

const VIEW: View = {
  noun: 'check',
  id: 'check',
  columns: [{ field: 'check', kind: 'id' }, { field: 'ok', kind: 'yesno' }, { field: 'count' }, { field: 'promise' }],
};

const LEDGER_CHECK = '/api/v1/books';
/** Maximum number of violations of each check: printed (SHOWN), and in JSON output (MOST_EXAMPLES). */
const SHOWN = 5;
const MOST_EXAMPLES = 20;

/** Defines `payctl audit`. */
export function define(command: Command, context: ContextOf): void {
  command.description(
    'Verify ledger consistency: orders, refunds, coin ledgers, events and the audit log. The audit log must still contain the tip that payctl stored at the last verification. Exits with 1 if a check fails.',
  );
  examples(
    keptTipFlag(auditKnowledgeFlags(command)),
    'payctl audit',
    'payctl audit --json',
    'payctl audit --fields check,ok,count',
  ).action((options: AuditFlags) => run(context(), options));
}

export interface AuditKnowledgeFlags {
  tip?: string;
  acceptUntil?: string;
}

/** Adds `--tip` and `--accept-until`: facts about the audit log that the operator stored outside the service. */
export function auditKnowledgeFlags(command: Command): Command {
  return command
    .option('--tip <hash>', 'an audit log tip that you stored: it must still be in the log', tip)
    .option('--accept-until <id>', 'accept audit log lines of a former key, and missing lines, up to this tip', lineId);
}

export interface AuditFlags extends AuditKnowledgeFlags {
  forgetTip?: boolean;
}

/** Adds --forget-tip, for a restore from an older backup that may lack the entry whose hash payctl stored. */
export function keptTipFlag(command: Command): Command {
  return command.option(
    '--forget-tip',
    'after a restore from an older backup: store the current tip instead of the earlier one',
  );
}

function tip(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new InvalidArgumentError('Expected 64 hexadecimal digits.');
  return text;
}

function lineId(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('Expected the id of a line of the audit log.');
  return text;
}

/** Runs the consistency checks, or only that of the audit log. Prints a row per check, and violations on stderr. */
export async function run(
  { api, print, terminal, flags, sessions, target }: Context,
  { forgetTip = false, ...asked }: AuditFlags & { only?: 'audit-log' } = {},
): Promise<void> {
  const { server } = await target();
  const kept = forgetTip ? undefined : await sessions.auditTip(server);
  const query = { ...(kept && { tip: kept.tip }), ...asked };
  const what = query.only ? 'Verifying the audit log' : 'Verifying ledger consistency';
  const { proofs, auditLog } = await withSpinner(terminal.err, what, () => readAllPages(api, { ...query }));
  const { lines, tip: found } = auditLog;
  const unread = Number(proofs.find(({ check }) => check === 'bills')?.['unread'] ?? 0);
  if (unread > 0) await print.note(`bills: ${unread} are missing and were not compared; payctl bill list`);
  for (const account of (proofs.find(({ check }) => check === 'bills')?.['quiet'] ?? []) as unknown[])
    await print.note(
      visible(
        `bills: ${plain(account)} is quiet: unknown order numbers are not reported; payctl bill quiet BILL --off`,
      ),
    );
  if (found !== undefined) await print.note(visible(`audit log: ${plain(lines)} lines, tip ${plain(found)}`));
  const proven = proofs.some(({ check, ok }) => check === 'audit-log' && ok === true);
  if (proven && typeof found === 'string' && (kept === undefined || query.tip === kept.tip))
    await sessions
      .keepAuditTip(server, { tip: found, lines: Number(lines), at: terminal.now().toISOString() })
      .catch((error: Error) => print.note(visible(`The tip could not be kept for next time: ${error.message}`)));
  const isPage = print.format === 'table' && !print.fields && flags.quiet !== true;
  if (isPage) await terminal.out.write(drawFindings(proofs.map(findingOf), terminal.out));
  else await print.list(proofs, VIEW);
  const broken = proofs.filter((proof) => proof['ok'] === false);
  const [first] = broken;
  if (!first) return print.done(`All checks passed (${proofs.length}).`);
  for (const proof of broken) for (const line of exampleLines(proof)) await print.note(line);
  throw new CliError(
    'books_broken',
    EXIT.failed,
    `${broken.length} of ${proofs.length} checks failed; first: ${plain(first['check'])} (${plain(first['promise'])}).`,
    { hint: hintFor(first, kept) },
  );
}

/** The last page that contains a result for the audit log gives `auditLog`. */
async function readAllPages(api: Context['api'], query: Query): Promise<{ proofs: Row[]; auditLog: Row }> {
  let auditLog: Row = {};
  const billsRead = { read: 0, unread: 0, quiet: [] as string[] };
  const proofs = new Map<unknown, Row>();
  let cursor: string | undefined;
  do {
    const page = await api.get(LEDGER_CHECK, cursor === undefined ? query : { ...query, cursor });
    auditLog = (page['auditLog'] ?? auditLog) as Row;
    const { read = 0, unread = 0, quiet = [] } = (page['bills'] ?? {}) as Partial<typeof billsRead>;
    billsRead.quiet = [...new Set([...billsRead.quiet, ...quiet])].toSorted();
    billsRead.read += read;
    billsRead.unread += unread;
    for (const proof of (page['proofs'] ?? []) as Row[]) {
      const before = proofs.get(proof['check']);
      proofs.set(proof['check'], before ? merged(before, proof) : proof);
    }
    cursor = typeof page['nextCursor'] === 'string' ? page['nextCursor'] : undefined;
  } while (cursor !== undefined);
  const [bills, log] = [proofs.get('bills'), proofs.get('audit-log')];
  // The service counts the bills that were read, and those that are missing, outside the result of the check `bills`.
  // payctl copies the counts into that result, because scripts archive only the results of the checks.
  if (bills) proofs.set('bills', { ...bills, ...billsRead });
  if (log) proofs.set('audit-log', { ...log, ...auditLog });
  return { proofs: [...proofs.values()], auditLog };
}

function merged(one: Row, other: Row): Row {
  return {
    ...one,
    ok: one['ok'] === true && other['ok'] === true,
    count: Number(one['count']) + Number(other['count']),
    examples: [...examplesIn(one), ...examplesIn(other)].slice(0, MOST_EXAMPLES),
  };
}

function findingOf(proof: Row): Finding {
  const holds = proof['ok'] === true;
  const { read, unread } = proof;
  const promise = plain(proof['promise']);
  const detail = read === undefined ? promise : `${promise}: ${plain(read)} read, ${plain(unread)} missing`;
  return {
    check: plain(proof['check']),
    status: holds ? 'ok' : 'failed',
    detail: holds ? detail : `${detail}: ${plain(proof['count'])} violations`,
    fix: null,
  };
}

function exampleLines(proof: Row): string[] {
  const examples = examplesIn(proof);
  const shown = examples.slice(0, SHOWN);
  const left = Number(proof['count'] ?? examples.length) - shown.length;
  return [
    ...shown.map(({ id, detail }) => visible(`${plain(proof['check'])}  ${plain(id)}  ${plain(detail)}`)),
    ...(left > 0 ? [`${visible(plain(proof['check']))}  and ${left} more`] : []),
  ];
}

function examplesIn(proof: Row): Row[] {
  return Array.isArray(proof['examples']) ? (proof['examples'] as Row[]) : [];
}

/** A restore may have lost audit log entries. The hint then advises --forget-tip or --accept-until. */
function hintFor(proof: Row, kept: KeptTip | undefined): string {
  const [first] = examplesIn(proof);
  if (first && first['detail'] === 'tip_missing' && first['id'] === kept?.tip)
    return 'lines were cut off the log, unless an older backup was restored; only then: payctl audit --forget-tip';
  if (first && first['detail'] === 'lines_lost')
    return `lines were cut off the log, unless a restore or failover lost them; only then: payctl audit --accept-until ${plain(first['id'])}`;
  const order = examplesIn(proof)
    .map(({ id }) => plain(id))
    .find((id) => /^[PX]\d{14}[0-9A-Z]{10}$/.test(id));
  return order ? `payctl explain ${order}` : 'payctl audit --json';
}
