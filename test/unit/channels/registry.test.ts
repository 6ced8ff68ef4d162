import test from 'ava';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import { CHANNELS } from '../../../server/domain.ts';
import { exponentOf } from '../../../server/money.ts';

for (const [payWay, kind] of CHANNEL_KINDS) {
  test(`${payWay}: the registry entry is consistent`, (t) => {
    t.is(kind.payWay, payWay);
    t.truthy(kind.scenes[kind.defaultScene]);
    t.true(kind.currencies.includes(kind.defaultCurrency));
    for (const currency of kind.currencies) t.not(exponentOf(currency), undefined, currency);
    const names = [...kind.fields.map(({ name }) => name), ...kind.certKinds.map((cert) => cert.kind)];
    t.is(new Set(names).size, names.length);
    t.true(kind.fields.every(({ requiredIn }) => requiredIn.every((mode) => kind.modes.includes(mode))));
    for (const scene of Object.values(kind.scenes)) t.true(scene.maxSeconds > kind.limits.minExpirySeconds);
  });

  test(`${payWay}: the shared channel facts match the channel kind`, (t) => {
    const { name, certKinds, onlyCurrency, handsOutCerts, registers } = CHANNELS[payWay];
    t.is(name.en, kind.name);
    t.deepEqual(Object.keys(certKinds).toSorted(), kind.certKinds.map((cert) => cert.kind).toSorted());
    t.is(onlyCurrency, kind.currencies.length === 1 ? kind.defaultCurrency : undefined);
    t.is(handsOutCerts, kind.downloadCerts && true);
    t.is(registers !== undefined, kind.registerNotifications !== undefined);
  });

  test(`${payWay}: an empty configuration reports its missing fields`, (t) => {
    for (const mode of kind.modes) {
      const missing = kind.missing(mode, {}, new Set());
      t.true(missing.length > 0);
      const known = new Set([...kind.fields.map(({ name }) => name), ...kind.certKinds.map((cert) => cert.kind)]);
      t.deepEqual(
        missing.filter((name) => !known.has(name)),
        [],
      );
    }
  });
}

test('an unknown channel name returns nothing', (t) => {
  for (const name of ['', 'constructor', '__proto__', 'Alipay']) t.is(CHANNEL_KINDS.get(name as 'alipay'), undefined);
});
