// AVA loads it before each test file. The process bears the name of its file in every list of processes, and one that something keeps
// alive after its last test says what it is and ends, instead of holding up the run.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
process.title = file;
// Its databases and its children are known by it.
process.env.PAY_TEST_FILE = file;
if (process.env.PAY_TEST_COST)
  (await import('./cost-of-file.ts')).measureFile(file, test.meta.file, process.env.PAY_TEST_COST);
/** Closing what the last test has opened may take a while on a slow machine. */
const patienceMs = Number(process.env.PAY_TEST_PATIENCE_MS ?? 30_000);

registerCompletionHandler(() => {
  const patience = setTimeout(() => {
    console.error(`# ${file} has run its tests and was kept alive by: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
  }, patienceMs);
  patience.unref();
});
