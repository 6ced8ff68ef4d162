import { chmodSync, existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { LocalError } from '../errors.ts';
import { type FolderHolder, LOCK_FILE, lockFolder, makeFolder, nameHolder } from '../folder-lock.ts';

/** The embedded database is open in another process. */
export class FolderHeld extends LocalError {
  constructor(folder: string, holder: Partial<FolderHolder>) {
    super('database_in_use', 503, `The embedded database ${folder} is in use by ${nameHolder(holder)}.`, {
      retryable: true,
      extra: { ...holder },
      hint: 'Stop that process, rerun this command, then start it again.',
    });
  }
}

/**
 * Takes the folder of an embedded database, made if it is not there; gives its real path, which the database needs, and its
 * release. Throws FolderHeld. The folder and whatever this process writes from now on are for its own user only.
 */
export function takeFolder(named: string): { folder: string; release: () => void } {
  process.umask(0o077);
  makeNamed(named);
  const folder = realpathSync(named);
  const release = lockFolder(folder, {
    key: 'Database.Url',
    refuse: (holder) => new FolderHeld(named, holder),
  });
  if ((statSync(folder).mode & 0o077) !== 0) tighten(folder);
  return { folder, release };
}

/** A link that leads nowhere is a volume that is not mounted rather than a place for a new database. */
function makeNamed(named: string): void {
  if (!existsSync(named) && isLink(named))
    throw new LocalError('folder_unusable', 503, `${named} is a symbolic link to a folder that does not exist.`, {
      hint: 'Mount or make the folder that it leads to, or change Database.Url.',
    });
  makeFolder(named, 'Database.Url');
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** A volume may belong to somebody else, who has decided on its mode. */
function tighten(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

interface NodeFiles {
  readdir(node: unknown): string[];
}

/**
 * Keeps the lock's files from the database inside the folder. It would find the folder not empty and refuse to begin, and
 * a backup that reads the lock's file would give the lock free by closing it.
 */
export const hideLock = {
  name: 'hide the lock',
  async setup(_database: unknown, options: { preRun?: unknown[] }) {
    const hide = ({ FS }: { FS: { filesystems: { NODEFS: { node_ops: NodeFiles } } } }): void => {
      const files = FS.filesystems.NODEFS.node_ops;
      const { readdir } = files;
      files.readdir = (node) => readdir(node).filter((name) => !name.startsWith(LOCK_FILE));
    };
    return { emscriptenOpts: { ...options, preRun: [...(options.preRun ?? []), hide] } };
  },
};
