import test from 'ava';
import { bannerOf } from '../../../cli/commands/server.ts';
import type { ReadyFacts } from '../../../server/workers/life.ts';

const FACTS: ReadyFacts = {
  version: '1.2.3',
  address: 'http://127.0.0.1:8080',
  publicUrl: 'http://127.0.0.1:8080',
  explorer: 'http://127.0.0.1:8080/swagger/index.html',
  metrics: 'http://127.0.0.1:9464/metrics',
  simulator: 'http://127.0.0.1:8081',
  database: '/srv/pay/data/pglite',
  schema: '0028',
  debug: true,
  lacks: 'administrator',
  pid: 7,
};

const plain = (_look: unknown, text: string) => text;
const draw = (change: Partial<ReadyFacts> = {}) =>
  bannerOf({ ...FACTS, ...change }, plain)
    .trim()
    .split(/\n+ */);

test('a first start shows every address and the next step', (t) => {
  t.deepEqual(draw(), [
    'Unified payment service 1.2.3',
    'API        http://127.0.0.1:8080',
    'Explorer   http://127.0.0.1:8080/swagger/index.html',
    'Simulator  http://127.0.0.1:8081',
    'Metrics    http://127.0.0.1:9464/metrics',
    'Database   /srv/pay/data/pglite (embedded)',
    'Debug      on: the secrets of the test applications are public',
    'Next       payctl bootstrap admin -u admin',
    'Stop the service first.',
    'Stop       Ctrl-C',
  ]);
});

test('in production the banner shows the configured parts and the public address with its listen address', (t) => {
  const production = {
    publicUrl: 'https://pay.shop.example',
    explorer: null,
    simulator: null,
    database: 'db.internal:5432',
    debug: false,
    workers: 4,
  };
  t.deepEqual(draw({ ...production, lacks: null }), [
    'Unified payment service 1.2.3',
    'API        https://pay.shop.example (listens on 127.0.0.1:8080)',
    'Metrics    http://127.0.0.1:9464/metrics',
    'Database   db.internal:5432 (PostgreSQL)',
    'Workers    4',
    'Next       payctl doctor',
    'Stop       Ctrl-C',
  ]);
  t.deepEqual(draw({ ...production, lacks: 'channel' }).slice(-3, -1), [
    'Next       payctl channel set alipay',
    'Or one of these channels: wechat, paypal.',
  ]);
  t.true(draw(production).includes('Next       payctl bootstrap admin -u admin'), 'PostgreSQL lets both in');
});

test('no line is wider than 80 columns', (t) => {
  t.deepEqual(
    draw({ workers: 4 }).filter((line) => line.length > 78),
    [],
  );
});
