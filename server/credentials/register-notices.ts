import type { ChannelConfigRow } from '../db/entities/credentials.ts';
import { InvalidRequest } from '../errors.ts';
import {
  ChannelMisconfigured,
  type ChannelKind,
  type NoticesRegistered,
  type ProbeResult,
} from '../payments/channel.ts';
import { inputOf, readVersion, type VersionRows } from './build.ts';
import { writeVersion } from './configs.ts';
import { lockCredentials } from './locked-credentials.ts';
import { type Acting, type CredentialPorts, kindOf, requireProject } from './ports.ts';
import { NothingConfigured } from './refusals.ts';

/**
 * Has the channel send its notices to this service, and keeps what the channel gave for that as the next version. The channel is asked
 * outside any transaction; a configuration that somebody changed meanwhile is left alone.
 */
export async function registerNotices(ports: CredentialPorts, acting: Acting, payWay: string): Promise<ProbeResult> {
  const kind = kindOf(ports, payWay);
  if (!kind.registerNotices)
    throw new InvalidRequest('Notifications of this channel need no registration: each order names their address.');
  const rows = await currentRows(ports, acting.project, kind);
  const said = await ask(ports, kind, rows);
  if (!said.ok) return said;
  return (await keep(ports, acting, kind, rows.config, said.fields)) ?? { ok: true };
}

/** The current version with its certificates; throws NothingConfigured. */
export async function currentRows(ports: CredentialPorts, project: string, kind: ChannelKind): Promise<VersionRows> {
  const rows = await ports.store.transaction(async (tx) => {
    await requireProject(tx, project);
    const { config } = await lockCredentials(tx, project, kind.payWay);
    return config && (await readVersion(tx, config.id));
  });
  if (!rows) throw new NothingConfigured(kind.payWay);
  return rows;
}

async function ask(ports: CredentialPorts, kind: ChannelKind, rows: VersionRows): Promise<NoticesRegistered> {
  try {
    return await kind.registerNotices!(inputOf(kind, rows, rows.config, ports.sealing.open, ports));
  } catch (error) {
    if (!(error instanceof ChannelMisconfigured)) throw error;
    return { ok: false, field: error.field, code: 'misconfigured', message: error.message };
  }
}

/** Nothing is written when the fields are known already. */
async function keep(
  ports: CredentialPorts,
  acting: Acting,
  kind: ChannelKind,
  asked: ChannelConfigRow,
  fields: Readonly<Record<string, string>>,
): Promise<ProbeResult | undefined> {
  return ports.store.transaction(async (tx) => {
    const locked = await lockCredentials(tx, acting.project, kind.payWay);
    if (locked.config?.id !== asked.id) {
      const message = 'The configuration was changed meanwhile. Try again.';
      return { ok: false, field: null, code: 'changed', message };
    }
    if (Object.entries(fields).every(([name, value]) => asked.fields[name] === value)) return undefined;
    await writeVersion(tx, ports, kind, locked, acting, { mode: asked.mode, ...fields });
    return undefined;
  });
}
