import {
  type BillsRead,
  BOOK_CHECKS,
  countBillsRead,
  EXAMPLES,
  findViolations,
  nextKeys,
  type Violation,
  WALKS,
  type WalkName,
} from '../db/queries/ledger-check.ts';
import { InvalidRequest } from '../errors.ts';
import type { AuditKnowledge, AuditPart, AuditProof } from '../identity/audit-proof.ts';
import { INVARIANTS } from './core/invariants.ts';
import type { Ports } from './ports.ts';

export interface LedgerCheckResult {
  check: string;
  promise: string;
  ok: boolean;
  count: number;
  examples: Violation[];
}

export interface LedgerCheckResults {
  /** Whether no violation was found on this page. */
  ok: boolean;
  checkedAt: string;
  proofs: LedgerCheckResult[];
  /** The numbers of compared and missing bills on this page; null = the page contains no bills. */
  bills: BillsRead | null;
  /**
   * The verified part of the audit log, from its first line to the end of this page; null = this page contains no part
   * of the audit log. `tip`: the hash of the last verified line. If `tip` is stored outside the database, a later check
   * can detect removed lines.
   */
  auditLog: Pick<AuditProof, 'lines' | 'tip'> | null;
  /** The cursor of the next page; null after the last one. */
  nextCursor: string | null;
}

export interface LedgerCheckPage extends AuditKnowledge {
  cursor?: string | undefined;
  limit: number;
  /** If set, only the audit log is checked. */
  only?: 'audit-log' | undefined;
}

/** Verifies the audit log, in which every line contains the hash of the line before. */
export interface AuditChain {
  verify(knowledge: AuditKnowledge, part: AuditPart): Promise<AuditProof>;
  readPlace(text: string): AuditPart['from'];
}

type Section = WalkName | 'audit';

interface Place {
  section: Section;
  after: string;
}

/** `last`: the key after which the check continues; null = the section is finished. */
interface Step {
  rows: number;
  last: string | null;
}

const SECTIONS: readonly Section[] = ['orders', 'accounts', 'entries', 'bills', 'audit'];
/** The cursor text of the beginning of the audit log. Later positions in the audit log are written as JSON objects. */
const FIRST_LINE = 'null';
const beginningOf = (section: Section): Place => ({
  section,
  after: section === 'audit' ? FIRST_LINE : WALKS[section].first,
});

/** Creates the ledger check, which writes nothing and runs page by page; each row is on exactly one page. */
export function checkLedger({ store, now }: Pick<Ports, 'store' | 'now'>, chain: AuditChain) {
  return async ({ cursor, limit, only, ...knowledge }: LedgerCheckPage): Promise<LedgerCheckResults> => {
    const found = new Map<string, LedgerCheckResult>();
    const note = (check: string, promise: string, count: number, examples: readonly Violation[]) => {
      const one = found.get(check) ?? { check, promise, ok: true, count: 0, examples: [] };
      const all = [...one.examples, ...examples].slice(0, EXAMPLES);
      found.set(check, { ...one, ok: one.ok && count === 0, count: one.count + count, examples: all });
    };
    if (!only) for (const { check } of BOOK_CHECKS) note(check, INVARIANTS[check].promise, 0, []);
    note('audit-log', CHAIN, 0, []);
    let bills: LedgerCheckResults['bills'] = null;
    let auditLog: LedgerCheckResults['auditLog'] = null;
    let place: Place | undefined =
      cursor === undefined ? beginningOf(only ? 'audit' : 'orders') : readPlace(cursor, chain);
    for (let left = limit; place && left > 0;) {
      const { section, after }: Place = place;
      const { rows, last }: Step = await (section === 'audit' ? audit(after, left) : walk(section, after, left));
      left -= rows;
      place = last === null ? nextSection(section) : { section, after: last };
    }
    const proofs = [...found.values()];
    const nextCursor = place ? writePlace(place) : null;
    return { ok: proofs.every(({ ok }) => ok), checkedAt: now().toISOString(), proofs, bills, auditLog, nextCursor };

    /** The last rows of a section are checked without an upper bound, to include rows whose order does not exist. */
    async function walk(section: WalkName, after: string, most: number): Promise<Step> {
      const { rows, last } = await store.read((tx) => nextKeys(tx, section, after, most));
      const upTo = rows < most ? null : last;
      for (const one of BOOK_CHECKS) {
        const { count, examples } = await store.read((tx) => findViolations(tx, one, section, { after, upTo }));
        note(one.check, INVARIANTS[one.check].promise, count, examples);
      }
      if (section === 'bills') bills = await store.read((tx) => countBillsRead(tx, { after, upTo }));
      return { rows, last: upTo };
    }

    async function audit(after: string, most: number): Promise<Step> {
      const from = chain.readPlace(after);
      const { broken, next, lines, tip } = await chain.verify(knowledge, { from, lines: most });
      if (broken) note('audit-log', CHAIN, 1, [{ id: broken.id, detail: broken.reason }]);
      auditLog = { lines, tip };
      return { rows: lines - (from?.lines ?? 0), last: next ? JSON.stringify(next) : null };
    }
  };
}

const CHAIN = "the chain of the audit log is unbroken and made with the service's keys";

function nextSection(section: Section): Place | undefined {
  const next = SECTIONS[SECTIONS.indexOf(section) + 1];
  return next && beginningOf(next);
}

function writePlace({ section, after }: Place): string {
  return Buffer.from(`${section}|${after}`).toString('base64url');
}

function readPlace(cursor: string, chain: AuditChain): Place {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const [name = '', after = ''] = [text.slice(0, text.indexOf('|')), text.slice(text.indexOf('|') + 1)];
  const section = SECTIONS.find((one) => one === name);
  const isAudit = section === 'audit' && (after === FIRST_LINE || chain.readPlace(after) !== undefined);
  if (section && (isAudit || (section !== 'audit' && WALKS[section].form.test(after)))) return { section, after };
  throw new InvalidRequest('The request is not valid.', [
    { pointer: '/query/cursor', code: 'invalid', detail: 'The cursor was not returned by the ledger check.' },
  ]);
}
