import test from 'ava';
import { accessCodes, requestCodes } from '../../server/error-codes/request.ts';
import { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from '../../server/error-codes/payments.ts';
import { errorCodes, isErrorCode } from '../../server/error-codes/error-codes.ts';
import { Conflict, LocalError } from '../../server/errors.ts';
import type { Contract } from '../../server/http/contract.ts';
import { sourcesIn } from './sources.ts';

const codes = Object.keys(errorCodes);

test('no error code is described twice', (t) => {
  const parts = [requestCodes, accessCodes, paymentsCodes, credentialsCodes, catalogCodes, skillpayCodes];
  t.deepEqual(parts.flatMap((part) => Object.keys(part)).toSorted(), codes.toSorted());
});

test('every error code is used by the server', (t) => {
  const refusing = sourcesIn('server').filter(
    ({ path }) => !/^server\/(error-codes|routes\/schemas\/errors|simulator)/.test(path),
  );
  const unused = codes.filter((code) => !refusing.some(({ text }) => text.includes(`'${code}'`)));
  t.deepEqual(unused, []);
});

test('the compiler rejects an undescribed code in an error and in a contract', (t) => {
  // @ts-expect-error: no words for this code
  const refusal = new Conflict('no_such_code', 'Refused.');
  // @ts-expect-error: no words for this code
  const contract: Contract = { auth: 'none', errors: ['no_such_code'] };
  t.false(isErrorCode(refusal.code));
  t.deepEqual(contract.errors?.filter(isErrorCode), []);
});

test('the compiler rejects payctl codes in API errors, and API codes in payctl errors', (t) => {
  // @ts-expect-error: code of payctl
  const refusal = new Conflict('schema_outdated', 'Refused.');
  // @ts-expect-error: code of answers
  const failure = new LocalError('order_not_paid', 409, 'Refused.');
  t.false(isErrorCode(refusal.code));
  t.true(isErrorCode(failure.code));
});
