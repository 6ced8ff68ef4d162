import { until, type Service } from './service.ts';

/** A dispute as the service has it. */
export async function disputeOf({ app }: Service, orderNo: string) {
  const [dispute] = await app.store.read((tx) => tx.disputes.list({ orderNo }, { orderBy: { createdAt: 'desc' } }));
  return dispute;
}

/** What a payer or a channel does about the payment of an order, at the simulator. */
export async function dispute(service: Service, orderNo: string, act: string, more: object = {}): Promise<void> {
  await service.sim('/sim/dispute', { orderNo, act, ...more });
}

/** The same, until the service has heard of it; gives our number. */
export async function disputed(
  service: Service,
  orderNo: string,
  act: string,
  state: string,
  more: object = {},
): Promise<string> {
  await dispute(service, orderNo, act, more);
  await until(
    `the dispute of ${orderNo} is ${state}`,
    async () => (await disputeOf(service, orderNo))?.state === state,
  );
  return (await disputeOf(service, orderNo))!.disputeNo;
}

/** The types of the events about a dispute, in their order. */
export async function toldOf({ app }: Service, disputeNo: string): Promise<string[]> {
  const events = await app.store.read((tx) =>
    tx.events.list({ objectNo: disputeNo }, { orderBy: { sequence: 'asc' } }),
  );
  return events.map(({ type }) => type);
}
