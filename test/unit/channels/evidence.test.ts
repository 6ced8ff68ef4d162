import test from 'ava';
import { multipartForm, typedFiles } from '../../../server/channels/evidence.ts';

const png = Buffer.from('89504e470d0a1a0a00', 'hex');
const limits = { channel: 'A channel', kinds: ['image/png', 'application/pdf'], mostFiles: 2, mostBytes: 100 } as const;

test('the file type follows from the bytes, and the file name uses only letters that every channel accepts', (t) => {
  const typed = typedFiles(
    [
      { name: '../发票 no. 7.exe', bytes: png },
      { name: '照片', bytes: Buffer.from('%PDF-1.7') },
    ],
    limits,
  );
  if ('kind' in typed) return t.fail(JSON.stringify(typed));
  t.deepEqual(
    typed.map(({ name, kind }) => [name, kind]),
    [
      ['no-7.png', 'image/png'],
      ['file-2.pdf', 'application/pdf'],
    ],
  );
});

test('too many, too large or unsupported files are refused with a reason', (t) => {
  const file = { name: 'a.png', bytes: png };
  const code = (...files: (typeof file)[]) => {
    const typed = typedFiles(files, { ...limits, mostBytesInAll: 120 });
    return 'kind' in typed ? typed.code : undefined;
  };
  t.is(code(file, file), undefined);
  t.is(code(file, file, file), 'TOO_MANY_FILES');
  t.is(code({ name: 'a.png', bytes: Buffer.from('GIF89a') }), 'FILE_TYPE_INVALID');
  t.is(code({ name: 'a.png', bytes: Buffer.alloc(0) }), 'FILE_TYPE_INVALID');
  t.is(code({ name: 'a.png', bytes: Buffer.concat([png, Buffer.alloc(100)]) }), 'FILE_TOO_LARGE');
  const half = { name: 'a.png', bytes: Buffer.concat([png, Buffer.alloc(60)]) };
  t.is(code(half, half), 'FILES_TOO_LARGE');
});

test('a multipart form is read back unchanged', async (t) => {
  const { contentType, bytes } = multipartForm([
    { name: 'input', type: 'application/json', content: '{"a":"ä"}' },
    { name: 'file1', type: 'image/png', fileName: 'a.png', content: png },
  ]);
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
  t.is(form.get('input'), '{"a":"ä"}');
  const file = form.get('file1') as File;
  t.deepEqual([file.name, file.type, Buffer.from(await file.arrayBuffer())], ['a.png', 'image/png', png]);
});
