import type { Context } from '../../context.ts';
import { minorMoney, plain, type Row } from '../../values.ts';
import { COUNTS, SUMS, VIEW } from './view.ts';

const FACTS = VIEW.columns.filter(({ field }) => !['open', 'listed', 'fault.code'].includes(field));

/** Prints one bill; on a terminal its sums and differences as tables. */
export async function showBill({ print, terminal }: Pick<Context, 'print' | 'terminal'>, bill: Row): Promise<void> {
  if (print.format !== 'table' || print.fields || print.linewise) return print.item(bill, VIEW);
  const { totals, sums, differences, fault, quiet, ...facts } = bill;
  const stated = (totals ?? []) as Row[];
  const more = {
    ...balanceLine(stated),
    ...faultLine(fault as Row | null | undefined),
    ...quietLine(quiet as Row | null | undefined),
  };
  await print.item({ ...facts, ...more }, { ...VIEW, columns: FACTS });
  const sumRows = [
    ...named(
      stated.filter((one) => one['payments'] !== null),
      () => 'the bill itself',
    ),
    ...named(sums, ownerOfLines),
  ];
  for (const [rows, view] of [
    [sumRows, SUMS],
    [(differences ?? []) as Row[], COUNTS],
  ] as const) {
    if (rows.length === 0) continue;
    await terminal.out.write('\n');
    await print.list(rows, view);
  }
}

/** The balances of the account before and after the day, of channels that tell them. */
function balanceLine(totals: readonly Row[]): Row {
  const texts = totals
    .filter((one) => typeof one['openingMinor'] === 'number')
    .map((one) =>
      ['openingMinor', 'closingMinor'].map((name) => minorMoney(Number(one[name]), plain(one['currency']))).join(' → '),
    );
  return texts.length === 0 ? {} : { balance: texts.join(', ') };
}

function faultLine(fault: Row | null | undefined): Row {
  if (!fault) return {};
  const place = (['line', 'column'] as const).filter((name) => typeof fault[name] === 'number');
  const words = [plain(fault['code']), ...place.map((name) => `${name} ${plain(fault[name])}`)];
  return { fault: `${words.join(', ')}: ${plain(fault['detail'])}` };
}

function quietLine(quiet: Row | null | undefined): Row {
  if (!quiet) return {};
  return { quiet: `since ${plain(quiet['since'])}, by ${plain(quiet['by'])}: ${plain(quiet['reason'])}` };
}

function named(rows: unknown, name: (row: Row) => string): Row[] {
  return ((rows ?? []) as Row[]).map((row) => ({ of: name(row), ...row }));
}

function ownerOfLines({ project }: Row): string {
  return project === null ? 'lines, not ours' : `lines, ${plain(project)}`;
}
