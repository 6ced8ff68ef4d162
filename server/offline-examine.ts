import type { Config } from '../config/config.ts';
import { createSealing, keyIdOf, SealBroken } from './credentials/sealing.ts';
import { listSealedTexts, type SealedText } from './db/queries/credentials-sealed.ts';
import { countWaiting, currentChannels, endingCerts, type ChannelFact, type Waiting } from './db/queries/doctor.ts';
import type { Store } from './db/store.ts';

/** A sealed record that the configured keys do not open. */
export interface BrokenSeal {
  record: string;
  why: string;
  keyId: string | null;
}

/** What `payctl doctor --offline` judges; facts only, and never a secret. */
export interface Examination extends Waiting {
  debug: boolean;
  production: boolean;
  publicUrl: string;
  channels: ChannelFact[];
  certs: { project: string; payWay: string; kind: string; daysLeft: number }[];
  sealed: { total: number; underOldKeys: number; broken: BrokenSeal[] };
}

const DAY = 86_400_000;

/** Reads the facts of a database whose schema is up to date; writes nothing. */
export async function examine(config: Config, store: Store, now: Date): Promise<Examination> {
  const { debug, production, server, security } = config;
  return store.read(async (tx) => ({
    debug,
    production,
    publicUrl: server.publicUrl,
    channels: await currentChannels(tx),
    certs: (await endingCerts(tx)).map(({ notAfter, ...cert }) => ({
      ...cert,
      daysLeft: Math.floor((new Date(notAfter).getTime() - now.getTime()) / DAY),
    })),
    sealed: tryKeys(security.masterKeys, await listSealedTexts(tx)),
    ...(await countWaiting(tx, { now, debug })),
  }));
}

function tryKeys(masterKeys: Config['security']['masterKeys'], texts: readonly SealedText[]): Examination['sealed'] {
  const sealing = createSealing(masterKeys);
  const broken = texts.flatMap(({ table, id, sealed }): BrokenSeal[] => {
    try {
      sealing.rewrap(sealed);
      return [];
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      return [{ record: `${table} ${id}`, why: error.why, keyId: keyIdOf(sealed) ?? null }];
    }
  });
  const old = texts.filter(({ sealed }) => keyIdOf(sealed) !== sealing.keyId).length;
  return {
    total: texts.length,
    underOldKeys: old - broken.filter(({ keyId }) => keyId !== sealing.keyId).length,
    broken,
  };
}
