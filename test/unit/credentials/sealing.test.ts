import test from 'ava';
import { createSealing, keyIdOf, SealBroken, type Place } from '../../../server/db/sealing.ts';
import { newMasterKey } from './stage.ts';

const place: Place = { table: 'channel_configs', id: 'one', column: 'sealed', version: 1 };
const why = (error: unknown) => (error instanceof SealBroken ? error.why : error);

test('what was sealed opens in its place, and every sealing differs', (t) => {
  const sealing = createSealing([newMasterKey()]);
  for (const text of ['', 'secret', '密钥 🔑', 'x'.repeat(10_000)])
    t.is(sealing.open(place, sealing.seal(place, text)), text);
  t.not(sealing.seal(place, 'same'), sealing.seal(place, 'same'));
  t.false(sealing.seal(place, 'visible').includes('visible'));
});

test('it opens nowhere else: another table, row, column or version, nor with parts that run together', (t) => {
  const sealing = createSealing([newMasterKey()]);
  const sealed = sealing.seal(place, 'secret');
  const others: Partial<Place>[] = [
    { table: 'certs' },
    { id: 'two' },
    { column: 'other' },
    { version: 2 },
    { table: 'channel_configso', id: 'ne' },
  ];
  for (const other of others) {
    const error = t.throws(() => sealing.open({ ...place, ...other }, sealed), { instanceOf: SealBroken });
    t.is(why(error), 'not_genuine');
  }
});

test('any changed character breaks it with a word and the row, without content', (t) => {
  const sealing = createSealing([newMasterKey()]);
  const sealed = sealing.seal(place, 'secret');
  for (let index = 0; index < sealed.length; index++) {
    const other = sealed[index] === 'A' ? 'B' : 'A';
    const error = t.throws(() => sealing.open(place, sealed.slice(0, index) + other + sealed.slice(index + 1)), {
      instanceOf: SealBroken,
    });
    t.regex(error?.message ?? '', /^channel_configs one cannot be decrypted: [a-z ,]+(?: \(key [0-9a-f]{8}\))?\.$/);
  }
  t.is(why(t.throws(() => sealing.open(place, sealed.slice(0, -1)))), 'not_genuine');
  t.is(why(t.throws(() => sealing.open(place, ''))), 'malformed');
  t.is(why(t.throws(() => sealing.open(place, 'plain text'))), 'malformed');
});

test('the newest key seals, every key opens, and one that is gone is named', (t) => {
  const [old, young] = [newMasterKey(), newMasterKey()];
  const before = createSealing([old]);
  const sealed = before.seal(place, 'secret');
  const both = createSealing([young, old]);
  t.is(both.open(place, sealed), 'secret');
  t.is(keyIdOf(both.seal(place, 'secret')), young.id);
  const error = t.throws(() => createSealing([young]).open(place, sealed), { instanceOf: SealBroken });
  t.is(why(error), 'key_unknown');
  t.true(error?.message.includes(old.id));
});

test('rewrapping keeps the text in its place and forgets the old key; twice is once', (t) => {
  const [old, young] = [newMasterKey(), newMasterKey()];
  const sealed = createSealing([old]).seal(place, 'secret');
  const sealing = createSealing([young, old]);
  const moved = sealing.rewrap(sealed);
  t.is(keyIdOf(moved), young.id);
  t.is(sealing.rewrap(moved), moved);
  t.is(createSealing([young]).open(place, moved), 'secret');
  t.throws(() => createSealing([young]).open({ ...place, id: 'two' }, moved), { instanceOf: SealBroken });
  t.throws(() => createSealing([young]).rewrap(sealed), { instanceOf: SealBroken });
});
