import type { RestoredFacts } from '../../cli/offline-port.ts';
import type { Config } from '../../config/config.ts';
import { createSealing, SealBroken } from '../credentials/sealing.ts';
import { listSealedTexts } from '../db/queries/credentials.ts';
import { listEvents } from '../db/queries/events.ts';
import { identityQueries } from '../db/queries/identity.ts';
import { gapsOf, momentsOf, sequencesOf } from '../db/queries/restored.ts';
import type { Store } from '../db/store.ts';
import { createAuditKeys, firstHash } from '../identity/audit.ts';
import { type AuditKnowledge, readAuditPlace, verifyAuditChain } from '../identity/audit-proof.ts';
import { type AuditChain, type BookCheckResult, type Books, checkBooks } from '../payments/books.ts';
import { tryKeys } from './examine.ts';

/** Rows of the books, and of the event log, that are read at a time. */
const PAGE = 2000;
/** Of the gaps in the numbers of a table, so many are named. */
const GAPS = 5;
/** A clock that is ahead by less is no matter. */
const TOLERANCE_MS = 5 * 60_000;

/** Reads a restored copy from end to end, whose schema is up to date: what there is to say about it. Writes nothing. */
export async function examineRestored(
  { security: { masterKeys } }: Pick<Config, 'security'>,
  store: Store,
  now: Date,
  knowledge: AuditKnowledge,
): Promise<RestoredFacts> {
  const sealed = tryKeys(masterKeys, await store.read(listSealedTexts));
  const { proofs, auditLog } = await readBooks(store, now, { ...knowledge, chain: chainOf(store, now, masterKeys) });
  const moments = await store.read((tx) => momentsOf(tx, new Date(now.getTime() + TOLERANCE_MS)));
  const newest = moments.toSorted((a, b) => b.newest.getTime() - a.newest.getTime())[0];
  return {
    sealed,
    proofs,
    auditLog,
    sequences: await store.read(sequencesOf),
    gaps: await store.read((tx) => gapsOf(tx, GAPS)),
    events: await readEvents(store),
    newest: newest ? { table: newest.table, at: newest.newest.toISOString() } : null,
    future: moments
      .filter(({ later }) => later > 0)
      .map(({ table, column, later, newest: at }) => ({ table, column, rows: later, latest: at.toISOString() })),
  };
}

/** The audit log's chain; when the key of a former master key does not open, nothing that it wrote can be verified. */
function chainOf(store: Store, now: Date, masterKeys: Config['security']['masterKeys']): AuditChain {
  const keys = createAuditKeys({ store, masterKeys, sealing: createSealing(masterKeys) });
  return {
    readPlace: readAuditPlace,
    verify: (knowledge, part) =>
      verifyAuditChain({ store, now: () => now }, identityQueries, keys, knowledge, part).catch((error: unknown) => {
        if (!(error instanceof SealBroken)) throw error;
        const id = error.place?.id ?? '';
        return { lines: 0, tip: firstHash, broken: { id, reason: 'key_unknown' as const } };
      }),
  };
}

async function readBooks(
  store: Store,
  now: Date,
  { chain, ...knowledge }: AuditKnowledge & { chain: AuditChain },
): Promise<Pick<RestoredFacts, 'proofs' | 'auditLog'>> {
  const page = checkBooks({ store, now: () => now }, chain);
  const proofs = new Map<string, BookCheckResult>();
  let auditLog: Books['auditLog'] = null;
  let cursor: string | undefined;
  do {
    const books: Books = await page({ ...knowledge, cursor, limit: PAGE });
    for (const proof of books.proofs) {
      const { count, examples, ok } = proofs.get(proof.check) ?? { count: 0, examples: [], ok: true };
      proofs.set(proof.check, {
        ...proof,
        ok: ok && proof.ok,
        count: count + proof.count,
        examples: [...examples, ...proof.examples],
      });
    }
    auditLog = books.auditLog ?? auditLog;
    cursor = books.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return { proofs: [...proofs.values()], auditLog: auditLog ?? { lines: 0, tip: firstHash } };
}

/** As those read it who follow: what stands above the sequence is not there for them. */
async function readEvents(store: Store): Promise<RestoredFacts['events']> {
  let read = 0;
  let last = 0n;
  for (;;) {
    const page = await store.read((tx) => listEvents(tx, {}, last, PAGE));
    read += page.length;
    last = page.at(-1)?.sequence ?? last;
    if (page.length < PAGE) return { read, last: String(last) };
  }
}
