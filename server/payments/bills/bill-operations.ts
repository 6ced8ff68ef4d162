import type { BillRow } from '../../db/entities/bills.ts';
import { exportLines } from './export-lines.ts';
import { billRepairs } from './import-bill.ts';
import type { BillPorts } from './ports.ts';
import { quietAccounts } from './quiet-account.ts';
import { readBills } from './read-bills.ts';
import { settlement } from './settlement.ts';
import type { BillView } from './view-bill.ts';

/** What people do with bills. */
export type BillOperations = ReturnType<typeof billOperations>;

/** What a request needs that takes as long as its file. */
export interface LongWork {
  /** Runs work whose statements do not share the time of a request. */
  patiently<T>(work: () => Promise<T>): Promise<T>;
}

/** Puts together what people do with bills; whatever changes one answers with it as it is then. */
export function billOperations(ports: BillPorts & LongWork) {
  const { askForBill, importBill, rerunBill } = billRepairs(ports);
  const { quietAccount, unquietAccount } = quietAccounts(ports);
  const reading = readBills(ports);
  const shown =
    <Asked extends readonly unknown[]>(act: (...asked: Asked) => Promise<BillRow>) =>
    async (...asked: Asked): Promise<BillView> =>
      reading.bill((await act(...asked)).billNo);
  return {
    ...reading,
    askForBill: shown(askForBill),
    importBill: (...given: Parameters<typeof importBill>) => ports.patiently(() => shown(importBill)(...given)),
    rerunBill: shown(rerunBill),
    quietAccount: shown(quietAccount),
    unquietAccount: shown(unquietAccount),
    exportLines: exportLines(ports),
    settlement: settlement(ports),
  };
}
