import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { migratedFile } from '../support/database.ts';
import { guideText } from '../house/guide-text.ts';
import { until } from '../support/service.ts';
import { isReady, openWithPayctl, runSamples } from './tour/samples.ts';

/** The commands of a guide, which are the same in both languages. */
function commandsOf(slug: string): string[] {
  return guideText(slug, 'en')
    .blocks.filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
}

test('the commands of the guides work as described', async (t) => {
  // cli/service.test.ts covers the same bootstrap and start with an empty folder.
  const stage = await openWithPayctl(t, await migratedFile());
  const [bootstrap = '', ...integrate] = commandsOf('integrate');
  await runSamples(t, stage, [bootstrap]);
  await stage.start();
  await isReady(stage);
  const parts = {
    integrate,
    // A program that is started in the reader's shell.
    program: [`sh -c 'echo "$CLIENT_ID $CLIENT_SECRET"'`],
    webhooks: commandsOf('webhooks'),
    idempotency: commandsOf('idempotency'),
    limits: commandsOf('rate-limits'),
    simulator: commandsOf('simulator'),
    calls: commandsOf('pay-per-call'),
  };
  const printed = await runSamples(t, stage, Object.values(parts).flat());
  const outputOf = (name: keyof typeof parts): string => {
    const names = Object.keys(parts) as (keyof typeof parts)[];
    const before = names.slice(0, names.indexOf(name)).flatMap((one) => parts[one]);
    return printed.slice(before.length, before.length + parts[name].length).join('\n');
  };
  t.regex(outputOf('integrate'), /\bpaid\b/);
  t.regex(outputOf('program'), /^app_\w+ pays_/);
  t.regex(outputOf('webhooks'), /^url\thttps:\/\/shop\.example\/hooks$[^]*^previousSecretExpiresAt\t20/m);
  for (const file of ['hook.secret', 'hook.secret.new'])
    t.regex(readFileSync(join(stage.folder, file), 'utf8'), /^whsec_/, file);
  t.regex(
    outputOf('idempotency'),
    /HTTP\/1\.1 201 Created[^]*idempotent-replayed: true[^]*"code":"idempotency_conflict"/i,
  );
  t.regex(outputOf('limits'), /"data":\[\]/);
  t.regex(outputOf('simulator'), /\bdeclined\b[^]*\b(approved|captured)\b[^]*commit-then-timeout/);
  const declined = ['event', 'list', '--types', 'order.payer_action_required', '-o', 'json'];
  await until('the event of a declined PayPal payment', async () => {
    const { code, stdout } = await stage.payctl(declined);
    return code === 0 && stdout.includes('order.payer_action_required');
  });
  t.regex(outputOf('calls'), /"alreadyFulfilled":false[^]*"status":"(processing|succeeded)"/);
});
