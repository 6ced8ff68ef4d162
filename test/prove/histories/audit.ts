import type { LedgerCheckResults } from '../../../server/payments/ledger-check.ts';
import type { Market } from './market.ts';

/** Runs the service's ledger check page by page and returns its findings. */
export async function auditBooks({ urls, adminToken }: Market): Promise<string[]> {
  const wrong: string[] = [];
  const headers = { authorization: `Bearer ${adminToken}` };
  for (let cursor: string | null = ''; cursor !== null;) {
    const answer = await fetch(`${urls[0]}/api/v1/books?limit=2000${cursor && `&cursor=${cursor}`}`, { headers });
    const page = (await answer.json()) as { data?: LedgerCheckResults };
    if (!page.data) return [...wrong, `the books could not be read: ${JSON.stringify(page)}`];
    for (const { ok, promise, examples } of page.data.proofs)
      if (!ok) wrong.push(`not true that ${promise}: ${JSON.stringify(examples)}`);
    cursor = page.data.nextCursor;
  }
  return wrong;
}
