import type { Examination } from '../../cli/offline-port.ts';
import type { Config } from '../../config/config.ts';
import { CHANNEL_KINDS } from '../channels/registry.ts';
import { createSealing, keyIdOf, SealBroken } from '../credentials/sealing.ts';
import { verifyingKinds } from '../credentials/trust.ts';
import { listSealedTexts, type SealedText } from '../db/queries/credentials.ts';
import { approvers } from '../db/queries/exceptions.ts';
import {
  type HandlerFact,
  clockAhead,
  countWaiting,
  currentChannels,
  endingCerts,
  failingWebhooks,
  keysOfOtherModes,
  secondFactors,
  silentNotices,
  skillHandlers,
} from '../db/queries/diagnosis.ts';
import type { Store } from '../db/store.ts';
import { listensElsewhere } from '../http/address.ts';
import { createUrlRule } from '../outgoing/url-rule.ts';

const DAY = 86_400_000;
const VERIFYING = [...CHANNEL_KINDS.values()].flatMap((kind) => [...verifyingKinds(kind)]);

/** Reads the facts of a database whose schema is up to date; writes nothing. */
export async function examine(config: Config, store: Store, now: Date): Promise<Examination> {
  const { debug, simulated, production, server, security } = config;
  return store.read(async (tx) => ({
    debug,
    simulated,
    production,
    publicUrl: server.publicUrl,
    channels: await currentChannels(tx),
    otherModes: await keysOfOtherModes(tx, VERIFYING, simulated),
    certs: (await endingCerts(tx)).map(({ notAfter, ...cert }) => ({
      ...cert,
      daysLeft: Math.floor((new Date(notAfter).getTime() - now.getTime()) / DAY),
    })),
    sealed: tryKeys(security.masterKeys, await listSealedTexts(tx)),
    uncallable: uncallable(await skillHandlers(tx), config),
    ...(await countWaiting(tx, { now, simulated })),
    diagnosis: {
      production,
      consoleOpen: server.adminNetworks.length === 0,
      explorer: config.explorer.enabled,
      listensElsewhere: listensElsewhere(server, server.listen),
      secondFactors: { required: config.admin.requireSecondFactor, ...(await secondFactors(tx)) },
      clockAheadSeconds: await clockAhead(tx),
      approvers: config.approval.refundAbove === 0 ? null : await approvers(tx, now),
      failingWebhooks: await failingWebhooks(tx, now),
      silentNotices: await silentNotices(tx, { now, simulated }),
    },
  }));
}

function uncallable(handlers: readonly HandlerFact[], { webhook, production }: Config): Examination['uncallable'] {
  const urlFault = createUrlRule({ allowedNetworks: webhook.allowedNetworks, httpsOnly: production });
  return handlers.flatMap(({ project, code, url }) => {
    const fault = urlFault(url)?.code;
    return fault ? [{ project, code, fault }] : [];
  });
}

/** Opens every sealed text where it stands: one that was changed, swapped or sealed under a lost key does not open. */
export function tryKeys(
  masterKeys: Config['security']['masterKeys'],
  texts: readonly SealedText[],
): Examination['sealed'] {
  const sealing = createSealing(masterKeys);
  const broken = texts.flatMap(({ table, id, sealed, place }): Examination['sealed']['broken'] => {
    try {
      sealing.open(place, sealed);
      return [];
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      return [{ record: `${table} ${id}`, why: error.why, keyId: keyIdOf(sealed) ?? null }];
    }
  });
  const old = texts.filter(({ sealed }) => keyIdOf(sealed) !== sealing.keyId).length;
  return {
    total: texts.length,
    underOldKeys: old - broken.filter(({ keyId }) => keyId !== sealing.keyId).length,
    broken,
  };
}
