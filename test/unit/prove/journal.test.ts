import test from 'ava';
import { join } from 'node:path';
import { openJournal } from '../../prove/histories/journal.ts';
import { temporaryFolder } from '../../support/folder.ts';

const JUMP_MS = 600_000;

test('a time from a channel clock that jumped ahead is mapped to the time of the history', (t) => {
  const journal = openJournal(join(temporaryFolder(t), 'history.jsonl'));
  const before = Date.now();
  journal.jump(JUMP_MS);
  const between = Date.now();
  journal.jump(JUMP_MS);
  const after = Date.now();
  const { time } = journal.note('info', 'nemesis', 'drained', {});
  const times = [before, between + JUMP_MS, after + 2 * JUMP_MS].map(journal.timeOf);
  t.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  t.true(times.every((one) => one <= time + 1e6));
  t.deepEqual(
    times,
    [before, between, after].map((at) => times[0]! + (at - before) * 1e6),
  );
});

test('an event during a clock jump is no later than the response that reports it', (t) => {
  const journal = openJournal(join(temporaryFolder(t), 'history.jsonl'));
  journal.jump(JUMP_MS);
  journal.jump(JUMP_MS);
  const inTheMiddle = Date.now() + JUMP_MS + JUMP_MS / 2;
  const { time } = journal.note('ok', 1, 'query', { status: 'paid' });
  t.true(journal.timeOf(inTheMiddle) <= time + 1e6);
});
