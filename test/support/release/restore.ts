import type { ExecutionContext } from 'ava';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openDatabase } from '../../../server/db/orm.ts';
import { startSimulator } from '../../../server/simulator/simulator.ts';
import { createDatabase, PATIENT } from '../database.ts';
import { temporaryFolder } from '../folder.ts';
import type { Facts } from './deeds.ts';

const fixtures = new URL('../../fixtures/release-0.1.0/', import.meta.url);

/** What the release left behind. */
export interface Left {
  facts: Facts;
  /** Its database, as it was when the service stopped; nothing was migrated since. */
  url: string;
  /** The simulator that it used, at the same moment. */
  simulator: { url: string };
  /** The time as it goes on from that moment. */
  now: () => Date;
}

/** Restores the database and the simulator of the release; notices to it go to `serviceUrl` now. */
export async function restoreRelease(t: ExecutionContext, serviceUrl: string): Promise<Left> {
  const facts = JSON.parse(readFileSync(new URL('facts.json', fixtures), 'utf8')) as Facts;
  const ahead = Date.parse(facts.madeAt) - Date.now();
  const files = JSON.parse(unpack('simulator.json.gz')) as Record<string, string>;
  const moved = Object.entries(files).map(([name, text]) => [name, text.replaceAll(facts.url, serviceUrl)]);
  const dir = temporaryFolder(t, Object.fromEntries(moved) as Record<string, string>);
  const simulator = await startSimulator({ dir, listen: { host: '127.0.0.1', port: 0 }, clockOffset: ahead });
  t.teardown(() => simulator.close());
  return { facts, url: await restoreDatabase(t), simulator, now: () => new Date(Date.now() + ahead) };
}

async function restoreDatabase(t: ExecutionContext): Promise<string> {
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const { em, close } = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  // What begins with a backslash is for psql.
  await em.fork().execute(unpack('database.sql.gz').replaceAll(/^\\.*$/gm, ''));
  await close();
  return url;
}

function unpack(name: string): string {
  return gunzipSync(readFileSync(join(fixtures.pathname, name))).toString('utf8');
}
