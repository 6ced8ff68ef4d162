import type { ExecutionContext } from 'ava';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const SHARED_MEMORY = '/dev/shm';

/**
 * Returns a folder in memory if it has room for the files of a run and may contain programs. Tests create and remove hundreds of thousands
 * of files; on a disk, the search for free inodes alone takes a tenth of the processors.
 */
export function roomInMemory(): string | undefined {
  if (!existsSync(SHARED_MEMORY) || !existsSync('/proc/mounts')) return undefined;
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === SHARED_MEMORY);
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return mount && !/\bnoexec\b/.test(mount) && bavail * bsize > 8 * 2 ** 30 ? SHARED_MEMORY : undefined;
}

/** A temporary folder with the given files (name → text); removed when the test ends. */
export function temporaryFolder(
  t: Pick<ExecutionContext, 'teardown'>,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pay-test-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
