import { randomBytes } from 'node:crypto';
import type { DisputeAction, EvidenceFile } from '../payments/channel.ts';

/** The file types, each with its possible first bytes (in hexadecimal) and its file extension. */
const KINDS = {
  'image/jpeg': { begins: ['ffd8ff'], ending: 'jpg' },
  'image/png': { begins: ['89504e470d0a1a0a'], ending: 'png' },
  'image/gif': { begins: ['474946383761', '474946383961'], ending: 'gif' },
  'image/bmp': { begins: ['424d'], ending: 'bmp' },
  'application/pdf': { begins: ['255044462d'], ending: 'pdf' },
} as const;
type EvidenceKind = keyof typeof KINDS;

interface EvidenceLimits {
  channel: string;
  kinds: readonly EvidenceKind[];
  mostFiles: number;
  /** The maximum number of bytes of one file. `mostBytesInAll` limits all files together; absent = no such limit. */
  mostBytes: number;
  mostBytesInAll?: number;
}

/** The type and the extension come from the bytes of the file, not from its original name. */
export interface TypedFile {
  name: string;
  kind: EvidenceKind;
  bytes: Buffer;
}

type Refused = Extract<DisputeAction, { kind: 'refused' }>;

/** Prepares files for the channel. If a file breaks a limit of the channel, returns a refusal and no file is sent. */
export function typedFiles(files: readonly EvidenceFile[], limits: EvidenceLimits): readonly TypedFile[] | Refused {
  const { channel, kinds, mostFiles, mostBytes, mostBytesInAll = Infinity } = limits;
  if (files.length > mostFiles)
    return refused('TOO_MANY_FILES', `${channel} accepts at most ${mostFiles} files with a reply to a dispute.`);
  const typed: TypedFile[] = [];
  let sum = 0;
  for (const { name, bytes } of files) {
    const start = bytes.subarray(0, 16).toString('hex');
    const kind = kinds.find((one) => KINDS[one].begins.some((begin) => start.startsWith(begin)));
    const accepted = kinds.map((one) => KINDS[one].ending.toUpperCase()).join(', ');
    if (!kind)
      return refused('FILE_TYPE_INVALID', `${channel} does not accept the file ${name}; accepted types: ${accepted}.`);
    if (bytes.length > mostBytes) return refused('FILE_TOO_LARGE', `${name} is larger than ${inMegabytes(mostBytes)}.`);
    sum += bytes.length;
    typed.push({ name: nameOf(name, typed.length, KINDS[kind].ending), kind, bytes });
  }
  if (sum > mostBytesInAll)
    return refused('FILES_TOO_LARGE', `All files together are larger than ${inMegabytes(mostBytesInAll)}.`);
  return typed;
}

/** Builds a file name from characters that every channel accepts, with the extension of the file type. */
function nameOf(name: string, index: number, ending: string): string {
  const stem = name
    .replace(/\.[^.]*$/, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 48);
  return `${stem || `file-${index + 1}`}.${ending}`;
}

function inMegabytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MB`;
}

function refused(code: string, reason: string): Refused {
  return { kind: 'refused', code, reason };
}

export interface FormPart {
  name: string;
  type: string;
  fileName?: string;
  content: string | Buffer;
}

/** Builds a multipart/form-data body and its content type. Names must not contain quotes. */
export function multipartForm(parts: readonly FormPart[]): { contentType: string; bytes: Buffer } {
  const boundary = `form-${randomBytes(16).toString('hex')}`;
  const chunks = parts.flatMap(({ name, type, fileName, content }) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"`;
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\ncontent-type: ${type}\r\n\r\n`;
    return [Buffer.from(head), typeof content === 'string' ? Buffer.from(content) : content, Buffer.from('\r\n')];
  });
  const bytes = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
}
