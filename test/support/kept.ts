import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `npm test` removes it at its end; a file that is run alone has its own. */
function folderOfRun(): string {
  if (process.env.PAY_TEST_KEPT) return process.env.PAY_TEST_KEPT;
  const folder = mkdtempSync(join(tmpdir(), 'pay-test-kept-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let base: string | undefined;
const kept = new Map<string, Promise<string>>();

/** A folder with what is dear to make and the same for all files of a run: the first that needs it makes it. Nobody changes it. */
export function keptFolder(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const known = kept.get(name) ?? keep(join((base ??= folderOfRun()), name), make);
  kept.set(name, known);
  return known;
}

async function keep(folder: string, make: (folder: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder;
  const draft = mkdtempSync(`${folder}-`);
  await make(draft);
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another file was faster.
    if (!existsSync(folder)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}
