import { randomBytes } from 'node:crypto';
import type { DisputeAction, EvidenceFile } from '../payments/channel.ts';

/** Kinds of files, each with its first bytes (hexadecimal) and its file extension. */
const KINDS = {
  'image/jpeg': { begins: ['ffd8ff'], ending: 'jpg' },
  'image/png': { begins: ['89504e470d0a1a0a'], ending: 'png' },
  'image/gif': { begins: ['474946383761', '474946383961'], ending: 'gif' },
  'image/bmp': { begins: ['424d'], ending: 'bmp' },
  'application/pdf': { begins: ['255044462d'], ending: 'pdf' },
} as const;
type EvidenceKind = keyof typeof KINDS;

/** The limits of a channel for evidence: the files that a merchant sends in a dispute. */
interface EvidenceLimits {
  channel: string;
  kinds: readonly EvidenceKind[];
  mostFiles: number;
  /** The most bytes of one file; `mostBytesInAll`: of all files together, absent = no limit. */
  mostBytes: number;
  mostBytesInAll?: number;
}

/** A file as it is sent: its bytes decide its kind and the extension of its name. */
export interface TypedFile {
  name: string;
  kind: EvidenceKind;
  bytes: Buffer;
}

type Refused = Extract<DisputeAction, { kind: 'refused' }>;

/** The files as the channel accepts them, or the reason why nothing is sent. */
export function typedFiles(files: readonly EvidenceFile[], limits: EvidenceLimits): readonly TypedFile[] | Refused {
  const { channel, kinds, mostFiles, mostBytes, mostBytesInAll = Infinity } = limits;
  if (files.length > mostFiles)
    return refused('TOO_MANY_FILES', `${channel} accepts at most ${mostFiles} files with an answer.`);
  const typed: TypedFile[] = [];
  let sum = 0;
  for (const { name, bytes } of files) {
    const start = bytes.subarray(0, 16).toString('hex');
    const kind = kinds.find((one) => KINDS[one].begins.some((begin) => start.startsWith(begin)));
    const accepted = kinds.map((one) => KINDS[one].ending.toUpperCase()).join(', ');
    if (!kind) return refused('FILE_TYPE_INVALID', `${channel} does not accept the file ${name}; use ${accepted}.`);
    if (bytes.length > mostBytes) return refused('FILE_TOO_LARGE', `${name} is larger than ${inMegabytes(mostBytes)}.`);
    sum += bytes.length;
    typed.push({ name: nameOf(name, typed.length, KINDS[kind].ending), kind, bytes });
  }
  if (sum > mostBytesInAll)
    return refused('FILES_TOO_LARGE', `The files are larger than ${inMegabytes(mostBytesInAll)} together.`);
  return typed;
}

/** A file name of characters that every channel accepts, with the extension of the file's kind. */
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

/** One part of a multipart/form-data body. */
export interface FormPart {
  name: string;
  type: string;
  fileName?: string;
  content: string | Buffer;
}

/** Builds a multipart/form-data body and its media type. Names must not contain quotes. */
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
