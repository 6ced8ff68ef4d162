import { errorCodes, isErrorCode, type PublishedError } from '../error-codes/error-codes.ts';
import { NotFound } from '../errors.ts';
import { Reply } from './reply.ts';

/** The page `/docs/errors/{code}` that the `type` of a problem document leads to; throws 404 for a code that does not exist. */
export function errorPage(code: string): Reply {
  if (!isErrorCode(code)) throw new NotFound('error code');
  const { title, meaning, remedy, retryable }: PublishedError = errorCodes[code];
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title></head>
<body>
<h1>${escape(title)}</h1>
<p><code>${escape(code)}</code></p>
<h2>What it means</h2>
<p>${escape(meaning)}</p>
<h2>What to do</h2>
<p>${escape(remedy)}</p>
<p>${retryable ? 'The same request can be retried.' : 'Do not retry the same request unchanged.'}</p>
</body>
</html>
`;
  return new Reply({ headers: { 'content-type': 'text/html; charset=utf-8' }, body });
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
