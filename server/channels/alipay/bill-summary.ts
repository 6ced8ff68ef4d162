import { BillMalformed } from '../../payments/channel.ts';
import { textBlocks } from '../bill-text.ts';
import { PREAMBLE_LINES, readPreamble, readSummaryRow, type SumColumn } from './bill-table.ts';

/** What the file with the sums by shop says of all shops together. */
export interface BillSummary {
  account: string;
  sums: Record<SumColumn, bigint>;
  /** The net amount of the day (实收净额); null = the file has none. */
  net: bigint | null;
  /** Where it says so. */
  line: number;
}

/** Reads the second file of a bill (业务汇总); throws BillMalformed. */
export async function readSummary(bytes: AsyncIterable<Uint8Array>, day: string): Promise<BillSummary> {
  let account = '';
  let header = '';
  let found: Pick<BillSummary, 'sums' | 'net' | 'line'> | undefined;
  let isEnded = false;
  for await (const { from, lines } of textBlocks(bytes, 'gb18030')) {
    for (const [at, text] of lines.entries()) {
      const line = from + at;
      if (line <= PREAMBLE_LINES) account = readPreamble(text, line, day, '汇总') ?? account;
      else if (line === PREAMBLE_LINES + 1) header = text;
      else if (text.startsWith('#')) isEnded = true;
      else if (text.startsWith('合计')) found = { ...readSummaryRow(header, text, line), line };
    }
  }
  if (!isEnded || !found) throw new BillMalformed('cut_short', 'The file with the sums ends early.');
  return { account, ...found };
}
