import { Migration0001 } from './0001-initial.ts';
import { RefundAttempts } from './0002-refund-attempts.ts';
import { DebitsByApplication } from './0003-debits-by-application.ts';
import { DueEffects } from './0004-due-effects.ts';
import { CertTrust } from './0005-cert-trust.ts';
import { RefundQuestions } from './0006-refund-questions.ts';
import { Sessions } from './0007-sessions.ts';
import { Retention } from './0008-retention.ts';
import { KeyedAudit } from './0009-keyed-audit.ts';
import { RefundPayment } from './0010-refund-payment.ts';
import { OrderApp } from './0011-order-app.ts';
import { PaypalCaptures } from './0012-paypal-captures.ts';
import { PayerCodes } from './0013-payer-codes.ts';
import { SupportIds } from './0014-support-ids.ts';
import { Disputes } from './0016-disputes.ts';
import { ReverseDoubt } from './0017-reverse-doubt.ts';
import { QuestionTold } from './0018-question-told.ts';
import { Bills } from './0019-bills.ts';
import { Limits } from './0020-limits.ts';
import { Approvals } from './0021-approvals.ts';
import { Offers } from './0023-offers.ts';
import { AgentPay } from './0024-agent-pay.ts';

/** Every migration in order; each one only adds. */
export const MIGRATIONS = [
  { name: '0001-initial', class: Migration0001 },
  { name: '0002-refund-attempts', class: RefundAttempts },
  { name: '0003-debits-by-application', class: DebitsByApplication },
  { name: '0004-due-effects', class: DueEffects },
  { name: '0005-cert-trust', class: CertTrust },
  { name: '0006-refund-questions', class: RefundQuestions },
  { name: '0007-sessions', class: Sessions },
  { name: '0008-retention', class: Retention },
  { name: '0009-keyed-audit', class: KeyedAudit },
  { name: '0010-refund-payment', class: RefundPayment },
  { name: '0011-order-app', class: OrderApp },
  { name: '0012-paypal-captures', class: PaypalCaptures },
  { name: '0013-payer-codes', class: PayerCodes },
  { name: '0014-support-ids', class: SupportIds },
  { name: '0016-disputes', class: Disputes },
  { name: '0017-reverse-doubt', class: ReverseDoubt },
  { name: '0018-question-told', class: QuestionTold },
  { name: '0019-bills', class: Bills },
  { name: '0020-limits', class: Limits },
  { name: '0021-approvals', class: Approvals },
  { name: '0023-offers', class: Offers },
  { name: '0024-agent-pay', class: AgentPay },
];
