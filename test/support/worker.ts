// AVA loads it before each test file. The process bears the name of its file in every list of processes, and one that something keeps
// alive after its last test says what it is and ends, instead of holding up the run.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
process.title = file;

registerCompletionHandler(() => {
  const patience = setTimeout(() => {
    console.error(`# ${file} has run its tests and was kept alive by: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
  }, 30_000);
  patience.unref();
});
