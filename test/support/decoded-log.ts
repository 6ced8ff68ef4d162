/** A row that was inserted, its values as text. */
export type DecodedRow = Readonly<Record<string, string | null>>;

/**
 * Reads messages of PostgreSQL's plugin `pgoutput` (protocol version 1; PostgreSQL manual, "Logical Replication Message Formats") as far as inserts need
 * it: relations (R) name the columns, inserts (I) bring rows; begin, commit, origin and type are passed over, whatever changes a row is kept apart.
 */
export function decodeInserts(messages: readonly Buffer[]): { rows: DecodedRow[]; others: string[] } {
  const columns = new Map<number, string[]>();
  const rows: DecodedRow[] = [];
  const others: string[] = [];
  for (const message of messages) {
    const kind = String.fromCodePoint(message[0] ?? 0);
    const reader = readerOf(message.subarray(1));
    if (kind === 'R') columns.set(...readRelation(reader));
    else if (kind === 'I') rows.push(readInsert(reader, columns));
    else if (!'BCOY'.includes(kind)) others.push(kind);
  }
  return { rows, others };
}

function readerOf(bytes: Buffer) {
  let at = 0;
  const take = (length: number) => bytes.subarray(at, (at += length));
  return {
    byte: () => take(1).readUInt8(),
    short: () => take(2).readUInt16BE(),
    int: () => take(4).readUInt32BE(),
    text: (length: number) => take(length).toString('utf8'),
    word() {
      const end = bytes.indexOf(0, at);
      const text = bytes.toString('utf8', at, end);
      at = end + 1;
      return text;
    },
  };
}

type Reader = ReturnType<typeof readerOf>;

function readRelation({ int, word, byte, short }: Reader): [number, string[]] {
  const id = int();
  word();
  word();
  byte();
  const names = Array.from({ length: short() }, () => {
    byte();
    const name = word();
    int();
    int();
    return name;
  });
  return [id, names];
}

function readInsert(reader: Reader, columns: ReadonlyMap<number, string[]>): DecodedRow {
  const names = columns.get(reader.int());
  if (!names) throw new Error('a row of a relation that was not described');
  reader.byte();
  reader.short();
  const cell = () => (reader.byte() === 't'.codePointAt(0) ? reader.text(reader.int()) : null);
  return Object.fromEntries(names.map((name) => [name, cell()]));
}
