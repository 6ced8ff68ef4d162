import { currentFile } from './together.ts';

/** One request of this process as it was answered; `code` is that of a refusal. */
export interface Heard {
  method: string;
  path: string;
  status: number;
  code?: string;
  requestId?: string;
  /** The test file, where several share the process. */
  file?: string;
}

const all: Heard[] = [];

/** Every answer that a test file's process got by `fetch` since this file was loaded, whichever client sent the request. */
export function heard(): readonly Heard[] {
  return all.filter(({ file }) => file === currentFile());
}

const send = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const answer = await send(input, init);
  const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) };
  const code = await codeOf(answer);
  const { pathname: path } = new URL(url);
  const requestId = answer.headers.get('x-request-id') ?? undefined;
  all.push({ method: init?.method ?? method, path, status: answer.status, code, requestId, file: currentFile() });
  return answer;
};

async function codeOf(answer: Response): Promise<string | undefined> {
  if (answer.status < 400 || !answer.headers.get('content-type')?.includes('json')) return undefined;
  const body = (await answer.clone().json()) as { code?: string; error?: string };
  return body.code ?? body.error;
}
