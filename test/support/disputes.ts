import { until, type Service } from './service.ts';

/** A dispute as stored by the service. */
export async function disputeOf({ app }: Service, orderNo: string) {
  const [dispute] = await app.store.read((tx) => tx.disputes.list({ orderNo }, { orderBy: { createdAt: 'desc' } }));
  return dispute;
}

/** Applies an action of payer or channel to an order's payment, at the simulator. */
export async function dispute(service: Service, orderNo: string, act: string, more: object = {}): Promise<void> {
  await service.sim('/sim/dispute', { orderNo, act, ...more });
}

/** The same, and waits until the service has stored it; returns the dispute number. */
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

/** The event types of a dispute, in order. */
export async function toldOf({ app }: Service, disputeNo: string): Promise<string[]> {
  const events = await app.store.read((tx) =>
    tx.events.list({ objectNo: disputeNo }, { orderBy: { sequence: 'asc' } }),
  );
  return events.map(({ type }) => type);
}
