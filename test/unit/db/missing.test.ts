import test from 'ava';
import { DatabaseMissing } from '../../../server/db/connections.ts';
import { openDatabase } from '../../../server/db/orm.ts';
import { testPostgresUrl } from '../../support/postgres.ts';

test('a missing database is reported and not created by the check', async (t) => {
  const url = new URL(await testPostgresUrl());
  url.pathname = '/no_such_database';
  for (const _ of [1, 2]) {
    const error = await t.throwsAsync(openDatabase({ kind: 'postgres', url: url.href, poolSize: 1 }));
    t.true(error instanceof DatabaseMissing, String(error));
  }
});
