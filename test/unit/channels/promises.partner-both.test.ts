import test from 'ava';
import { testPartnerPromises } from './wechat/partner-promises.ts';

testPartnerPromises(test, 'both');
