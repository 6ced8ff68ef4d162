import { SimulatorRefusal } from '../refusal.ts';

/** A merchant that a partner brought. */
export interface SubMerchant {
  mchid: string;
  /** A small merchant (小微商户), which has no bill of its own. */
  isSmall?: true;
  /** All apps that are linked to it. */
  appIds: readonly string[];
  /** By field of the configuration: the one that is handed over. */
  fields: Readonly<Record<string, string>>;
}

/** One more app of the sub-merchant that is handed over; those before it stay linked. */
export function linkSubApp(subMerchants: readonly SubMerchant[], field: string, appId: string): SubMerchant[] {
  const [newest, ...others] = subMerchants;
  if (!newest) throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner.');
  return [{ ...newest, appIds: [...newest.appIds, appId], fields: { ...newest.fields, [field]: appId } }, ...others];
}

/** One more sub-merchant, which is handed over from now on. */
export function addSubMerchant(subMerchants: readonly SubMerchant[], mchid: string): SubMerchant[] {
  if (subMerchants.length === 0) throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner.');
  return [{ mchid, appIds: [], fields: {} }, ...subMerchants];
}
