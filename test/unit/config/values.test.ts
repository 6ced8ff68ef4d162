import test from 'ava';
import type { z } from 'zod';
import { address, databaseUrl, listen, masterKey, network, origin } from '../../../config/values.ts';

function read<T>(type: z.ZodType<T>, text: string): T | undefined {
  return type.safeParse(text).data;
}

test('listen accepts names, IPv4 and bracketed IPv6', (t) => {
  t.deepEqual(read(listen, 'localhost:0'), { host: 'localhost', port: 0 });
  t.deepEqual(read(listen, '0.0.0.0:65535'), { host: '0.0.0.0', port: 65535 });
  t.deepEqual(read(listen, '[::]:8080'), { host: '::', port: 8080 });
  t.is(read(listen, '0.0.0.0:65536'), undefined);
});

test('an origin is normalized as in browsers', (t) => {
  t.is(read(origin, 'HTTPS://Pay.Shop.Example/'), 'https://pay.shop.example');
  t.is(read(origin, 'https://pay.shop.example:443'), 'https://pay.shop.example');
  t.is(read(origin, 'http://[::1]:8080'), 'http://[::1]:8080');
  t.is(read(origin, 'https://pay.shop.example\\@evil.example'), undefined);
  t.is(read(origin, 'https://pay.shop.example/\n'), undefined);
});

test('an address is kept unchanged, because issuers are compared exactly', (t) => {
  t.is(read(address, 'https://Id.Shop.Example/pay/'), 'https://Id.Shop.Example/pay/');
  t.is(read(address, 'https://id.shop.example/?x'), undefined);
});

test('a bare address is a range of one', (t) => {
  t.is(read(network, '127.0.0.1'), '127.0.0.1/32');
  t.is(read(network, '::1'), '::1/128');
  t.is(read(network, '0.0.0.0/0'), '0.0.0.0/0');
  t.is(read(network, '10.0.0.0/08'), '10.0.0.0/8');
  t.is(read(network, '010.0.0.0/8'), undefined);
});

test('a database is a folder or a PostgreSQL address with a database name, by host or by socket', (t) => {
  for (const text of ['pglite://./x', 'postgresql://h/d', 'postgres://u:p@h:5432/d?sslmode=require']) {
    t.is(read(databaseUrl, text), text);
  }
  t.is(read(databaseUrl, 'postgres:///pay?host=/run/postgresql'), 'postgres:///pay?host=/run/postgresql');
  t.is(read(databaseUrl, 'postgres:///pay'), undefined);
  t.is(read(databaseUrl, 'pglite://a\0b'), undefined);
});

test('a database URL with an unencoded character in its password is refused, as parts of the password would be read as the host', (t) => {
  const read$ = (login: string, rest = 'db.example/pay') => read(databaseUrl, `postgres://${login}@${rest}`);
  for (const password of ['p@ss', 'p@ss/word', 'pa/ss', '12/ss', '12#ss', '12?ss', 'p@s/a?x', 'p@ss#x', 'p@ss?x=1'])
    t.is(read$(`pay:${password}`), undefined, password);
  t.is(read$('p@y'), undefined);
  t.truthy(read$('pay', 'db.example/pay?application_name=a@b'), 'a value of the query');
  for (const password of ['p%40ss', 'p%40ss%2Fword', '12%23ss', 'a:b', 'a%25'])
    t.is(read$(`pay:${password}`), `postgres://pay:${password}@db.example/pay`);
});

test('a master key is the canonical base64 of 32 bytes, with the start of its SHA-256 as id', (t) => {
  t.deepEqual(read(masterKey, Buffer.alloc(32).toString('base64')), { id: '66687aad', key: Buffer.alloc(32) });
  t.is(read(masterKey, Buffer.alloc(33).toString('base64')), undefined);
  t.is(read(masterKey, Buffer.alloc(32).toString('base64url')), undefined);
  t.is(read(masterKey, ` ${Buffer.alloc(32).toString('base64')}`), undefined);
});
