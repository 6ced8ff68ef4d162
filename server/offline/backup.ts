import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import type { OpenDatabase } from '../db/orm.ts';
import { LocalError } from '../errors.ts';

/** Complete or not at all: written beside the target, then linked, which fails when the target exists. */
export async function backup(database: OpenDatabase, target: string): Promise<{ bytes: number }> {
  if (database.kind !== 'pglite')
    throw new LocalError(
      'backup_not_embedded',
      409,
      'Only the embedded database can be backed up this way; use pg_dump for PostgreSQL.',
    );
  const connection = database.orm.em.getConnection() as unknown as {
    getNativeClient(): Promise<{ dumpDataDir(compression: 'gzip'): Promise<Blob> }>;
  };
  const dump = await (await connection.getNativeClient()).dumpDataDir('gzip');
  const bytes = Buffer.from(await dump.arrayBuffer());
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
    await link(draft, target);
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return { bytes: bytes.length };
}
