import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import type { Encryption } from '../db/encryption.ts';
import type { AgentPayRow } from '../db/entities/skillpay.ts';
import type { ReadTx, Store } from '../db/store.ts';
import { InvalidRequest, NotFound } from '../errors.ts';
import type { Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { Mode } from '../payments/channel.ts';
import { agentKeyPlace, type RequestCode } from './schemes/wechat.ts';

/** A change of the agent pay settings (for AI agents that pay with WeChat). Absent fields keep their stored value. */
interface AgentPayChange {
  developerId?: string | undefined;
  keyId?: string | undefined;
  /** PEM. */
  privateKey?: string | undefined;
  skills?: Record<string, { id: string; version: string }> | undefined;
}

/** A project's agent pay settings as the API shows them, without the private key. */
type AgentPayView = Omit<AgentPayRow, 'encrypted' | Moment> &
  Record<Exclude<Moment, 'updatedAt'>, string | null> & { updatedAt: string };

type Moment = 'lastSuccessAt' | 'lastFailureAt' | 'updatedAt';

/** Whether WeChat accepts the private key in a project's agent pay settings. `message` says what WeChat responded. */
interface AgentPayTest {
  ok: boolean;
  message: string;
}

interface SettingPorts {
  store: Store;
  now: () => Date;
  simulated: boolean;
  /** Throws if this service is not allowed to use the mode (`simulator`, `sandbox` or `live`). */
  requireMode: (mode: Mode) => void;
  encryption: Pick<Encryption, 'encrypt' | 'open'>;
  audit: Audit;
  /** Reads an RSA key from PEM text. Error messages never quote the key. */
  readKey: (pem: string) => KeyObject;
  requestCode: RequestCode;
}

type Acting = { actor: Actor; project: string };

export type AgentPaySettings = ReturnType<typeof agentPaySettings>;

/**
 * Creates the operations on agent pay settings. Each change is written together with its audit entry in one
 * transaction.
 */
export function agentPaySettings({
  store,
  now,
  simulated,
  requireMode,
  encryption,
  audit,
  readKey,
  requestCode,
}: SettingPorts) {
  return {
    /** Returns the agent pay settings of a project. Throws NotFound if the project has none. */
    show: (project: string): Promise<AgentPayView> => store.read(async (tx) => viewOf(await read(tx, project))),
    async set({ actor, project }: Acting, change: AgentPayChange): Promise<AgentPayView> {
      const mode = simulated ? 'simulator' : 'live';
      requireMode(mode);
      const key = change.privateKey === undefined ? {} : encryptedKey(project, change.privateKey);
      return store.transaction(async (tx) => {
        await tx.advisoryLock(`agent-pay:${project}`);
        if (!(await tx.projects.find({ code: project }))) throw new NotFound('project');
        await requireSkills(tx, project, change.skills ?? {});
        const before = await tx.agentPays.lock({ project });
        const { developerId, keyId, skills } = change;
        const row = complete({
          ...kept(before, mode, developerId),
          project,
          mode,
          ...(developerId === undefined ? {} : { developerId }),
          ...(keyId === undefined ? {} : { keyId }),
          ...(skills === undefined ? {} : { skills }),
          ...key,
          updatedBy: actor.name,
          updatedAt: now(),
        });
        if (before) await tx.agentPays.update({ project }, row);
        else await tx.agentPays.insert(row);
        await note(tx, actor, 'agent-pay.write', project, [before, row]);
        return viewOf(row);
      });
    },
    /** Deletes the agent pay settings of a project. Payment codes that WeChat issued before stay valid. */
    remove: ({ actor, project }: Acting): Promise<AgentPayView> =>
      store.transaction(async (tx) => {
        const row = await read(tx, project);
        await tx.agentPays.delete({ project });
        await note(tx, actor, 'agent-pay.delete', project, [row, undefined]);
        return viewOf(row);
      }),
    /**
     * Requests a payment code for payment data that does not exist. A valid key gets `PAY_DATA_UNKNOWN` from WeChat.
     */
    async test(project: string): Promise<AgentPayTest> {
      const row = await store.read((tx) => read(tx, project));
      const [skill] = Object.values(row.skills);
      if (!skill) return { ok: false, message: 'The test requires a SkillHub skill id in the setting `skills`.' };
      const key = readKey(encryption.open(agentKeyPlace(project), row.encrypted));
      const nothing = { type: 'code_url', value: 'weixin://wxpay/bizpayurl?pr=test' } as const;
      const request = { orderNo: '', mode: row.mode, skill, payData: nothing, seconds: 60 };
      const answer = await requestCode({ ...row, key }, request);
      if ('code' in answer) return { ok: true, message: 'WeChat accepted the key and issued a payment code.' };
      return { ok: /\bPAY_DATA_UNKNOWN\b/.test(answer.fault), message: answer.fault };
    },
  };

  function encryptedKey(project: string, pem: string): Pick<AgentPayRow, 'encrypted' | 'fingerprint'> {
    const key = tryKey(pem);
    const plain = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const der = createPublicKey(key).export({ type: 'spki', format: 'der' });
    return { encrypted: encryption.encrypt(agentKeyPlace(project), plain), fingerprint: hash('sha256', der) };
  }

  function tryKey(pem: string): KeyObject {
    try {
      return readKey(pem);
    } catch (error) {
      const detail = error instanceof Error ? error.message : 'cannot be read';
      throw new InvalidRequest(`privateKey ${detail}.`, [{ pointer: '/privateKey', code: 'unusable', detail }]);
    }
  }

  function note(
    tx: Parameters<Audit>[0],
    { kind, name, ip, requestId }: Actor,
    action: string,
    target: string,
    [before, after]: readonly (AgentPayRow | undefined)[],
  ): Promise<void> {
    const who = { actorKind: kind, actor: name, ip, requestId };
    return audit(tx, {
      ...who,
      action,
      target,
      before: before ? facts(before) : null,
      after: after ? facts(after) : null,
    });
  }
}

/** A stored private key belongs to one mode and one developer account, so a change of either drops it. */
function kept(before: AgentPayRow | undefined, mode: Mode, developerId: string | undefined): Partial<AgentPayRow> {
  if (!before) return { lastSuccessAt: null, lastFailureAt: null, lastFailure: null, skills: {} };
  if (before.mode === mode && (developerId ?? before.developerId) === before.developerId) return before;
  const { keyId: _, encrypted: __, fingerprint: ___, developerId: former, ...rest } = before;
  return before.mode === mode ? { ...rest, developerId: former } : rest;
}

async function read(tx: ReadTx, project: string): Promise<AgentPayRow> {
  const row = await tx.agentPays.find({ project });
  if (!row) throw new NotFound('agent pay configuration');
  return row;
}

async function requireSkills(tx: ReadTx, project: string, skills: Record<string, unknown>): Promise<void> {
  for (const code of Object.keys(skills)) {
    const product = await tx.products.find({ project, code });
    if (product?.kind === 'skill') continue;
    const detail = 'is not a product of kind skill in this project';
    throw new InvalidRequest(`skills: ${code} ${detail}.`, [{ pointer: `/skills/${code}`, code: 'unknown', detail }]);
  }
}

function complete(row: Partial<AgentPayRow>): AgentPayRow {
  for (const [member, value] of [
    ['developerId', row.developerId],
    ['keyId', row.keyId],
    ['privateKey', row.encrypted],
  ] as const)
    if (value === undefined)
      throw new InvalidRequest(`${member} is required.`, [
        { pointer: `/${member}`, code: 'required', detail: 'is required' },
      ]);
  return row as AgentPayRow;
}

function viewOf(row: AgentPayRow): AgentPayView {
  const { project, mode, developerId, keyId, fingerprint, skills, lastFailure, updatedBy } = row;
  return {
    project,
    mode,
    developerId,
    keyId,
    fingerprint,
    skills,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    lastFailureAt: row.lastFailureAt?.toISOString() ?? null,
    lastFailure,
    updatedBy,
    updatedAt: row.updatedAt.toISOString(),
  };
}

function facts({ mode, developerId, keyId, fingerprint, skills }: AgentPayRow): object {
  return { mode, developerId, keyId, fingerprint, skills };
}
