import {
  CoinAccountEntity,
  CoinClawbackEntity,
  CoinEntity,
  CoinEntryEntity,
  PayerEntity,
  ProductEntity,
  ProjectEntity,
} from './catalog.ts';
import { ApprovalEntity } from './approvals.ts';
import {
  BillDifferenceEntity,
  BillEntity,
  BillLineEntity,
  OrderFeeEntity,
  PayeeEntity,
  QuietAccountEntity,
} from './bills.ts';
import { DisputeEntity } from './disputes.ts';
import { DueEffectEntity } from './effects.ts';
import { CertEntity, ChannelConfigEntity, ChannelStateEntity, SigningKeyEntity } from './credentials.ts';
import { DeliveryAttemptEntity, DeliveryEntity, EventEntity, WebhookEntity } from './events.ts';
import {
  AdminEntity,
  ApiAppEntity,
  AuditEntity,
  AuditKeyEntity,
  KnownAddressEntity,
  LimitUseEntity,
  RateLimitEntity,
  RecoveryCodeEntity,
  RevokedTokenEntity,
  SecondFactorEntity,
  SessionEntity,
} from './identity.ts';
import {
  ChannelMessageEntity,
  IdempotencyKeyEntity,
  MoveEntity,
  NoticeEntity,
  OrderEntity,
  OrderExceptionEntity,
} from './orders.ts';
import { RefundEntity, RefundQuestionEntity } from './refunds.ts';
import { RemovedHistoryEntity } from './removed-history.ts';
import { ReplicaEntity } from './replicas.ts';
import { RemovedOrdersEntity } from './removed-orders.ts';
import { CoinCallEntity } from './coin-calls.ts';
import { AgentPayEntity, SkillOrderEntity } from './skillpay.ts';

/** Every table of the service; migrations are generated from this list. */
export const ENTITIES = [
  AdminEntity,
  AgentPayEntity,
  ApiAppEntity,
  ApprovalEntity,
  AuditEntity,
  AuditKeyEntity,
  BillDifferenceEntity,
  BillEntity,
  BillLineEntity,
  CertEntity,
  ChannelConfigEntity,
  ChannelMessageEntity,
  ChannelStateEntity,
  CoinAccountEntity,
  CoinClawbackEntity,
  CoinEntity,
  CoinEntryEntity,
  DeliveryAttemptEntity,
  DeliveryEntity,
  DisputeEntity,
  DueEffectEntity,
  EventEntity,
  IdempotencyKeyEntity,
  KnownAddressEntity,
  LimitUseEntity,
  MoveEntity,
  NoticeEntity,
  OrderEntity,
  OrderExceptionEntity,
  OrderFeeEntity,
  PayeeEntity,
  PayerEntity,
  ProductEntity,
  ProjectEntity,
  QuietAccountEntity,
  RateLimitEntity,
  RecoveryCodeEntity,
  RefundEntity,
  RefundQuestionEntity,
  RemovedHistoryEntity,
  RemovedOrdersEntity,
  ReplicaEntity,
  RevokedTokenEntity,
  SecondFactorEntity,
  SessionEntity,
  SigningKeyEntity,
  CoinCallEntity,
  SkillOrderEntity,
  WebhookEntity,
];
