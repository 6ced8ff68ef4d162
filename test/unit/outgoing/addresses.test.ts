import test from 'ava';
import { addressGuard } from '../../../server/outgoing/sender.ts';

const mayReach = addressGuard([]);

test('local, private and reserved addresses are refused in every spelling', (t) => {
  const refused = [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'ff02::1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '2002:7f00:1::',
    '2001:0:7f00:1::1',
    '::ffff:0:127.0.0.1',
    '::ffff:0:a9fe:a9fe',
    '100::1',
    '192.88.99.1',
    'fe80::1%eth0',
    'not an address',
    '',
  ];
  for (const address of refused) t.false(mayReach(address), address);
});

test('public addresses are allowed', (t) => {
  const open = [
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '198.17.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '::ffff:1.1.1.1',
  ];
  for (const address of open) t.true(mayReach(address), address);
});

test('only the allowed ranges open private addresses', (t) => {
  const some = addressGuard(['10.1.0.0/16', '::1/128', '127.0.0.1']);
  for (const address of ['10.1.2.3', '::1', '127.0.0.1', '::ffff:10.1.2.3', '1.1.1.1']) t.true(some(address), address);
  for (const address of ['10.2.0.1', '127.0.0.2', 'fc00::1']) t.false(some(address), address);
});
