import { environmentName, keyNames, keys, type KeyName } from './schema.ts';

/** The Markdown table of every key, as `config/README.md` shows it. */
export function keyTable(): string {
  const head = ['Key', 'Must be', 'Default', 'Environment variable', 'Description'];
  return [head, head.map(() => '---'), ...keyNames.map(row)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Replaces the key table of a document, between `<!-- keys -->` and `<!-- end of keys -->`, by the table of the current
 * keys.
 */
export function withKeyTable(document: string): string {
  return document.replace(/(?<=<!-- keys -->\n)[^]*(?=<!-- end of keys -->)/, () => `\n${keyTable()}\n\n`);
}

function row(key: KeyName): string[] {
  const { expects, fallback, sentence, secret } = keys[key];
  return [
    `\`${key}\``,
    expects.replaceAll('<', '\\<'),
    fallback === undefined ? 'none' : `\`${JSON.stringify(fallback)}\``,
    `\`${environmentName(key)}\``,
    `${sentence.replaceAll('<', '\\<')}${secret ? ' **Secret.**' : ''}`,
  ];
}

/** The text of `config/default.toml`. A key without a default is commented out. */
export function defaultToml(): string {
  const lines = [
    '# Every key with its default. Set your own values in config/local.toml, in the file given by --config or PAY_CONFIG,',
    '# or in the environment; copy only what you change. In those files a relative path is relative to the directory of',
    '# the file that sets it, otherwise to the working directory. Generated from config/schema.ts by: node config/write.ts',
  ];
  let section = '';
  for (const key of keyNames) {
    const [first = '', name = ''] = key.includes('.') ? key.split('.') : ['', key];
    if (first !== section) lines.push('', `[${first}]`);
    if (first === section && first === '') lines.push('');
    section = first;
    const { fallback, expects, sentence } = keys[key];
    lines.push(`# ${sentence}`);
    lines.push(fallback === undefined ? `# ${name} = … ${expects}` : `${name} = ${JSON.stringify(fallback)}`);
  }
  return `${lines.join('\n')}\n`;
}
