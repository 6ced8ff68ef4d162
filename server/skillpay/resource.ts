// Resources that can be called: skills on sale, and the demo skill. Also the channels with which a resource can be
// paid.
import type { ProductRow } from '../db/entities/catalog.ts';
import type { OfferEntry } from '../db/entities/skillpay.ts';
import type { Store } from '../db/store.ts';
import { AppError, NotAllowed, NotFound } from '../errors.ts';
import type { PayWay } from '../payments/channel.ts';
import type { ActiveChannel } from '../payments/ports.ts';
import type { SkillPorts } from './ports.ts';
import { ResourceRequired } from './errors.ts';

export type Skill = ProductRow & { resource: NonNullable<ProductRow['resource']> };

/** Returns the skills of a project that are on sale now, sorted by code. */
export async function skillsOnSale(store: Store, project: string, now: Date): Promise<Skill[]> {
  const rows = await store.read((tx) =>
    tx.products.list({ project, kind: 'skill', enabled: true }, { orderBy: { code: 'asc' }, limit: 1000 }),
  );
  return rows.filter((row): row is Skill => isSkill(row) && isOnSale(row, now));
}

/**
 * Returns the skill with the given code. Without a code, returns the skill `demo` if Debug is on, otherwise the only
 * skill of the project. Throws if the skill cannot be called.
 */
export async function findSkill(
  { store, readProduct, debug, now }: Pick<SkillPorts, 'store' | 'readProduct' | 'debug' | 'now'>,
  project: string,
  code: string | undefined,
): Promise<Skill> {
  if (code === undefined) {
    const found = await skillsOnSale(store, project, now());
    const one = (debug && found.find((skill) => skill.code === DEMO)) || (found.length === 1 && found[0]);
    if (!one) throw new ResourceRequired();
    return one;
  }
  const product = await readProduct({ project, code });
  if (!product || !isSkill(product)) throw new NotFound('resource');
  if (!product.enabled || !isOnSale(product, now()))
    throw new NotAllowed('not_on_sale', 'The resource is not on sale.');
  return product;
}

interface PayableWay extends OfferEntry {
  active: ActiveChannel;
}

/**
 * Returns the requested channel. If none is requested, returns all channels of the product that accept orders, in the
 * sequence in which the product lists them. Throws if no channel accepts orders.
 */
export async function payableWays(
  { channels }: Pick<SkillPorts, 'channels'>,
  skill: Skill,
  requested: PayWay | undefined,
): Promise<[PayableWay, ...PayableWay[]]> {
  if (requested !== undefined && !skill.payWays.includes(requested))
    throw new NotAllowed('not_on_sale', `The resource cannot be paid with ${requested}.`);
  const candidates = requested === undefined ? (skill.payWays as PayWay[]) : [requested];
  const found = await channels.forNewAmong(skill.project, candidates);
  const [first, ...others] = candidates.flatMap((payWay, at): PayableWay[] => {
    const active = found[at];
    return active === undefined || active instanceof AppError ? [] : [{ payWay, mode: active.mode, active }];
  });
  if (first) return [first, ...others];
  throw found.findLast((one) => one instanceof AppError) ?? nothingTakesOrders();
}

function nothingTakesOrders(): NotAllowed {
  return new NotAllowed('not_on_sale', 'No payment channel is available for the resource.');
}

function isSkill(product: ProductRow): product is Skill {
  return product.kind === 'skill' && product.resource !== null;
}

function isOnSale({ saleFrom, saleTo }: ProductRow, now: Date): boolean {
  return (saleFrom === null || now >= saleFrom) && (saleTo === null || now < saleTo);
}

/** Code of the demo skill, which exists only while Debug is on. */
const DEMO = 'demo';

/** The id of the demo skill. It distinguishes the demo skill from a merchant's product with the code `demo`. */
const DEMO_ID = '00000000-0000-4000-8000-0000000de000';

/** With Debug, creates the demo skill (0.10 CNY) in the project `default`; without, deletes it. Runs at every start. */
export async function seedDemo(store: Store, debug: boolean, now: Date): Promise<void> {
  await store.transaction(async (tx) => {
    if (debug) await tx.products.insertIfNew(demoRow(now));
    else await tx.products.delete({ id: DEMO_ID });
  });
}

function demoRow(at: Date): ProductRow {
  return {
    id: DEMO_ID,
    project: 'default',
    code: DEMO,
    version: 1,
    name: 'Demo',
    description: 'Exists only while Debug is on.',
    kind: 'skill',
    enabled: true,
    priceMinor: 10n,
    currency: 'CNY',
    payWays: ['wechat', 'alipay'],
    stock: null,
    perUserLimit: null,
    saleFrom: null,
    saleTo: null,
    orderType: null,
    coin: null,
    coinPrice: null,
    resource: { handler: 'static', content: { message: 'Paid content of the demo resource.' } },
    offerTtlSeconds: null,
    refundAfterFulfilment: true,
    createdAt: at,
    updatedAt: at,
  };
}
