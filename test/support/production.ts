import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { copyOf, createDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { until } from './service.ts';

const run = promisify(execFile);

/** What the first hours with an installed package took (ms), and what its parts said. */
export interface FirstDay {
  startedMs: number;
  restoredMs: number;
  /** Output of the check of a restored backup. */
  restored: string;
}

/**
 * Goes through README.md, "Production", with a package that is installed in `home`: first administrator, start, login; then a restored
 * backup is proven. `health` is the command by which a container is asked whether it is well, for port 8080.
 */
export async function firstProductionDay(
  t: ExecutionContext,
  home: string,
  health: readonly string[],
): Promise<FirstDay> {
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const at = join(home, '..', 'day');
  mkdirSync(at);
  const [port, metrics] = [await freePort(), await freePort()];
  const secret = (name: string): string => {
    writeFileSync(join(at, name), randomBytes(32).toString('base64'), { mode: 0o600 });
    return join(at, name);
  };
  const toml = `[Server]\nListen = "127.0.0.1:${port}"\nPublicUrl = "https://pay.shop.example"\nTrustedProxies = 1\n[Metrics]\nListen = "127.0.0.1:${metrics}"\n[Database]\nUrl = "${url}"\n`;
  writeFileSync(join(at, 'pay.toml'), toml);
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    PAY_CONFIG: join(at, 'pay.toml'),
    PAY_JWT_SECRET_KEY_FILE: secret('jwt'),
    PAY_SECURITY_MASTER_KEY_FILE: secret('master'),
    PAYCTL_CONFIG_DIR: join(at, 'payctl'),
  };
  const program = join(home, 'dist/bin/payctl.js');
  const payctl = (line: string) => run(process.execPath, [program, ...line.split(' ')], { cwd: at, env });

  const began = performance.now();
  await payctl('bootstrap admin -u admin --generate --secret-file admin.password --migrate');
  const service = spawn(process.execPath, [program, 'server', 'start'], { cwd: at, env, stdio: 'ignore' });
  t.teardown(() => void service.kill('SIGKILL'));
  const [, ...words] = health.map((word) => word.replace(':8080', `:${port}`));
  await until('the service is well', () =>
    run(process.execPath, words).then(
      () => true,
      () => false,
    ),
  );
  const startedMs = performance.now() - began;
  await payctl(`login --server http://127.0.0.1:${port} -u admin --password-file admin.password`);
  const looked = await payctl('doctor --json').then(
    () => '[]',
    (ended: { stdout: string }) => ended.stdout,
  );
  const failed = (JSON.parse(looked) as { check: string; status: string }[]).filter(
    ({ status }) => status === 'failed',
  );
  t.deepEqual(
    failed.map(({ check }) => check),
    ['channels'],
    'all that a new service lacks is a channel',
  );
  service.kill('SIGTERM');
  t.deepEqual(await once(service, 'exit'), [0, null]);

  const backup = performance.now();
  writeFileSync(join(at, 'url'), await copyOf(t, url), { mode: 0o600 });
  const { stdout, stderr } = await payctl('server restore-check --url-file url -o table');
  return { startedMs, restoredMs: performance.now() - backup, restored: stdout + stderr };
}
