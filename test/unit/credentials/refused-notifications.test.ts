import test from 'ava';
import { randomUUID } from 'node:crypto';
import { createNoticed } from '../../../server/credentials/status.ts';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import { createStore } from '../../../server/db/store.ts';
import { changeFor, nearestRefusal, refusedOf } from '../../../server/payments/notification-refusal.ts';
import { postgresDatabase } from '../../support/database.ts';
import { createClock } from '../../support/service.ts';
import { fakeKind } from './stage.ts';

const OF = { project: 'default', payWay: 'wechat' } as const;
const UNSIGNED = { why: 'unsigned', detail: 'No headers.' } as const;
const DAY = 86_400;

test('refused notifications are counted by reason, a new reason starts a new count, and concurrent ones share one write', async (t) => {
  const { database } = await postgresDatabase(t);
  const store = createStore(database, async () => {});
  const clock = createClock();
  clock.stop();
  const begun = clock.now();
  const row = { version: 1, enabled: true, trustRevision: 0, certsExpireAt: null, updatedAt: begun };
  const health = { lastSuccessAt: null, lastFailureAt: null, lastFailure: null, lastNoticeAt: null };
  await store.transaction((tx) =>
    tx.channelStates.insert({ id: randomUUID(), ...OF, ...row, ...health, refusedNotices: null }),
  );
  const noticed = createNoticed({ store, now: clock.now, log: () => {} });
  const state = async () => {
    await noticed.idle();
    return (await store.read((tx) => tx.channelStates.find(OF)))!;
  };
  const shown = async () => refusedOf(fakeKind(), await state(), clock.now());

  for (let at = 0; at < 3; at += 1) noticed.note(OF, UNSIGNED);
  t.like(await shown(), { ...UNSIGNED, count: 1, since: begun, at: begun, isOpen: true });
  clock.advance(5);
  noticed.note(OF, UNSIGNED);
  t.like(await shown(), { count: 4, since: begun, at: clock.now() });

  noticed.note(OF, null);
  t.deepEqual((await state()).lastNoticeAt, clock.now());
  t.false((await shown())?.isOpen, 'a genuine one came after what anybody can post');
  clock.advance(5);
  noticed.note(OF, null);
  t.not((await state()).lastNoticeAt?.getTime(), clock.now().getTime(), 'once a minute is enough');

  noticed.note(OF, { why: 'misconfigured', detail: 'Not decrypted.' });
  t.like(await shown(), { why: 'misconfigured', count: 1, since: clock.now(), isOpen: true });
  clock.advance(60);
  noticed.note(OF, UNSIGNED);
  t.like(await shown(), { why: 'misconfigured' }, 'what anybody can post does not hide it');
  noticed.note(OF, null);
  t.true((await shown())?.isOpen, 'the channel itself signed it: another account may be in order');
  clock.advance(DAY + 1);
  t.false((await shown())?.isOpen);
  noticed.note(OF, { why: 'misconfigured', detail: 'Not decrypted.' });
  t.like(await shown(), { count: 1, since: clock.now(), isOpen: true }, 'after a day it is another story');

  noticed.note({ ...OF, project: 'without-a-row' }, UNSIGNED);
  await noticed.idle();
});

test('with several accounts the reason closest to acceptance is reported', (t) => {
  const nearest = (...whys: string[]) => nearestRefusal(whys.map((why) => ({ why, detail: why }) as never)).why;
  t.is(nearest('signature_invalid', 'misconfigured', 'serial_unknown'), 'misconfigured');
  t.is(nearest('timeout', 'signature_invalid'), 'signature_invalid');
  t.is(nearest(), 'not_configured');
  const strange = nearestRefusal([{ why: 'serial_unknown', detail: `\u001B[31m\u202E\n${'x'.repeat(500)}` }]).detail;
  t.notRegex(strange, /\p{C}/u);
  t.is(strange.length, 200);
});

test('every reason has a sentence with the required change, in both languages', (t) => {
  for (const kind of CHANNEL_KINDS.values())
    for (const why of [
      'unsigned',
      'signature_invalid',
      'serial_unknown',
      'clock_skew',
      'misconfigured',
      'timeout',
      'busy',
    ]) {
      const { en, zh } = changeFor(kind, why);
      t.regex(en, /^[A-Z].{40,}\.$/u, `${kind.payWay} ${why}`);
      t.regex(zh, /^\p{Script=Han}.{15,}。$/u, `${kind.payWay} ${why}`);
    }
});
