import test from 'ava';
import { readPrivateKey, readPublicKey, roundsToOpen } from '../../../server/credentials/pem.ts';
import { bitString, integer, objectId, octetString, sequence } from '../../../server/simulator/certificates.ts';
import { fixture, keyOf, pemOf, publicOf } from './material.ts';

const key = keyOf('app.key');
const passphrase = 'open sesame';
const hashed = sequence(objectId('1.2.840.113549.2.9'));
const cipher = sequence(objectId('2.16.840.1.101.3.4.1.42'), octetString(Buffer.alloc(16)));

/** An encrypted key (PBES2, RFC 8018 §6.2) with this key derivation. */
function encrypted(derivation: Buffer): Buffer {
  const algorithm = sequence(objectId('1.2.840.113549.1.5.13'), sequence(derivation, cipher));
  return sequence(algorithm, octetString(Buffer.alloc(64)));
}

function pbkdf2(rounds: string): Buffer {
  const salt = octetString(Buffer.alloc(8));
  const parameters = sequence(salt, integer(Buffer.from(rounds, 'hex')), hashed);
  return encrypted(sequence(objectId('1.2.840.113549.1.5.12'), parameters));
}

function scrypt(): Buffer {
  const numbers = ['4000', '08', '4000'].map((hex) => integer(Buffer.from(hex, 'hex')));
  const parameters = sequence(octetString(Buffer.alloc(8)), ...numbers);
  return encrypted(sequence(objectId('1.3.6.1.4.1.11591.4.11'), parameters));
}

function toPem(der: Buffer, label = 'ENCRYPTED PRIVATE KEY'): string {
  return `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;
}

function codeOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

test('the rounds are those in the key, independent of the rest of it', (t) => {
  const der = Buffer.from(pemOf(key, passphrase).replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  t.is(roundsToOpen(der), 2048);
  t.is(roundsToOpen(pbkdf2('7fffffff')), 2 ** 31 - 1);
  t.is(roundsToOpen(pbkdf2(`00${'ff'.repeat(20)}`)), Number(`0x${'ff'.repeat(20)}`));
  t.is(roundsToOpen(scrypt()), Number.POSITIVE_INFINITY);
});

test('an unencrypted, truncated or indefinite-length key has no round count', (t) => {
  const plain = key.export({ type: 'pkcs8', format: 'der' });
  const good = pbkdf2('0800');
  const bad = [plain, good.subarray(0, 40), Buffer.from('30800000', 'hex'), Buffer.alloc(0), Buffer.from([0x30])];
  for (const der of [...bad, Buffer.concat([good, good])]) t.is(roundsToOpen(der), Number.NaN);
  for (let at = 0; at < good.length; at += 1)
    t.notThrows(() => roundsToOpen(Buffer.concat([good.subarray(0, at), Buffer.from([0xff]), good.subarray(at + 1)])));
});

test('a key with an expensive derivation is refused before it is decrypted', (t) => {
  for (const der of [pbkdf2('7fffffff'), pbkdf2('0186a1'), scrypt()])
    t.is(
      codeOf(() => readPrivateKey(toPem(der), passphrase)),
      'passphrase_too_costly',
    );
  const hidden = `${pemOf(key, passphrase)}${toPem(pbkdf2('7fffffff'))}`;
  t.true(readPrivateKey(hidden, passphrase).equals(key), 'the block that was measured is the one that is opened');
  t.is(
    codeOf(() => readPrivateKey(`${toPem(pbkdf2('7fffffff'))}${pemOf(key)}`, passphrase)),
    'passphrase_too_costly',
  );
  t.is(
    codeOf(() => readPrivateKey(toPem(Buffer.from('3000', 'hex')), passphrase)),
    'not_a_private_key',
  );
});

test('ordinary and legacy encrypted keys are decrypted, and a wrong passphrase is reported', (t) => {
  t.true(readPrivateKey(pemOf(key, passphrase), passphrase).equals(key));
  const old = String(key.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase }));
  t.true(readPrivateKey(old, passphrase).equals(key));
  t.is(
    codeOf(() => readPrivateKey(pemOf(key, passphrase), 'wrong')),
    'passphrase_wrong',
  );
  t.is(
    codeOf(() => readPrivateKey(pemOf(key, passphrase), undefined)),
    'passphrase_required',
  );
});

test('a modulus that makes signatures slow is refused, and later keys are unaffected', (t) => {
  const modulus = Buffer.alloc(2048 + 1, 0xff);
  modulus[0] = 0x7f;
  const huge = sequence(
    sequence(objectId('1.2.840.113549.1.1.1'), Buffer.from('0500', 'hex')),
    bitString(sequence(integer(modulus), integer(Buffer.from('010001', 'hex')))),
  );
  t.is(
    codeOf(() => readPublicKey(toPem(huge, 'PUBLIC KEY'))),
    'key_too_large',
  );
  t.is(
    codeOf(() => readPublicKey(publicOf(fixture('app.key')))),
    undefined,
  );
});
