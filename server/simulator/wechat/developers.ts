import { createPublicKey, randomBytes, type KeyObject } from 'node:crypto';
import type { Account } from '../accounts.ts';
import { pkcs8, spki } from '../authority.ts';
import { newRsaKeys } from '../certificates.ts';
import type { Core } from '../half.ts';
import { SimulatorRefusal } from '../refusal.ts';

/** A developer of SkillHub whose skills are paid to a merchant; the newest key comes first and is the only good one. */
export interface Developer {
  developerId: string;
  keyId: string;
  privateKey: string;
  publicKey: string;
  /** Ids of the skills that the developer has published. */
  skills: string[];
}

/** The developer of an account, with a new key; made when there is none. Skills are replaced when they are named. */
export async function giveDeveloper(core: Core, name: string, skills: string[] | undefined): Promise<Developer> {
  const account = core.accounts.get('wechat', name);
  if (!account) throw new SimulatorRefusal(404, 'no_such_account', `The account ${name} does not exist.`);
  const known = developerOf(account);
  const { privateKey, publicKey } = await newRsaKeys();
  const developer: Developer = {
    developerId: known?.developerId ?? `sh-${randomBytes(4).toString('hex').toUpperCase()}`,
    keyId: `PUB_KEY_${randomBytes(16).toString('hex').toUpperCase()}`,
    privateKey: pkcs8(privateKey),
    publicKey: spki(publicKey),
    skills: skills ?? known?.skills ?? ['demo-skill'],
  };
  account.secrets = { ...account.secrets, skillhub: JSON.stringify(developer) };
  core.accounts.save();
  return developer;
}

/** The developer of an account, if one was made. */
export function developerOf({ secrets }: Account): Developer | undefined {
  return secrets['skillhub'] ? (JSON.parse(secrets['skillhub']) as Developer) : undefined;
}

/** Every account with a developer. */
export function developersIn(core: Core): { account: Account; developer: Developer }[] {
  return core.accounts.of('wechat').flatMap((account) => {
    const developer = developerOf(account);
    return developer ? [{ account, developer }] : [];
  });
}

/** The key by which a developer's signatures are verified. */
export function publicKeyOf({ publicKey }: Developer): KeyObject {
  return createPublicKey(publicKey);
}
