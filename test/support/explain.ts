import type { Expression } from 'kysely';
import type { ReadTx, Store } from '../../server/db/store.ts';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Node[];
}

/** What a statement read when it was run: every scan, and the rows that it touched, also those that it threw away. */
export async function explain(store: Store, statement: (tx: ReadTx) => Expression<unknown>) {
  const [row] = await store.read(
    (tx) => tx.sql<{ 'QUERY PLAN': [{ Plan: Node }] }>`explain (analyze, format json) ${statement(tx)}`,
  );
  const scans: { type: string; relation: string; rows: number }[] = [];
  const walk = (node: Node) => {
    const rows =
      node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const touched = rows * node['Actual Loops'];
    if (node['Relation Name']) scans.push({ type: node['Node Type'], relation: node['Relation Name'], rows: touched });
    node.Plans?.forEach(walk);
  };
  walk(row!['QUERY PLAN'][0].Plan);
  return { scans, rows: scans.reduce((sum, { rows }) => sum + rows, 0) };
}
