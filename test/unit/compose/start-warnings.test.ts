import test from 'ava';
import { startWarnings } from '../../../server/compose/http.ts';

const listens = { host: '127.0.0.1', port: 9090 };
const server = { publicUrl: 'http://127.0.0.1:9090', trustedProxies: 0 };
const config = { production: false, server, admin: { requireSecondFactor: false } };
const said = (change: object, at = listens) =>
  startWarnings({ ...config, ...change }, at).map(({ facts }) => facts['hint']);

test('a start in production warns if administrators need no second factor', (t) => {
  t.deepEqual(said({ production: true }), ['Admin.RequireSecondFactor']);
  t.deepEqual(said({ production: true, admin: { requireSecondFactor: true } }), []);
});

test('a start warns of a local public URL whose port the service does not listen on', (t) => {
  const url = (publicUrl: string, trustedProxies = 0) => said({ server: { publicUrl, trustedProxies } });
  t.deepEqual(said({}), []);
  t.deepEqual(url('http://127.0.0.1:8080'), ['Server.PublicUrl']);
  t.deepEqual(url('http://localhost'), ['Server.PublicUrl']);
  t.deepEqual(url('http://[::1]:8080'), ['Server.PublicUrl']);
  t.deepEqual(url('http://127.0.0.1:8080', 1), [], 'a proxy is in front of it');
  t.deepEqual(url('https://127.0.0.1:8080'), [], 'somebody else has the certificate');
  t.deepEqual(url('http://pay.example'), []);
  t.deepEqual(said({}, { host: '::', port: 9090 }), []);
});
