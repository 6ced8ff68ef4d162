import { randomUUID } from 'node:crypto';
import { ledger, lockAccount } from '../../server/catalog/coins.ts';
import type { Service } from './service.ts';

/** Credits coins to a payer; creates the coin if it does not exist. */
export async function giveCoins(
  service: Service,
  coin: string,
  userId: string,
  amount: number,
  project = 'default',
): Promise<void> {
  const at = service.clock.now();
  const { credit } = ledger({ now: service.clock.now, recordEvent: async () => undefined });
  await service.app.store.transaction(async (tx) => {
    const times = { createdAt: at, updatedAt: at };
    await tx.coins.insertIfNew({
      id: randomUUID(),
      project,
      code: coin,
      name: coin,
      enabled: true,
      clawback: 'refuse',
      ...times,
    });
    const account = await lockAccount(tx, { project, coin, userId }, at);
    const source = `adjustment:${randomUUID()}`;
    await credit(tx, account, {
      delta: BigInt(amount),
      kind: 'adjustment',
      source,
      actor: 'admin:test',
      clientId: 'test-app',
    });
  });
}
