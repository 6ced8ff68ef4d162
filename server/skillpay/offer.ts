import type { OrderRow } from '../db/entities/orders.ts';
import { countOpenOffers } from '../db/queries/skillpay.ts';
import type { Tx } from '../db/store.ts';
import { NotAllowed, NotFound } from '../errors.ts';
import { digest, type KeyClaim } from '../payments/idempotency.ts';
import { majorNumber } from '../payments/money.ts';
import type { SkillCaller, SkillPorts, SkillRequest } from './ports.ts';
import { TooManyOffers } from './refusals.ts';
import { choosePayWay, findSkill, type Skill } from './resource.ts';

/** So close to the limit that offers of one app are counted one after the other. */
const NEAR = 100;

/** Makes the order of a first call: price, handler and code are fixed in its own commit. */
export type MakeOffer = (caller: SkillCaller, request: SkillRequest, claim?: KeyClaim) => Promise<OrderRow>;

/** The operation over its ports. */
export function makeOffer(ports: SkillPorts): MakeOffer {
  const { store, payments, codes, now } = ports;
  return async (caller, request, claim) => {
    const { payee, enabled } = await payeeOf(caller);
    if (!enabled)
      throw new NotAllowed('project_disabled', 'The project is disabled; existing orders are still processed.');
    const skill = await findSkill(ports, caller.project, request.resource);
    const { payWay, mode } = await choosePayWay(ports, skill, request.payWay);
    await codes.prepare(mode);
    return payments.place(
      payee,
      {
        subject: skill.name.slice(0, 127),
        amount: majorNumber({ minor: skill.priceMinor, currency: skill.currency }, payWay),
        currency: skill.currency,
        payWay,
        expireSeconds: skill.offerTtlSeconds ?? ports.offerTtlSeconds,
        product: skill.code,
      },
      { kind: 'skillpay', claim, also: (tx, order) => writeOffer(tx, order, skill, request) },
    );
  };

  async function payeeOf({ clientId }: SkillCaller) {
    return store.read(async (tx) => {
      const app = await tx.apps.find({ clientId });
      if (!app) throw new NotFound('application');
      const project = await tx.projects.find({ code: app.project });
      const { latePayment, limits } = app;
      const payee = { clientId, project: app.project, latePayment, limits, actor: `app:${clientId}` };
      return { payee, enabled: project?.enabled === true };
    });
  }

  async function writeOffer(tx: Tx, order: OrderRow, skill: Skill, request: SkillRequest): Promise<void> {
    await requireRoom(tx, order.clientId);
    const input = request.input ?? null;
    const bodyDigest = digest({ resource: skill.code, input });
    await tx.skillOrders.insert({
      orderNo: order.orderNo,
      clientId: order.clientId,
      project: order.project,
      resource: skill.code,
      productVersion: skill.version,
      bodyDigest,
      input,
      handler: skill.resource,
      refundAfterFulfilment: skill.refundAfterFulfilment,
      paymentCode: await codes.code(order, { resource: skill.code, bodyDigest }),
      agentCode: null,
      agentCodeUntil: null,
      fulfilment: 'none',
      fencing: 0,
      attempts: 0,
      firstAttemptAt: null,
      leasedUntil: null,
      nextAttemptAt: null,
      content: null,
      contentType: null,
      receipt: null,
      failureCode: null,
      failureMessage: null,
      refundNo: null,
      offeredAt: now(),
      fulfilledAt: null,
    });
    await ports.recordEvent(tx, {
      type: 'skillpay.offered',
      clientId: order.clientId,
      project: order.project,
      objectNo: order.orderNo,
      dedupe: 'once',
      object: {
        outTradeNo: order.orderNo,
        orderNo: order.orderNo,
        resource: skill.code,
        amountMinor: Number(order.amount),
        currency: order.currency,
        payWay: order.payWay,
        expiresAt: order.expiresAt.toISOString(),
      },
      notifyUrl: order.notifyUrl,
    });
  }

  /** The new order is counted too. Far from the limit nobody waits; near it the app's offers queue up, so none slips through. */
  async function requireRoom(tx: Tx, clientId: string): Promise<void> {
    const limit = ports.unpaidOffersPerApp;
    let open = await countOpenOffers(tx, clientId, now());
    if (open <= limit && open + NEAR > limit) {
      await tx.advisoryLock(`offers:${clientId}`);
      open = await countOpenOffers(tx, clientId, now());
    }
    if (open > limit) throw new TooManyOffers(limit);
  }
}
