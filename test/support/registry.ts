import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The registry that this machine uses. */
const UPSTREAM = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim().replace(/\/$/, '');

/** A way to the npm registry that writes down what is asked for. */
export interface WatchedRegistry {
  url: string;
  asked: string[];
  /** Why the registry itself did not answer. */
  unreachable: string[];
  close(): void;
}

/** A package that is published here: its archive, and its package.json. */
export interface Published {
  archive: Buffer;
  manifest: { name: string; version: string };
}

/** Passes reads on to the npm registry, but for what is published here; addresses of archives lead here again. */
export async function watchRegistry({ archive, manifest }: Published): Promise<WatchedRegistry> {
  const asked: string[] = [];
  const unreachable: string[] = [];
  // As registries do: npm follows the lock of a package only if this says that it has one.
  const described = (): unknown => ({
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: {
      [manifest.version]: {
        ...manifest,
        _hasShrinkwrap: true,
        dist: {
          tarball: `${url}/${manifest.name}.tgz`,
          integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
        },
      },
    },
  });
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    if (path === `/${manifest.name}`) return void response.end(JSON.stringify(described()));
    if (path === `/${manifest.name}.tgz`) return void response.end(archive);
    const { accept = '*/*' } = request.headers;
    fetch(UPSTREAM + path, { headers: { accept } })
      .then(async (answer) => {
        const type = answer.headers.get('content-type') ?? 'application/octet-stream';
        const bytes = Buffer.from(await answer.arrayBuffer());
        const body = type.includes('json') ? bytes.toString('utf8').replaceAll(UPSTREAM, url) : bytes;
        response.writeHead(answer.status, { 'content-type': type }).end(body);
      })
      .catch((error: unknown) => {
        unreachable.push(`${path}: ${String((error as Error).cause ?? error)}`);
        response.writeHead(502).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, unreachable, close: () => void server.close().closeAllConnections() };
}
