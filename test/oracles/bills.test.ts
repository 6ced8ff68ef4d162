import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { startWorld } from '../unit/simulator/world.ts';

const run = promisify(execFile);
const DAY_MS = 86_400_000;

test('bills.py reads the bills of all three channels and they match the ledger', async (t) => {
  const missing = ['python3', 'openssl'].filter((name) => spawnSync(name, ['--help']).error);
  if (missing.length > 0) {
    t.log(`Not run: this machine has no ${missing.join(' and no ')}. Debian: apt install python3 openssl`);
    return t.pass();
  }
  // Noon in Beijing, so that the orders and their bill are on the same day.
  const noon = (((4 * 3_600_000 - Date.now()) % DAY_MS) + DAY_MS) % DAY_MS;
  const world = await startWorld({ timeFactor: 0.001, clockOffset: noon });
  t.teardown(() => world.close());
  const { stdout } = await run('python3', [`${import.meta.dirname}/bills.py`, world.url]);
  t.regex(stdout, /25 columns[^]*27 columns[^]*10,000 results at most\nall three\n$/);
});
