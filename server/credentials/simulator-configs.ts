import type { ChannelConfigRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import { PAY_WAYS, type ChannelKind, type PayWay } from '../payments/channel.ts';
import { isUsable, lockCredentials, verifyingKinds } from './trust.ts';
import { openSecrets, pemsOf, SIMULATOR } from './versions.ts';
import type { ConfigInput } from './config-change.ts';
import { writeVersion } from './configs.ts';
import type { CredentialPorts } from './ports.ts';
import { DecryptionFailed } from '../db/encryption.ts';

interface SimulatedConfig {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}
type SimulatedConfigs = Partial<Record<PayWay, SimulatedConfig>>;

/** This time limit (ms) is long, because the simulator may have to generate several key pairs first. */
const PATIENCE_MS = 20_000;

const ACTOR = { kind: 'system', name: SIMULATOR } as const;

/**
 * If the simulator is enabled, stores its configuration for each project and channel that has none, and updates it if
 * the simulator's keys changed. Configurations that an administrator or application wrote stay unchanged. If several
 * replicas start at the same time, only one of them writes.
 */
export async function seedSimulatorConfigs(ports: CredentialPorts, projects?: readonly string[]): Promise<void> {
  const { store, simulatorUrl } = ports;
  if (!ports.simulated || simulatorUrl === null) return;
  const codes = projects ?? (await store.read((tx) => tx.projects.list({}))).map(({ code }) => code);
  for (const project of codes) {
    const configs = await accountOf(simulatorUrl, project);
    for (const payWay of PAY_WAYS) {
      const [kind, config] = [ports.kinds.get(payWay), configs[payWay]];
      // The audit entry of a configuration locks the audit log. After that, a transaction must take no other lock. So
      // each configuration is written in its own transaction.
      if (kind && config) await store.transaction((tx) => seedOne(tx, ports, kind, project, config));
    }
  }
}

async function seedOne(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  project: string,
  { fields, pems }: SimulatedConfig,
): Promise<void> {
  if (!(await tx.projects.find({ code: project }))) return;
  const locked = await lockCredentials(tx, project, kind.payWay);
  const { config } = locked;
  if (config && (config.mode !== 'simulator' || config.createdBy !== ACTOR.name)) return;
  const input: ConfigInput = { mode: 'simulator', ...fields, ...pems };
  if (config && (await isAsStored(tx, ports, kind, config, { fields, pems }))) return;
  await writeVersion(tx, ports, kind, locked, { actor: ACTOR, project }, input);
}

/**
 * Whether a stored version equals the simulator's configuration and its keys can be used. Returns false if the stored
 * version cannot be decrypted.
 */
async function isAsStored(
  tx: Tx,
  { encryption }: CredentialPorts,
  kind: ChannelKind,
  config: ChannelConfigRow,
  { fields, pems }: SimulatedConfig,
): Promise<boolean> {
  const all = config.certIds.length > 0 ? await tx.certs.list({ id: config.certIds }) : [];
  const certs = all.filter((cert) => isUsable(cert, verifyingKinds(kind), config));
  try {
    const keptFields: Record<string, string> = { ...config.fields, ...openSecrets(config, encryption.open) };
    const keptPems = pemsOf(certs, encryption.open);
    return (
      Object.entries(fields).every(([name, value]) => keptFields[name] === value) &&
      Object.entries(pems).every(([kind, texts]) =>
        texts.every((text) => keptPems[kind]?.some((one) => sameText(one, text))),
      )
    );
  } catch (error) {
    if (error instanceof DecryptionFailed) return false;
    throw error;
  }
}

function sameText(one: string, other: string): boolean {
  return one.replace(/\s+/g, '') === other.replace(/\s+/g, '');
}

/** Creates the project's account at the simulator if it does not exist. */
async function accountOf(simulatorUrl: string, project: string): Promise<SimulatedConfigs> {
  const base = simulatorUrl.replace(/\/+$/, '');
  const known = (await get(`${base}/sim/config?account=${encodeURIComponent(project)}`)) ?? {};
  let configs = known;
  for (const payWay of PAY_WAYS) {
    if (known[payWay]) continue;
    // The simulator responds with 409 if another replica created the account meanwhile.
    await post(`${base}/sim/accounts`, { payWay, name: project });
    configs = (await get(`${base}/sim/config?account=${encodeURIComponent(project)}`)) ?? configs;
  }
  return configs;
}

async function get(url: string): Promise<SimulatedConfigs | undefined> {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) });
  if (response.status === 404) return undefined;
  if (!response.ok)
    throw new Error(`The simulator returned HTTP ${response.status} when its configuration was requested.`);
  return (await response.json()) as SimulatedConfigs;
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    redirect: 'manual',
    signal,
  });
  await response.arrayBuffer();
  if (!response.ok && response.status !== 409)
    throw new Error(`The simulator returned HTTP ${response.status} when an account was created.`);
}
