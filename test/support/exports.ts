import type { ExecutionContext } from 'ava';
import type { FileService } from './file-service.ts';

/** The token of a viewer of a file's service, for answers that must be seen as bytes. */
export async function viewerToken({ admin, nobody }: Pick<FileService, 'admin' | 'nobody'>): Promise<string> {
  const account = { username: 'marked', password: 'nine-tidy-green-anchors' };
  await admin('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  return (await nobody('POST', '/api/v1/login', account)).body.data.token;
}

/** Asserts that an export begins with the UTF-8 mark exactly where it is CSV and the mark was asked for, and is the same otherwise. */
export async function assertMarked(t: ExecutionContext, url: string, token: string): Promise<void> {
  const bytes = async (more: string) => {
    const answer = await fetch(url + more, { headers: { authorization: `Bearer ${token}` } });
    t.is(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  };
  const plain = await bytes('');
  t.true(plain.length > 100);
  t.deepEqual(await bytes('&bom=true'), Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain]));
  t.deepEqual(await bytes('&bom=false'), plain);
  t.is((await bytes('&bom=true&format=ndjson'))[0], '{'.charCodeAt(0));
}
