// Loaded by AVA before each test file. The process title names the test file, and a process that is kept
// alive after its last test reports the cause and exits instead of blocking the run. In a run of many files some share a process.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';
import { keepRsaKeys } from '../support/kept.ts';
import { connectBySocket } from '../support/postgres.ts';

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
process.title = file;
// Identifies its databases and child processes.
process.env.PAY_TEST_FILE = file;
const beside = process.env.PAY_TEST_SHARED ? readShared(process.env.PAY_TEST_SHARED)[file] : undefined;
// A run inside a test has its own shared files.
delete process.env.PAY_TEST_SHARED;
if (process.env.PAY_TEST_KEPT) keepRsaKeys(join(process.env.PAY_TEST_KEPT, 'keys'));
if (process.env.PAY_TEST_POSTGRES) connectBySocket(process.env.PAY_TEST_POSTGRES);
if (process.env.PAY_TEST_COST)
  (await import('./cost-of-file.ts')).measureFiles(file, beside ?? [], process.env.PAY_TEST_COST);
/** Closing the resources of the last test may take a while on a slow machine. */
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
