import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { displayWidth } from '../../cli/terminal-text.ts';
import { operatorAt } from './operator.ts';
import { startService } from '../support/service.ts';

type Row = Record<string, unknown>;

test('channel test --products prints a table on a terminal, lines in a pipe, stable JSON, and exits with 1 when a product fails', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  for (const [payWay, proven] of [
    ['alipay', ['qr', 'code']],
    ['wechat', ['qr', 'h5', 'app']],
    ['paypal', ['redirect']],
  ] as const) {
    const answer = await payctl.json(`channel test ${payWay} --products`);
    t.like(answer, { payWay, ok: true, field: null, code: null });
    const ok = answer.checks.filter(({ about, status }: Row) => about === 'product' && status === 'ok');
    t.deepEqual(
      ok.map(({ name }: { name: string }) => /\((\w+)\)$/.exec(name)?.[1]),
      proven,
    );
    t.true((await payctl.json(`channel test ${payWay}`)).checks.every(({ status }: Row) => status !== 'failed'));
  }

  const post = (path: string, body: object) =>
    fetch(`${service.simulator.url}/sim${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  t.is((await post('/rotate', { payWay: 'wechat', what: 'products', to: 'native,app' })).status, 200);
  for (const columns of [80, 120, 200]) {
    const { code, stdout, stderr } = await payctl.payctl('channel test wechat --products qr,h5', {
      terminal: columns,
      env: { NO_COLOR: '1' },
    });
    t.is(code, 1, stderr);
    t.regex(stdout, /^ok +Native \(qr\)/m);
    const words = stdout.replaceAll(/\s+/g, ' ');
    t.regex(words, /fail H5 \(h5\) The merchant has not opened this product\. .* \(NO_AUTH, support id [\w-]+\)/);
    t.true(
      stdout.split('\n').every((line) => displayWidth(line) <= columns),
      stdout,
    );
  }
  const piped = await payctl.payctl('channel test wechat --products qr,h5');
  t.is(piped.code, 1);
  t.regex(piped.stdout, /^product\tH5 \(h5\)\tfailed\t\tNO_AUTH\t/m);
  t.regex(piped.stderr, /has not opened this product/);
  t.is((await payctl.payctl('channel test wechat --products qr')).code, 0, 'only the requested products count');
  const strange = await payctl.payctl('channel test wechat --products page');
  t.not(strange.code, 0);
  t.regex(strange.stderr, /WeChat Pay has no scene page/);
});

test('channel get and test name the domain, address and events that must be registered at the channel', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  const { hostname } = new URL(service.url);
  const found = async (line: string, name: string) =>
    (await payctl.json(line)).registrations.find((row: Row) => row['name'] === name);
  for (const verb of ['get', 'test']) {
    t.like(await found(`channel ${verb} wechat`, 'H5 payment domain'), {
      values: [hostname],
      scenes: ['h5'],
      by: 'hand',
    });
    const webhook = await found(`channel ${verb} paypal`, 'Webhook address');
    t.like(webhook, { values: [`${service.url}/notify/paypal/default`], by: 'payctl' });
    for (const columns of [80, 120, 200]) {
      const text = await payctl.done(`channel ${verb} wechat`, { terminal: columns, env: { NO_COLOR: '1' } });
      t.regex(text, /^To be registered at the channel$/m);
      t.regex(text, new RegExp(`^ {2}H5 payment domain \\(h5; by hand\\)\n {6}${hostname}$`, 'm'));
      const [, list = ''] = text.split('To be registered');
      t.true(
        list.split('\n').every((line) => displayWidth(line) <= columns),
        text,
      );
    }
  }
});

test('channel set reports the downloaded certificates, their expiry and the remaining manual steps', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  await writeFile(join(payctl.folder, 'same.toml'), 'mode = "simulator"\n');
  await service.sim('/sim/rotate', { payWay: 'wechat', what: 'platform-certificate' });
  const wechat = await payctl.payctl('channel set wechat -f same.toml');
  t.is(wechat.code, 0, wechat.stderr);
  t.regex(wechat.stderr, /^Already stored: wechat_platform_cert [0-9A-F]+, valid until \d{4}-\d\d-\d\d, trusted$/m);
  t.regex(wechat.stderr, /^Downloaded: wechat_platform_cert [0-9A-F]+, valid until \d{4}-\d\d-\d\d, trusted$/m);
  t.regex(wechat.stderr, /API does not supply the merchant certificate: renew it in the merchant platform/);
  const alipay = await payctl.payctl('channel set alipay -f same.toml');
  t.is(alipay.code, 0, alipay.stderr);
  t.regex(alipay.stderr, /copy Alipay's public key from the console/);
});
