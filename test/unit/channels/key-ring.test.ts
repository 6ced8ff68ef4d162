import { createSecretKey } from 'node:crypto';
import test from 'ava';
import { createKeyRing } from '../../../server/channels/key-ring.ts';

const keyOf = (text: string) => createSecretKey(Buffer.from(text));
const [first, second] = [keyOf('1'), keyOf('2')];
const MINUTE = 60_000;

function clockedRing(answers: (serial: string) => [string, typeof first][], normalise?: (serial: string) => string) {
  const clock = { at: 0 };
  const asked: string[] = [];
  const unknown: string[] = [];
  const ring = createKeyRing({
    keys: [['A1', first]],
    now: () => new Date(clock.at),
    normalise,
    refresh: async (serial) => {
      asked.push(serial);
      return answers(serial);
    },
    onUnknown: (serial) => unknown.push(serial),
  });
  return { ring, clock, asked, unknown };
}

test('several keys are valid at once, and a known serial causes no refresh', async (t) => {
  const { ring, asked } = clockedRing(() => [['B2', second]]);
  t.is(await ring.find('A1'), first);
  t.is(await ring.find('B2'), second);
  t.is(await ring.find('A1'), first);
  t.deepEqual(asked, ['B2']);
  t.deepEqual(ring.serials(), ['A1', 'B2']);
  t.deepEqual(ring.all(), [first, second]);
});

test('a hundred messages with a new serial cause one refresh', async (t) => {
  const { ring, asked } = clockedRing(() => [['B2', second]]);
  const found = await Promise.all(Array.from({ length: 100 }, () => ring.find('B2')));
  t.true(found.every((key) => key === second));
  t.is(asked.length, 1);
});

test('unknown serials are rejected and logged, and cause at most one refresh a minute', async (t) => {
  const { ring, clock, asked, unknown } = clockedRing(() => []);
  for (const serial of ['X', 'Y', 'Z']) t.is(await ring.find(serial), undefined);
  t.deepEqual(asked, ['X']);
  t.deepEqual(unknown, ['X', 'Y', 'Z']);
  clock.at = MINUTE;
  await ring.find('Y');
  t.deepEqual(asked, ['X', 'Y']);
});

test('a serial that a refresh did not return is not refreshed again for ten minutes', async (t) => {
  const { ring, clock, asked } = clockedRing(() => []);
  await ring.find('X');
  clock.at = 5 * MINUTE;
  await ring.find('X');
  t.is(asked.length, 1);
  clock.at = 10 * MINUTE;
  await ring.find('X');
  t.is(asked.length, 2);
});

test('a failed refresh is retried after a minute', async (t) => {
  let isUp = false;
  const { ring, clock } = clockedRing(() => {
    if (!isUp) throw new Error('down');
    return [['B2', second]];
  });
  t.is(await ring.find('B2'), undefined);
  isUp = true;
  t.is(await ring.find('B2'), undefined);
  clock.at = MINUTE;
  t.is(await ring.find('B2'), second);
  t.is(await ring.find('A1'), first);
});

test('two spellings of a serial are equal', async (t) => {
  const { ring } = clockedRing(
    () => [],
    (serial) => serial.toUpperCase().replace(/^0+/, ''),
  );
  t.is(await ring.find('00a1'), first);
});

test('without a refresh function an unknown serial is not found', async (t) => {
  const ring = createKeyRing({ keys: [['A1', first]], now: () => new Date(0) });
  t.is(await ring.find('B2'), undefined);
});
