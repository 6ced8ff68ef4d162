// AVA loads it before each test file. The process bears the name of its file in every list of processes, and one that something keeps
// alive after its last test says what it is and ends, instead of holding up the run. In a run of many files some share a process.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';
import { keepRsaKeys } from '../support/kept.ts';
import { connectBySocket } from '../support/postgres.ts';

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
process.title = file;
// Its databases and its children are known by it.
process.env.PAY_TEST_FILE = file;
const beside = process.env.PAY_TEST_SHARED ? readShared(process.env.PAY_TEST_SHARED)[file] : undefined;
// A run inside a test has its own.
delete process.env.PAY_TEST_SHARED;
if (process.env.PAY_TEST_KEPT) keepRsaKeys(join(process.env.PAY_TEST_KEPT, 'keys'));
if (process.env.PAY_TEST_POSTGRES) connectBySocket(process.env.PAY_TEST_POSTGRES);
if (process.env.PAY_TEST_COST)
  (await import('./cost-of-file.ts')).measureFiles(file, beside ?? [], process.env.PAY_TEST_COST);
/** Closing what the last test has opened may take a while on a slow machine. */
const patienceMs = Number(process.env.PAY_TEST_PATIENCE_MS ?? 30_000);

registerCompletionHandler(() => {
  const patience = setTimeout(() => {
    console.error(`# ${file} has run its tests and was kept alive by: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
  }, patienceMs);
  patience.unref();
});

if (beside?.length) await (await import('./together.ts')).loadBeside(file, beside);

function readShared(path: string): Record<string, string[] | undefined> {
  return JSON.parse(readFileSync(path, 'utf8'));
}
