import test from 'ava';
import { environmentName } from '../../../config/schema.ts';
import { listenAs } from '../../../server/http/address.ts';
import { type LocalCode, LocalError } from '../../../server/errors.ts';

const at = { host: '10.0.0.9', port: 80 };

/** Fails as `listen` of Node.js does. */
const fails = (code: string) => () => Promise.reject(Object.assign(new Error(`listen ${code}`), { code }));

const FAULTS: readonly [code: string, told: LocalCode, status: number, says: RegExp, hint: RegExp][] = [
  ['EADDRINUSE', 'address_in_use', 409, /10\.0\.0\.9:80 is already in use/, /Stop the other process/],
  ['EACCES', 'address_unusable', 503, /may not be used by this user/, /above 1023/],
  ['EADDRNOTAVAIL', 'address_unusable', 503, /is not an address of this machine/, /0\.0\.0\.0/],
  ['ENOTFOUND', 'address_unusable', 503, /cannot be resolved/, /Use an IP address/],
  ['EAI_AGAIN', 'address_unusable', 503, /cannot be resolved/, /Use an IP address/],
];

for (const [code, told, status, says, hint] of FAULTS)
  test(`${code} is reported with the setting to change`, async (t) => {
    const error = await t.throwsAsync(listenAs('Metrics.Listen', at, fails(code)), { instanceOf: LocalError });
    t.like(error, { code: told, status });
    t.regex(error?.message ?? '', new RegExp(`^Metrics\\.Listen: .*${says.source}`));
    t.regex(
      error?.options.hint ?? '',
      new RegExp(`${hint.source}.*change Metrics\\.Listen \\(${environmentName('Metrics.Listen')}\\)`),
    );
    t.like(error?.cause, { code });
  });

test('an IPv6 address is reported in brackets', async (t) => {
  const listening = listenAs('Server.Listen', { host: '::1', port: 8080 }, fails('EADDRINUSE'));
  await t.throwsAsync(listening, { message: /\[::1\]:8080 is already in use/ });
});

test('an unknown error is passed on unchanged, and a success returns its value', async (t) => {
  await t.throwsAsync(listenAs('Server.Listen', at, fails('EMFILE')), { code: 'EMFILE' });
  t.is(await listenAs('Server.Listen', at, async () => 7), 7);
});
