import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory } from '../check-history.ts';
import { collectEnds } from '../histories/ends.ts';
import { record } from '../histories/record.ts';
import { describeVerdict, readLines } from '../verdict.ts';
import type { Command } from './command.ts';

/** `--record MINUTES`: records a history under faults and checks it. */
export const recordCommand: Command = {
  name: 'record',
  usage: '--record MINUTES [--seed N] [--replicas N] [--out DIR]    records a history under faults, and checks it',
  options: {
    record: { type: 'string' },
    seed: { type: 'string' },
    replicas: { type: 'string' },
    out: { type: 'string' },
  },
  async run({ record: minutes, seed: given, replicas = '2', out }) {
    const dir = out ?? mkdtempSync(join(tmpdir(), 'pay-history-'));
    mkdirSync(dir, { recursive: true });
    const seed = given === undefined ? Date.now() % 1_000_000 : Number(given);
    const ends = collectEnds();
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => void ends.run().finally(() => process.exit(1)));
    try {
      const options = { seconds: Number(minutes) * 60, seed, dir, replicas: Number(replicas) };
      const { file, edn, pooled, faults, undocumented, unproven } = await record(ends, options);
      const lines = readLines(file);
      const violations = checkHistory(lines);
      console.log(
        `seed ${seed}, ${replicas} replicas, ${pooled ? 'every second one behind PgBouncer' : 'without PgBouncer: it is not installed'}`,
      );
      console.log(
        `faults: ${Object.entries(faults)
          .map(([kind, count]) => `${kind} ${count}`)
          .join(', ')}`,
      );
      for (const one of undocumented) console.log(`  not in the document of the service: ${one}`);
      for (const one of unproven) console.log(`  the audit of the database: ${one}`);
      console.log(`${describeVerdict(lines, violations)}\n${file}\n${edn}`);
      return violations.length + undocumented.length + unproven.length === 0;
    } finally {
      await ends.run();
    }
  },
};
