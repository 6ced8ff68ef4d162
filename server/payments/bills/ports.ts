import type { Store } from '../../db/store.ts';
import type { Ports } from '../ports.ts';

/** What work on bills needs beyond what payments need. */
export interface BillPorts extends Ports {
  /** A door to the same database for statements that may take their time; `close` when they are done. */
  openPatient: () => Promise<{ store: Store; close: () => Promise<void> }>;
}
