import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Core } from '../half.ts';
import { isOfKind } from '../file-kind.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { readForm } from './form.ts';
import { badParameter, tell } from './refusals.ts';

const MOST_BYTES = 2 * 1024 * 1024;

const Meta = z.object({ filename: z.string().min(1).max(128), sha256: z.string().min(1).max(256) });

/** Images of a merchant for its answers to complaints. Source: pay.weixin.qq.com, chapter10_2_10 of API v3. */
export const IMAGE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/merchant-service\/images\/upload$/, call: 'dispute-image', plan: planUpload },
];

/** By the simulator, whose each image is: they do not outlive it. */
const owners = new WeakMap<Core, Map<string, string>>();

/** Whether the merchant has uploaded the image. */
export function hasImage({ core, account }: Pick<Asked, 'core' | 'account'>, mediaId: string): boolean {
  return owners.get(core)?.get(mediaId) === account.name;
}

function planUpload({ core, account, rawBody, contentType }: Asked): Planned {
  const parts = readForm(contentType, rawBody);
  const file = parts?.find(({ name }) => name === 'file');
  const meta = Meta.safeParse(parseJson(parts?.find(({ name }) => name === 'meta')?.bytes));
  if (!file || !meta.success) return settled(badParameter('/meta', 'the form needs a file and its meta'));
  const { filename, sha256 } = meta.data;
  if (file.bytes.length > MOST_BYTES) return settled(badParameter('/file', 'the file is larger than 2 MB'));
  if (!isOfKind(file.bytes, filename, ['jpg', 'png', 'bmp']))
    return settled(badParameter('/meta/filename', 'the file is none of jpg, png and bmp'));
  if (hash('sha256', file.bytes) !== sha256) return settled(badParameter('/meta/sha256', 'is not that of the file'));
  return {
    act() {
      const images = owners.get(core) ?? new Map<string, string>();
      owners.set(core, images);
      const mediaId = `file_${randomUUID()}`;
      images.set(mediaId, account.name);
      return tell({ media_id: mediaId });
    },
  };
}

function parseJson(bytes: Buffer | undefined): unknown {
  try {
    return JSON.parse(bytes?.toString('utf8') ?? '') as unknown;
  } catch {
    return undefined;
  }
}
