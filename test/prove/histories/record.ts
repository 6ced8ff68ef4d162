import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { administrator } from './administrators.ts';
import { auditBooks } from './audit.ts';
import { type Chance, createChance } from '../chance.ts';
import { createClient, undocumented } from './clients.ts';
import { drain } from './drain.ts';
import type { Ends } from './ends.ts';
import { createNemesis } from './faults.ts';
import { openJournal } from './journal.ts';
import { merchant } from './merchants.ts';
import { payer } from './payers.ts';
import { openStage, type StageOptions } from './stage.ts';

/** The settings of a recording. */
export interface RecordOptions extends Partial<StageOptions> {
  seconds: number;
  /** The recording continues until this many operations are done, on any machine. */
  operations?: number;
  seed: number;
  /** The folder of `history.jsonl` and `history.edn`. */
  dir: string;
  /** Concurrent fault queues; 0 = no faults. */
  faultQueues?: number;
  /** The longest pause between two faults of a queue, and the longest fault (ms). */
  faultMs?: number;
  /** The longest pause of a client between two actions (ms). */
  thinkMs?: number;
}

/** The results of a recording. */
export interface Recorded {
  file: string;
  edn: string;
  pooled: boolean;
  faults: Readonly<Partial<Record<string, number>>>;
  /** Responses that the API document does not contain. */
  undocumented: readonly string[];
  /** The findings of the service's own ledger check. */
  unproven: readonly string[];
}

const MERCHANTS_OF_A_SHOP = 3;
const PAYERS = 2;
const CLERKS = 4;

/** Runs clients and faults together, lets all work finish, and writes the history to files. */
export async function record(ends: Ends, options: RecordOptions): Promise<Recorded> {
  const { seconds, operations = 0, seed, dir, replicas = 2, facade } = options;
  const { faultQueues = 2, faultMs = 3_000, thinkMs = 60 } = options;
  const chance = createChance(seed);
  const stage = await openStage(ends, { replicas, facade });
  const { market, stands } = stage;
  const file = join(dir, 'history.jsonl');
  const journal = openJournal(file);
  const client = () => createClient(journal);
  const clerks = Array.from({ length: CLERKS }, () => administrator(market, client(), chance.fork()));
  const nemesis = createNemesis(stage, journal, chance.fork(), faultMs);
  const end = performance.now() + seconds * 1000;
  const lane = async (act: () => Promise<void>, own: Chance, pauseMs: number) => {
    while (performance.now() < end || journal.answered < operations) {
      await pause(own.whole(0, pauseMs));
      await act();
    }
  };
  const lanes = market.shops.flatMap((shop) =>
    Array.from({ length: MERCHANTS_OF_A_SHOP }, () => merchant(market, shop, client(), chance.fork())),
  );
  const payers = Array.from({ length: PAYERS }, () => payer(market, client(), chance.fork()));
  await Promise.all([
    ...lanes.map((act) => lane(act, chance.fork(), thinkMs)),
    ...payers.map((act) => lane(act, chance.fork(), thinkMs * 4)),
    lane(clerks[0]!.act, chance.fork(), thinkMs * 8),
    ...Array.from({ length: faultQueues }, () => lane(nemesis.act, chance.fork(), faultMs)),
  ]);
  await nemesis.mendAll();
  await drain(stage, journal, clerks);
  const unproven = await auditBooks(market);
  const edn = join(dir, 'history.edn');
  journal.writeEdn(edn);
  const pooled = stands.some(({ isPooled }) => isPooled);
  return { file, edn, pooled, faults: nemesis.counts, undocumented, unproven };
}
