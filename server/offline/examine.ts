// Reads the facts of a database that `payctl doctor` and the check of a restored copy report.
import type { Examination, RestoredFacts } from './port.ts';
import type { Config } from '../../config/config.ts';
import { CHANNEL_KINDS } from '../channels/registry.ts';
import { DecryptionFailed, createEncryption, keyIdOf } from '../db/encryption.ts';
import { verifyingKinds } from '../credentials/trust.ts';
import { type EncryptedText, listEncryptedTexts } from '../db/queries/credentials.ts';
import {
  type HandlerFact,
  clockAhead,
  countWaiting,
  currentChannels,
  endingCerts,
  failingWebhooks,
  keysOfOtherModes,
  secondFactors,
  silentNotices,
  skillHandlers,
} from '../db/queries/diagnosis.ts';
import { listEvents } from '../db/queries/events.ts';
import { approvers } from '../db/queries/exceptions.ts';
import { identityQueries } from '../db/queries/identity.ts';
import { gapsOf, momentsOf, sequencesOf } from '../db/queries/restored.ts';
import type { Store } from '../db/store.ts';
import { listensElsewhere } from '../http/address.ts';
import { type AuditKnowledge, readAuditPlace, verifyAuditChain } from '../identity/audit-proof.ts';
import { createAuditKeys, firstHash } from '../identity/audit.ts';
import { createUrlRule } from '../outgoing/url-rule.ts';
import {
  type AuditChain,
  type LedgerCheckResult,
  type LedgerCheckResults,
  checkLedger,
} from '../payments/ledger-check.ts';

const DAY = 86_400_000;
const VERIFYING = [...CHANNEL_KINDS.values()].flatMap((kind) => [...verifyingKinds(kind)]);

/** Reads the facts for `doctor --offline` from a database whose schema is up to date. Writes nothing. */
export async function examine(config: Config, store: Store, now: Date): Promise<Examination> {
  const { debug, simulated, production, server, security } = config;
  return store.read(async (tx) => ({
    debug,
    simulated,
    production,
    publicUrl: server.publicUrl,
    channels: await currentChannels(tx),
    otherModes: await keysOfOtherModes(tx, VERIFYING, simulated),
    certs: (await endingCerts(tx)).map(({ notAfter, ...cert }) => ({
      ...cert,
      daysLeft: Math.floor((new Date(notAfter).getTime() - now.getTime()) / DAY),
    })),
    encrypted: tryKeys(security.masterKeys, await listEncryptedTexts(tx)),
    uncallable: uncallable(await skillHandlers(tx), config),
    ...(await countWaiting(tx, { now, simulated })),
    diagnosis: {
      production,
      consoleOpen: server.adminNetworks.length === 0,
      explorer: config.explorer.enabled && config.environment === 'production',
      listensElsewhere: listensElsewhere(server, server.listen),
      secondFactors: { required: config.admin.requireSecondFactor, ...(await secondFactors(tx)) },
      clockAheadSeconds: await clockAhead(tx),
      approvers: config.approval.refundAbove === 0 ? null : await approvers(tx, now),
      failingWebhooks: await failingWebhooks(tx, now),
      silentNotices: await silentNotices(tx, { now, simulated }),
    },
  }));
}

function uncallable(handlers: readonly HandlerFact[], { webhook, production }: Config): Examination['uncallable'] {
  const urlFault = createUrlRule({ allowedNetworks: webhook.allowedNetworks, httpsOnly: production });
  return handlers.flatMap(({ project, code, url }) => {
    const fault = urlFault(url)?.code;
    return fault ? [{ project, code, fault }] : [];
  });
}

/** Texts that were changed or moved to another row, or that need an unknown key, are reported as broken. */
function tryKeys(
  masterKeys: Config['security']['masterKeys'],
  texts: readonly EncryptedText[],
): Examination['encrypted'] {
  const encryption = createEncryption(masterKeys);
  const broken = texts.flatMap(({ table, id, encrypted, place }): Examination['encrypted']['broken'] => {
    try {
      encryption.open(place, encrypted);
      return [];
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      return [{ record: `${table} ${id}`, why: error.why, keyId: keyIdOf(encrypted) ?? null }];
    }
  });
  const old = texts.filter(({ encrypted }) => keyIdOf(encrypted) !== encryption.keyId).length;
  return {
    total: texts.length,
    underOldKeys: old - broken.filter(({ keyId }) => keyId !== encryption.keyId).length,
    broken,
  };
}

const PAGE = 2000;
/** Maximum number of gaps (missing numbers) that are listed per table. */
const GAPS = 5;
/** Timestamps up to this far in the future (ms) are accepted, because clocks differ. */
const TOLERANCE_MS = 5 * 60_000;

/** Reads the facts for `server restore-check` from a restored copy whose schema is up to date. Writes nothing. */
export async function examineRestored(
  { security: { masterKeys } }: Pick<Config, 'security'>,
  store: Store,
  now: Date,
  knowledge: AuditKnowledge,
): Promise<RestoredFacts> {
  const encrypted = tryKeys(masterKeys, await store.read(listEncryptedTexts));
  const { proofs, auditLog } = await readLedger(store, now, { ...knowledge, chain: chainOf(store, now, masterKeys) });
  const moments = await store.read((tx) => momentsOf(tx, new Date(now.getTime() + TOLERANCE_MS)));
  const newest = moments.toSorted((a, b) => b.newest.getTime() - a.newest.getTime())[0];
  return {
    encrypted,
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

/** If the audit key of an older master key cannot be decrypted, the log is reported as broken. */
function chainOf(store: Store, now: Date, masterKeys: Config['security']['masterKeys']): AuditChain {
  const keys = createAuditKeys({ store, masterKeys, encryption: createEncryption(masterKeys) });
  return {
    readPlace: readAuditPlace,
    verify: (knowledge, part) =>
      verifyAuditChain({ store, now: () => now }, identityQueries, keys, knowledge, part).catch((error: unknown) => {
        if (!(error instanceof DecryptionFailed)) throw error;
        const id = error.place?.id ?? '';
        return { lines: 0, tip: firstHash, broken: { id, reason: 'key_unknown' as const } };
      }),
  };
}

async function readLedger(
  store: Store,
  now: Date,
  { chain, ...knowledge }: AuditKnowledge & { chain: AuditChain },
): Promise<Pick<RestoredFacts, 'proofs' | 'auditLog'>> {
  const page = checkLedger({ store, now: () => now }, chain);
  const proofs = new Map<string, LedgerCheckResult>();
  let auditLog: LedgerCheckResults['auditLog'] = null;
  let cursor: string | undefined;
  do {
    const ledger: LedgerCheckResults = await page({ ...knowledge, cursor, limit: PAGE });
    for (const proof of ledger.proofs) {
      const { count, examples, ok } = proofs.get(proof.check) ?? { count: 0, examples: [], ok: true };
      proofs.set(proof.check, {
        ...proof,
        ok: ok && proof.ok,
        count: count + proof.count,
        examples: [...examples, ...proof.examples],
      });
    }
    auditLog = ledger.auditLog ?? auditLog;
    cursor = ledger.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return { proofs: [...proofs.values()], auditLog: auditLog ?? { lines: 0, tip: firstHash } };
}

/** Reads only events that consumers see: up to the database sequence, which may be too low after a faulty restore. */
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
