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

/** How a history is recorded. */
export interface RecordOptions extends Partial<StageOptions> {
  seconds: number;
  /** It goes on until so many operations were done, too, however slow the machine is. */
  operations?: number;
  seed: number;
  /** Where `history.jsonl` and `history.edn` are written. */
  dir: string;
  /** Lanes of faults that go on beside each other; 0 = a quiet day. */
  faultQueues?: number;
  /** How long between two faults of a lane at most, and how long one lasts at most (ms). */
  faultMs?: number;
  /** How long a client thinks between two things at most (ms). */
  thinkMs?: number;
}

/** What was recorded. */
export interface Recorded {
  file: string;
  edn: string;
  pooled: boolean;
  faults: Readonly<Partial<Record<string, number>>>;
  /** Answers that the document of the service does not have. */
  undocumented: readonly string[];
  /** What the service's own audit of its database does not find in order. */
  unproven: readonly string[];
}

const MERCHANTS_OF_A_SHOP = 3;
const PAYERS = 2;
const CLERKS = 4;

/** Has clients and faults meet for a while, lets everything come to its end, and leaves the history in files. */
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
