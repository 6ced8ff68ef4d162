import test from 'ava';
import { createEncryption, keyIdOf, DecryptionFailed, type Place } from '../../../server/db/encryption.ts';
import { newMasterKey } from './stage.ts';

const place: Place = { table: 'channel_configs', id: 'one', column: 'encrypted', version: 1 };
const why = (error: unknown) => (error instanceof DecryptionFailed ? error.why : error);

test('an encrypted text is decrypted in its place, and each encryption differs', (t) => {
  const encryption = createEncryption([newMasterKey()]);
  for (const text of ['', 'secret', '密钥 🔑', 'x'.repeat(10_000)])
    t.is(encryption.open(place, encryption.encrypt(place, text)), text);
  t.not(encryption.encrypt(place, 'same'), encryption.encrypt(place, 'same'));
  t.false(encryption.encrypt(place, 'visible').includes('visible'));
});

test('an encrypted text cannot be decrypted in another table, row, column or version', (t) => {
  const encryption = createEncryption([newMasterKey()]);
  const encrypted = encryption.encrypt(place, 'secret');
  const others: Partial<Place>[] = [
    { table: 'certs' },
    { id: 'two' },
    { column: 'other' },
    { version: 2 },
    { table: 'channel_configso', id: 'ne' },
  ];
  for (const other of others) {
    const error = t.throws(() => encryption.open({ ...place, ...other }, encrypted), { instanceOf: DecryptionFailed });
    t.is(why(error), 'not_genuine');
  }
});

test('any changed character gives an error with the row and without the content', (t) => {
  const encryption = createEncryption([newMasterKey()]);
  const encrypted = encryption.encrypt(place, 'secret');
  for (let index = 0; index < encrypted.length; index++) {
    const other = encrypted[index] === 'A' ? 'B' : 'A';
    const error = t.throws(
      () => encryption.open(place, encrypted.slice(0, index) + other + encrypted.slice(index + 1)),
      {
        instanceOf: DecryptionFailed,
      },
    );
    t.regex(error?.message ?? '', /^channel_configs one cannot be decrypted: [a-z ,]+(?: \(key [0-9a-f]{8}\))?\.$/);
  }
  t.is(why(t.throws(() => encryption.open(place, encrypted.slice(0, -1)))), 'not_genuine');
  t.is(why(t.throws(() => encryption.open(place, ''))), 'malformed');
  t.is(why(t.throws(() => encryption.open(place, 'plain text'))), 'malformed');
});

test('the newest key encrypts, every key decrypts, and a missing key is named', (t) => {
  const [old, young] = [newMasterKey(), newMasterKey()];
  const before = createEncryption([old]);
  const encrypted = before.encrypt(place, 'secret');
  const both = createEncryption([young, old]);
  t.is(both.open(place, encrypted), 'secret');
  t.is(keyIdOf(both.encrypt(place, 'secret')), young.id);
  const error = t.throws(() => createEncryption([young]).open(place, encrypted), { instanceOf: DecryptionFailed });
  t.is(why(error), 'key_unknown');
  t.true(error?.message.includes(old.id));
});

test('rewrapping keeps the place and drops the old key, and a second run changes nothing', (t) => {
  const [old, young] = [newMasterKey(), newMasterKey()];
  const encrypted = createEncryption([old]).encrypt(place, 'secret');
  const encryption = createEncryption([young, old]);
  const moved = encryption.rewrap(encrypted);
  t.is(keyIdOf(moved), young.id);
  t.is(encryption.rewrap(moved), moved);
  t.is(createEncryption([young]).open(place, moved), 'secret');
  t.throws(() => createEncryption([young]).open({ ...place, id: 'two' }, moved), { instanceOf: DecryptionFailed });
  t.throws(() => createEncryption([young]).rewrap(encrypted), { instanceOf: DecryptionFailed });
});
