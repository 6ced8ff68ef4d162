import { majorNumber } from '../../payments/money.ts';
import type { SkillCaller, SkillPorts, SkillRequest } from '../ports.ts';
import { findSkill } from '../resource.ts';

/** What a call costs in coins, and where they are sold: what a 402 says to a caller who named a payer without enough of them. */
export interface CoinsWanted {
  code: string;
  price: number;
  available: number;
  packs: { product: string; name: string; price: number; currency: string; payWays: string[]; coins: number }[];
}

/** The members of a 402 about coins; none when the call cannot be paid with coins, or names no payer. */
export async function coinsWanted(
  ports: SkillPorts,
  { project }: SkillCaller,
  { resource, userId }: SkillRequest,
): Promise<{ coins?: CoinsWanted }> {
  if (userId === undefined) return {};
  const { coinPrice } = await findSkill(ports, project, resource);
  if (!coinPrice) return {};
  const { code, amount: price } = coinPrice;
  const now = ports.now();
  return ports.store.read(async (tx) => {
    const account = await tx.coinAccounts.find({ project, coin: code, userId });
    const products = await tx.products.list(
      { project, kind: 'coin_package', enabled: true },
      { orderBy: { code: 'asc' }, limit: 1000 },
    );
    const packs = products
      .filter(
        ({ coin, saleFrom, saleTo }) =>
          coin?.code === code && !(saleFrom && now < saleFrom) && !(saleTo && now >= saleTo),
      )
      .map(({ code: product, name, priceMinor, currency, payWays, coin }) => ({
        product,
        name,
        price: majorNumber({ minor: priceMinor, currency }),
        currency,
        payWays,
        coins: (coin?.amount ?? 0) + (coin?.bonus ?? 0),
      }));
    const available = account ? Number(account.balance - account.held) : 0;
    return { coins: { code, price, available, packs } };
  });
}
