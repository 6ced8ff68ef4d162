import test from 'ava';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { isLong } from '../../support/counts.ts';
import { testPromises } from './promises/simulated.ts';
import { unknownWord } from './paypal/scripted.ts';

// A webhook's certificate comes with its intermediate, or without: then PayPal itself is asked about the message. A long run
// (PAY_TEST_LONG) has both.
for (const rotate of isLong ? ['certificate', 'leaf-only'] : ['leaf-only'])
  testPromises(test, paypalKind, { title: rotate, rotate, unknownWord });
