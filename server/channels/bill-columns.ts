import { BillMalformed } from '../payments/channel.ts';

/** Where the columns of a table are, by name. */
export type Columns<Name extends string> = Readonly<Record<Name, number>>;

/** Finds columns by the names in a header; throws BillMalformed `wrong_columns` for one that is missing or there twice. */
export function findColumns<Name extends string>(
  header: readonly string[],
  names: readonly Name[],
  line: number,
): Columns<Name> {
  const found = names.map((name): [Name, number] => {
    const at = header.indexOf(name);
    if (at < 0) throw new BillMalformed('wrong_columns', `The column ${name} is missing.`, { line });
    const again = header.indexOf(name, at + 1);
    if (again >= 0)
      throw new BillMalformed('wrong_columns', `The column ${name} is there twice.`, { line, column: again + 1 });
    return [name, at];
  });
  return Object.fromEntries(found) as Columns<Name>;
}
