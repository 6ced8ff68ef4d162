import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { startWorld, type World } from '../unit/simulator/world.ts';

const run = promisify(execFile);

let world: World;
test.before(async () => {
  world = await startWorld();
});
test.after.always(() => world?.close());

/** Arguments with which a runtime exits 0 if it has the required functions. */
const RUNTIMES = {
  php: ['-r', 'exit(function_exists("mb_convert_encoding") && function_exists("openssl_sign") ? 0 : 1);'],
  python3: ['--version'],
  openssl: ['version'],
} as const;
type Runtime = keyof typeof RUNTIMES;

/** A client in another language, its account and the expected output of its steps. */
interface Oracle {
  file: string;
  needs: readonly Runtime[];
  account: { payWay: string; name: string; [option: string]: string };
  more?: string[];
  steps: RegExp;
}

const wechatSteps =
  /^(certificate )?placed placed closed is closed is not paid is paid refunded is refunded( notice \S+ notice is about the order){2} $/;
const alipaySteps =
  /^placed placed is not scanned closed is paid refunded refunded once is refunded \S+ opens \S+ opens( notice notice is in the charset){2} $/;
const paypalSteps =
  /refunded refunded once is refunded is refunded in part( webhook (CHECKOUT\.ORDER|PAYMENT\.CAPTURE)\.\w+){3} $/;

const ORACLES: readonly Oracle[] = [
  ...['certificate', 'public-key', 'both'].map((mode): Oracle => ({
    file: 'wechat.php',
    needs: ['php'],
    account: { payWay: 'wechat', name: `php-${mode}`, mode },
    steps: wechatSteps,
  })),
  ...['key', 'certificate'].flatMap((signMode) =>
    ['utf-8', 'GBK'].map((charset): Oracle => ({
      file: 'alipay.php',
      needs: ['php'],
      account: { payWay: 'alipay', name: `php-${signMode}-${charset}`, signMode },
      more: [charset],
      steps: alipaySteps,
    })),
  ),
  {
    file: 'paypal.py',
    needs: ['python3', 'openssl'],
    account: { payWay: 'paypal', name: 'python', notifyUrl: 'http://127.0.0.1:9/notify' },
    steps: paypalSteps,
  },
];

for (const { file, needs, account, more = [], steps } of ORACLES) {
  test(`${file} pays and refunds at the ${account.payWay} simulator and verifies its signatures (${account.name})`, async (t) => {
    const missing = needs.filter((name) => spawnSync(name, RUNTIMES[name]).status !== 0);
    if (missing.length > 0) {
      t.log(
        `Not run: this machine has no ${missing.join(' and no ')}. Debian: apt install php-cli php-mbstring python3 openssl`,
      );
      return t.pass();
    }
    await world.post('/sim/accounts', account);
    const { stdout } = await run(needs[0]!, [`${import.meta.dirname}/${file}`, world.url, account.name, ...more]);
    t.regex(stdout.replaceAll('\n', ' '), steps);
  });
}
