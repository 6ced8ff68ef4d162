import type { Encryption } from '../db/encryption.ts';
import type { Tx } from '../db/store.ts';
import { Conflict, NotFound, Unauthenticated } from '../errors.ts';
import { by } from './audit.ts';
import { type OwnCodePorts, ownAccount, withOwnCode, wrongCode } from './confirm.ts';
import type { Actor, IdentityQueries, Session } from './ports.ts';
import {
  newTotpSecret,
  openSecret,
  placeOfSecret,
  replaceRecoveryCodes,
  stepOfCode,
  totpUri,
  withoutBlanks,
} from './codes.ts';

/** Time in which the first code of a new secret must be entered (ms). */
const PENDING_MS = 600_000;

interface SecondFactorPorts extends OwnCodePorts {
  queries: Pick<IdentityQueries, 'endOtherSessions' | 'loginState'>;
  encryption: Pick<Encryption, 'encrypt' | 'open'>;
  /** The name that an authenticator app shows beside the account. */
  issuer: string;
}

interface SecondFactorState {
  enabled: boolean;
  enabledAt: Date | null;
  recoveryCodesLeft: number;
}

/** A new secret for an authenticator app. It is returned only once. */
interface Enrolment {
  secret: string;
  uri: string;
  expiresAt: Date;
}

/** The operations that enrol and remove second factors. `sessions.ts` checks codes at login. */
export interface SecondFactors {
  state(adminId: string): Promise<SecondFactorState>;
  /**
   * `code`: a code of the existing factor, required if there is one. This factor stays valid until the new secret is
   * confirmed.
   */
  start(session: Session, actor: Actor, code?: string): Promise<Enrolment>;
  /** Returns the recovery codes, and ends the other sessions of the account. */
  confirm(session: Session, actor: Actor, code: string): Promise<string[]>;
  /** Replaces all recovery codes. A code of the second factor is required. */
  renewCodes(session: Session, actor: Actor, code?: string): Promise<string[]>;
  /** Removes the second factor of another account and ends its sessions. */
  reset(session: Session, actor: Actor, adminId: string): Promise<void>;
}

/** Creates the operations on second factors. */
export function createSecondFactors(ports: SecondFactorPorts): SecondFactors {
  const { store, audit, now } = ports;
  return {
    state: (adminId) =>
      store.read(async (tx) => {
        const factor = await tx.secondFactors.find({ adminId });
        const recoveryCodesLeft = await tx.recoveryCodes.count({ adminId, usedAt: null });
        return { enabled: Boolean(factor?.encrypted), enabledAt: factor?.enabledAt ?? null, recoveryCodesLeft };
      }),
    start: start(ports),
    confirm: confirm(ports),
    renewCodes: async (session, actor, code) => {
      const { id: adminId, username } = session;
      const account = await ownAccount(ports, session, actor, code);
      return withOwnCode(ports, account, code, async (tx, used) => {
        if (!used) throw notEnabled();
        const codes = await replaceRecoveryCodes(tx, adminId, now());
        const after = { secondFactor: used };
        await audit(tx, { ...by(actor), action: 'admin.renew-recovery-codes', target: username, after });
        return codes;
      });
    },
    reset: ({ id: own }, actor, id) =>
      store.transaction(async (tx) => {
        await tx.advisoryLock('admins');
        const admin = await tx.admins.lock({ id });
        if (!admin) throw new NotFound('administrator');
        if (id === own) throw isOwn();
        if (!(await removeSecondFactor(tx, id))) throw notEnabled();
        await tx.admins.update({ id }, { generation: admin.generation + 1, updatedAt: now() });
        await audit(tx, { ...by(actor), action: 'admin.reset-second-factor', target: admin.username });
      }),
  };
}

function start(ports: SecondFactorPorts): SecondFactors['start'] {
  const { encryption, audit, issuer, now } = ports;
  return async (session, actor, code) => {
    const { id: adminId, username } = session;
    const account = await ownAccount(ports, session, actor, code);
    return withOwnCode(ports, account, code, async (tx, used) => {
      const at = now();
      const secret = newTotpSecret();
      const pending = {
        pendingEncrypted: encryption.encrypt(placeOfSecret(adminId, 'pending_encrypted'), secret),
        pendingAt: at,
      };
      await tx.secondFactors.insertIfNew({ adminId });
      await tx.secondFactors.update({ adminId }, pending);
      const after = used ? { secondFactor: used } : null;
      await audit(tx, { ...by(actor), action: 'admin.start-second-factor', target: username, after });
      const uri = totpUri(secret, { issuer, account: username });
      return { secret, uri, expiresAt: new Date(at.getTime() + PENDING_MS) };
    });
  };
}

function confirm(ports: SecondFactorPorts): SecondFactors['confirm'] {
  const { store, queries, encryption, audit, limits, now } = ports;
  return async ({ id: adminId, username, jti }, actor, code) => {
    await limits.tryFirstCode(username);
    return store.transaction(async (tx) => {
      const at = now();
      const admin = await tx.admins.lock({ id: adminId });
      const factor = await tx.secondFactors.lock({ adminId });
      if (!admin || !factor?.pendingAt || at.getTime() - factor.pendingAt.getTime() > PENDING_MS) throw notStarted();
      const secret = openSecret(encryption, factor, 'pending_encrypted');
      const step = stepOfCode(secret, withoutBlanks(code), at);
      if (step === undefined) throw wrongCode();
      await tx.secondFactors.update(
        { adminId },
        {
          encrypted: encryption.encrypt(placeOfSecret(adminId, 'encrypted'), secret),
          enabledAt: at,
          // The enrolment does not use the code up, so that the administrator can log in with the same code without
          // waiting for the next one.
          lastStep: step - 1n,
          pendingEncrypted: null,
          pendingAt: null,
        },
      );
      const codes = await replaceRecoveryCodes(tx, adminId, at);
      const given = { secondFactor: true, codeAt: at };
      if ((await tx.sessions.update({ jti }, given)) === 0) throw new Unauthenticated();
      const ended = await queries.endOtherSessions(tx, { adminId, jti, at });
      const after = { replaced: factor.encrypted !== null, endedSessions: ended };
      await audit(tx, { ...by(actor), action: 'admin.enable-second-factor', target: username, after });
      return codes;
    });
  };
}

/** Removes second factor and recovery codes. Returns false if the account had no factor and no enrolment. */
export async function removeSecondFactor(tx: Tx, adminId: string): Promise<boolean> {
  // This row is deleted first, because the renewal of recovery codes locks the same row first.
  const wasThere = (await tx.secondFactors.delete({ adminId })) > 0;
  await tx.recoveryCodes.delete({ adminId });
  return wasThere;
}

function notStarted(): Conflict {
  return new Conflict('second_factor_not_started', 'No enrolment of a second factor is in progress.', {
    hint: 'Start the enrolment again, and enter the first code within ten minutes.',
  });
}

/** The account has no second factor (409). */
export function notEnabled(): Conflict {
  return new Conflict('second_factor_not_enabled', 'The account has no second factor.');
}

function isOwn(): Conflict {
  return new Conflict('second_factor_own', 'Your own second factor must be removed with a code and cannot be reset.', {
    hint: 'Run payctl second-factor remove, or send POST /api/v1/me/second-factor/remove.',
  });
}
