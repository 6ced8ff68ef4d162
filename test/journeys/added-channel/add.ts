import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

const GUIDES = 'server/pages/guides';
const SLUG = 'go-live-example-pay';

/** The source files of the channel, by their target path. */
const FILES = {
  'kind.ts': 'server/channels/example/kind.ts',
  'signature.ts': 'server/channels/example/signature.ts',
  'simulator.ts': 'server/simulator/example/simulator.ts',
  'guide.en.md': `${GUIDES}/en/${SLUG}.md`,
  'guide.zh.md': `${GUIDES}/zh/${SLUG}.md`,
};

/** The lines that a new channel adds to other files: each follows a text that occurs exactly once. */
const LINES: Readonly<Record<string, readonly (readonly [after: string, added: string])[]>> = {
  'server/domain.ts': [
    [
      'const channels = {\n',
      "example: { name: { en: 'Example Pay', zh: '示例支付' }, app: { en: 'Example', zh: '示例' }, operator: 'Example', certKinds: {}, supportIdHeaders: [] },\n",
    ],
  ],
  'server/channels/registry.ts': [
    ["import { alipayKind } from './alipay/kind.ts';\n", "import { exampleKind } from './example/kind.ts';\n"],
    ['[alipayKind, wechatKind, paypalKind', ', exampleKind'],
  ],
  'server/simulator/simulator.ts': [
    [
      "import { alipaySimulator } from './alipay/simulator.ts';\n",
      "import { exampleSimulator } from './example/simulator.ts';\n",
    ],
    ['[alipaySimulator, wechatSimulator, paypalSimulator', ', exampleSimulator'],
  ],
};

/** Copies the sources into `folder` and adds the channel to them. */
export function addChannel(folder: string): void {
  for (const part of ['server', 'cli', 'config', 'bin'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const file of ['package.json', ...readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name))])
    cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, place] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    const text = readFileSync(join(import.meta.dirname, name), 'utf8');
    const moved = text
      .replaceAll("'../../../server/", "'../../")
      .replaceAll("'./signature.ts'", "'../../channels/example/signature.ts'");
    writeFileSync(join(folder, place), moved);
  }
  for (const [file, lines] of Object.entries(LINES)) {
    let text = readFileSync(join(folder, file), 'utf8');
    for (const [after, added] of lines) {
      const [before, behind, ...more] = text.split(after);
      if (before === undefined || behind === undefined || more.length > 0) throw new Error(`${file}: ${after}`);
      text = `${before}${after}${added}${behind}`;
    }
    writeFileSync(join(folder, file), text);
  }
}
