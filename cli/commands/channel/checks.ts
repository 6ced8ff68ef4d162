import type { Context } from '../../context.ts';
import { drawFindings, type Finding } from '../../findings.ts';
import { plain, type Row, type View } from '../../values.ts';

const MARKS: Readonly<Record<string, Finding['status']>> = { ok: 'ok', failed: 'failed' };

const LINES: View = {
  noun: 'check',
  id: 'name',
  columns: ['about', 'name', 'status', 'field', 'code', 'message', 'supportId'].map((field) => ({ field })),
};

/** The command that puts a field or certificate of a configuration right. */
export function fixOf(payWay: string, field: string, inProject: string): string {
  return field.startsWith(`${payWay}_`)
    ? `payctl cert upload FILE --kind ${field}${inProject}`
    : `payctl channel set ${payWay}${inProject}`;
}

/** Prints what a test looked at: for a person with a mark each and what to do, in a pipe one line each. */
export async function printChecks(
  { print, terminal }: Pick<Context, 'print' | 'terminal'>,
  payWay: string,
  checks: readonly Row[],
  inProject: string,
): Promise<void> {
  if (print.format === 'table') {
    const findings = checks.map((check) => findingOf(payWay, check, inProject));
    return terminal.out.write(drawFindings(findings, terminal.out));
  }
  await print.list(checks, LINES);
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
