import {
  type AnyRow,
  brokenBy,
  MEMORY_TABLES,
  RefusedByDatabase,
  takenBy,
  type TableName,
  type TableRules,
  type Where,
} from './tables.ts';

/** The storage of a table's rows. */
export interface Shelf {
  readonly size: number;
  /** At least every row that matches, in insertion order. */
  among(where: Where): Iterable<AnyRow>;
  /** At least every row with the same values in these columns. */
  like(row: AnyRow, columns: readonly string[]): Iterable<AnyRow>;
  add(row: AnyRow): void;
  replace(before: AnyRow, after: AnyRow): void;
  remove(rows: readonly AnyRow[]): void;
}

interface Listing {
  orderBy?: Readonly<Record<string, 'asc' | 'desc'>>;
  limit?: number;
  offset?: number;
}

/** Rows of another table that are read with one. */
interface Beside {
  table: string;
  by: string;
  where?: Where;
  orderBy?: Readonly<Record<string, 'asc' | 'desc'>>;
}

/** A row of another table that is written with one. */
interface Also {
  table: string;
  row: AnyRow;
}

type Others = (table: string) => Pick<MemoryTable, 'list' | 'insert'>;

/** One table with the methods and semantics of `server/db/table.ts`. */
export class MemoryTable {
  readonly #name: TableName;
  readonly #shelf: Shelf;
  readonly #others: Others;
  readonly #like = (row: AnyRow, columns: readonly string[]) => this.#shelf.like(row, columns);

  constructor(name: TableName, shelf: Shelf, others: Others) {
    this.#name = name;
    this.#shelf = shelf;
    this.#others = others;
  }

  async find(where: Where): Promise<AnyRow | undefined> {
    for (const row of this.#shelf.among(where)) if (matches(row, where)) return copyOf(row);
    return undefined;
  }

  async listWith(where: Where, beside: Readonly<Record<string, Beside>>): Promise<AnyRow[]> {
    const found: AnyRow[] = [];
    for (const row of await this.list(where)) {
      const lists: Record<string, readonly AnyRow[]> = {};
      for (const [name, { table, by, where: only, orderBy = {} }] of Object.entries(beside))
        lists[name] = await this.#others(table).list({ ...only, [by]: row[by] }, { orderBy });
      found.push({ ...row, ...lists });
    }
    return found;
  }

  lock(where: Where): Promise<AnyRow | undefined> {
    return this.find(where);
  }

  async list(where: Where, { orderBy = {}, limit, offset = 0 }: Listing = {}): Promise<AnyRow[]> {
    const ways = Object.entries(orderBy);
    const found = this.#matching(where);
    if (ways.length > 0) found.sort((a, b) => compareRows(a, b, ways));
    return found.slice(offset, limit === undefined ? undefined : offset + limit).map(copyOf);
  }

  async count(where: Where): Promise<number> {
    return this.#matching(where).length;
  }

  async insert(row: AnyRow): Promise<void> {
    const taken = this.#insert(row);
    if (taken) throw new RefusedByDatabase(this.#name, `${taken.join(', ')} is taken`);
  }

  async insertMany(rows: readonly AnyRow[]): Promise<void> {
    for (const row of rows) await this.insert(row);
  }

  async insertIfNew(row: AnyRow, also?: Also): Promise<boolean> {
    if (this.#insert(row) !== undefined) return false;
    if (also) await this.#others(also.table).insert(also.row);
    return true;
  }

  async update(where: Where, patch: AnyRow, also?: Also): Promise<number> {
    const changed = this.change(where, () => patch);
    if (also) for (let row = 0; row < changed; row += 1) await this.#others(also.table).insert(also.row);
    return changed;
  }

  async delete(where: Where): Promise<number> {
    const found = this.#matching(where);
    if (found.length > 0) this.#shelf.remove(found);
    return found.length;
  }

  /** Changes the matching rows one by one; returns how many. */
  change(where: Where, patchOf: (row: AnyRow) => AnyRow): number {
    const changed: { row: AnyRow; after: AnyRow }[] = [];
    for (const row of this.#matching(where)) {
      const patch = patchOf(row);
      const after = copyOf(row);
      let isChanged = false;
      for (const column in patch) {
        if (patch[column] === undefined) continue;
        after[column] = stored(patch[column]);
        isChanged = true;
      }
      if (isChanged) changed.push({ row, after });
    }
    for (const { row, after } of changed) this.#shelf.replace(row, after);
    for (const { row, after } of changed) {
      const taken = this.#refuseBroken(after, row);
      if (taken) throw new RefusedByDatabase(this.#name, `${taken.join(', ')} is taken`);
    }
    return changed.length;
  }

  #matching(where: Where): AnyRow[] {
    const found: AnyRow[] = [];
    for (const row of this.#shelf.among(where)) if (matches(row, where)) found.push(row);
    return found;
  }

  /** Returns the columns that collide, or undefined if the row was inserted. */
  #insert(wanted: AnyRow): readonly string[] | undefined {
    const { defaults = {}, numbered } = MEMORY_TABLES[this.#name] as TableRules;
    const row: Record<string, unknown> = Object.assign({}, defaults, wanted);
    // Members with `undefined` count as absent.
    for (const column in wanted) {
      const value = wanted[column];
      if (value === undefined) row[column] = defaults[column] ?? null;
      else if (isDocument(value)) row[column] = stored(value);
    }
    if (numbered !== undefined) row[numbered] ??= BigInt(this.#shelf.size + 1);
    const taken = this.#refuseBroken(row);
    if (!taken) this.#shelf.add(row);
    return taken;
  }

  #refuseBroken(row: AnyRow, before?: AnyRow): readonly string[] | undefined {
    const broken = brokenBy(this.#name, row);
    if (broken) throw new RefusedByDatabase(this.#name, broken);
    return takenBy(this.#name, row, this.#like, before);
  }
}

/** Copies a row of any table. For rows of many shapes this is several times as fast as `{ ...row }`. */
function copyOf(row: AnyRow): Record<string, unknown> {
  return Object.assign({}, row);
}

function matches(row: AnyRow, where: Where): boolean {
  for (const name in where) {
    const wanted = where[name];
    if (wanted === undefined)
      throw new TypeError(`The column ${name} cannot be compared with undefined or with an object.`);
    const value = row[name] ?? null;
    const isWanted = Array.isArray(wanted) ? wanted.some((one) => isEqual(value, one)) : isEqual(value, wanted);
    if (!isWanted) return false;
  }
  return true;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
  return one === other;
}

function compareRows(a: AnyRow, b: AnyRow, ways: readonly [string, 'asc' | 'desc'][]): number {
  for (const [name, way] of ways) {
    const [left, right] = [a[name] as number, b[name] as number];
    if (isEqual(left, right)) continue;
    return (left < right ? -1 : 1) * (way === 'desc' ? -1 : 1);
  }
  return 0;
}

/** A value as the database returns it: documents as separate plain JSON. */
function stored(value: unknown): unknown {
  return isDocument(value) ? (JSON.parse(JSON.stringify(value)) as unknown) : value;
}

function isDocument(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !Array.isArray(value);
}
