import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as agent from './agent.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as offer from './offer.ts';
import * as redeem from './redeem.ts';
import * as refund from './refund.ts';
import * as stats from './stats.ts';
import * as verifyCode from './verify-code.ts';

/** Adds the verbs of `skillpay`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Pay-per-call (HTTP 402): request an offer, pay for it, redeem it once.');
  for (const verb of [list, get, offer, redeem, refund, verifyCode, stats, agent]) verb.define(noun, context);
}
