import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { bundled } from '../support/built.ts';
import { Webhook } from 'standardwebhooks';
import { startReceiver } from '../support/receiver.ts';
import { runPayctl, type Result } from './payctl.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';

const bin = await bundled(fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url)));

/** Runs the service as its own process until `stop`; resolves when it is ready. */
async function startService(
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<() => Promise<number | null>> {
  const child = spawn(process.execPath, [bin, 'server', 'start', '--config', 'pay.toml'], {
    cwd,
    env: { ...process.env, ...env },
  });
  let log = '';
  const ready = new Promise<void>((resolve, reject) => {
    const listen = (part: Buffer): void => {
      log += part.toString();
      if (log.includes('"msg":"ready"')) resolve();
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}: ${log}`)));
  });
  await ready;
  return async () => {
    if (child.exitCode !== null) return child.exitCode;
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  };
}

test('payctl sets up a service in an empty folder, takes a payment and refunds it', async (t) => {
  const cwd = temporaryFolder(t);
  const [http, simulator, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  const address = (port: number): string => `127.0.0.1:${port}`;
  const server = `http://${address(http)}`;
  const lines = [
    'Debug = true',
    '[Server]',
    `Listen = "${address(http)}"`,
    `PublicUrl = "${server}"`,
    '[Database]',
    'Url = "pglite://./db"',
    '[Simulator]',
    `Listen = "${address(simulator)}"`,
    'Dir = "./sim"',
    '[Metrics]',
    `Listen = "${address(metrics)}"`,
  ];
  await writeFile(join(cwd, 'pay.toml'), `${lines.join('\n')}\n`);
  await writeFile(join(cwd, 'alice.password'), 'nine-tidy-green-anchors\n');
  const env = { PAYCTL_CONFIG_DIR: join(cwd, 'payctl'), PAYCTL_SIMULATOR: `http://${address(simulator)}` };
  // The tokens of the real service expire by the real clock.
  const payctl = (line: string): Promise<Result> => runPayctl(line.split(' '), { cwd, env, now: () => new Date() });
  const done = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await payctl(line);
    t.is(code, 0, `${line}\n${stderr}`);
    return stdout.trimEnd();
  };

  t.is(
    (await payctl('bootstrap admin --username alice --password-file alice.password --config pay.toml')).code,
    2,
    'no silent migration',
  );
  t.is(
    await done(
      'bootstrap admin --username alice --merchant-name Teahouse --password-file alice.password --config pay.toml --migrate -q',
    ),
    'alice',
  );
  t.is((await payctl('bootstrap admin --username bob --password-file alice.password --config pay.toml')).code, 6);
  t.deepEqual(
    JSON.parse(
      await done('bootstrap admin --username bob --password-file alice.password --config pay.toml --if-none --json'),
    ),
    { changed: false },
  );
  const clientId = await done(
    'bootstrap app --name shop --scope payment:write,payment:read --secret-file shop.secret --config pay.toml -q',
  );
  t.is((await stat(join(cwd, 'shop.secret'))).mode & 0o777, 0o600);

  const stop = await startService(cwd, env);
  t.teardown(async () => void (await stop()));
  const held = await payctl('bootstrap status --config pay.toml');
  t.is(held.code, 7);
  t.regex(held.stderr, /in use by process \d+/);
  await done(`login --server ${server} -u alice --password-file alice.password`);
  t.is(await done('project get default --fields name'), 'Teahouse');
  t.regex(await done('status --fields part,status'), /^service\tup\ndatabase\tup\nalipay\tup/);

  for (const payWay of ['alipay', 'wechat']) {
    const orderNo = await done(`pay --subject Tea --amount 12.50 --pay-way ${payWay} -q`);
    await done(`simulator pay ${orderNo}`);
    await done(`order sync ${orderNo}`);
    t.is(await done(`order get ${orderNo} --fields status,amountMinor`), 'paid\t1250');
    t.is(await done(`refund create ${orderNo} --amount 2.50 -y --fields refundAmount`), '2.5');
    t.is((await payctl(`order close ${orderNo} -y`)).code, 6);
    t.is((await payctl(`refund create ${orderNo} --amount 10.01 -y`)).code, 1);
    t.regex(await done(`order timeline ${orderNo}`), /pending → paid/);
  }
  t.is(JSON.parse(await done('order list --all --json')).length, 2);
  const merchant = JSON.parse(await done(`api /api/v2/me --app ${clientId} --secret-file shop.secret`)) as {
    data: { client_id: string };
  };
  t.is(merchant.data.client_id, clientId);
  await done(`app rotate-secret ${clientId} --confirm ${clientId} --secret-file new.secret`);
  t.not(await readFile(join(cwd, 'new.secret'), 'utf8'), await readFile(join(cwd, 'shop.secret'), 'utf8'));
  t.is((await payctl(`api /api/v2/me --app ${clientId} --secret-file shop.secret`)).code, 4);
  await done(`app update ${clientId} --scope payment:write,payment:read,webhook:read,webhook:write`);
  await done('logout');
  t.is((await payctl('whoami')).code, 4);

  // From here on a merchant, who has only the credentials of the application.
  const own = { ...env, PAYCTL_CONFIG_DIR: join(cwd, 'merchant') };
  const merchantRuns = (line: string) => runPayctl(line.split(' '), { cwd, env: own, now: () => new Date() });
  const merchantDone = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await merchantRuns(line);
    t.is(code, 0, `${line}\n${stderr}`);
    return stdout.trimEnd();
  };
  await merchantDone(`login --server ${server} --client-id ${clientId} --client-secret-file new.secret`);
  t.is(
    await merchantDone('whoami --fields name,project,scopes'),
    'shop\tdefault\tpayment:write,payment:read,webhook:read,webhook:write',
  );
  const orderNo = await merchantDone('pay --subject Tea --amount 12.50 --pay-way alipay -q');
  await merchantDone(`simulator pay ${orderNo}`);
  const receiver = await startReceiver(t);
  const listen = `event listen --types order.paid --since 1h --count 1 --interval 0.1 --forward-to ${receiver.url}`;
  const heard = await merchantRuns(listen);
  t.is(heard.code, 0, heard.stderr);
  const [, signing = ''] = /Signing with (whsec_\S+) /.exec(heard.stderr) ?? [];
  const { headers, body } = receiver.received[0]!;
  const event = new Webhook(signing).verify(body, headers as Record<string, string>);
  t.is((event as { data: { object: { orderNo: string } } }).data.object.orderNo, orderNo);
  t.is(await merchantDone(`order get ${orderNo} --fields status,amountMinor`), 'paid\t1250');
  t.is(await merchantDone('order list --status paid -q'), orderNo);
  const refundNo = await merchantDone(`refund create ${orderNo} --amount 2.50 -y -q`);
  t.is(await merchantDone(`refund get ${refundNo} --fields refundAmount`), '2.5');
  t.is(await merchantDone(`refund list --order ${orderNo} -q`), refundNo);
  t.is((await merchantRuns(`order close ${orderNo} -y`)).code, 6);
  t.is(await merchantDone('dispute list -q'), '');
  t.is((await merchantRuns('event list -q')).stdout.split('\n')[0]?.slice(0, 4), 'evt_');
  t.is((await merchantRuns('app webhook get')).code, 3);
  await merchantDone(
    'app webhook set --url https://shop.example/hooks --types dispute.opened --secret-file hook.secret',
  );
  t.is(await merchantDone('app webhook get --fields url,enabled'), 'https://shop.example/hooks\ttrue');
  await merchantDone('app webhook rotate --grace 1h -y --secret-file hook-2.secret');
  t.not(await readFile(join(cwd, 'hook-2.secret'), 'utf8'), await readFile(join(cwd, 'hook.secret'), 'utf8'));
  t.is(await merchantDone('app webhook deliveries -q'), '');
  await merchantDone(`app webhook delete --confirm ${clientId}`);
  t.is((await merchantRuns('app webhook get app_other')).code, 5);
  t.is((await merchantRuns('skillpay list')).code, 5, 'a scope that the application lacks');
  t.regex(
    (await merchantRuns('skillpay list')).stderr,
    new RegExp(`payctl app update ${clientId} --add-scope skillpay:call`),
  );
  t.regex(await merchantDone(`order timeline ${orderNo}`), /pending → paid/);
  t.regex(
    await merchantDone(`explain ${orderNo}`),
    /^order\t.+\tpartially_refunded\n(?:.*\n)*why\tThe order is paid and partially refunded/,
  );
  t.is((await merchantRuns('order sync P1')).code, 5);
  await merchantDone('logout');
  t.is((await merchantRuns('whoami')).code, 4);
  t.is(await stop(), 0);
});
