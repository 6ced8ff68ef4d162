import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { signPreorder } from '../../server/channels/wechat/agent-pay.ts';

/** Builds the signed text as SkillHub's merchant demo does (five lines, each ended, standard base64) and verifies it with OpenSSL. */
const VERIFY = `
import base64, json, os, subprocess, sys, tempfile
asked = json.load(sys.stdin)
b = asked['body']
lines = ['POST', '/palmpayminiapp/clawagentpay/preorder', b['timestamp'], b['nonce_str'], b['payment_required']]
text = ''.join(line + chr(10) for line in lines).encode()
wish = json.loads(base64.b64decode(b['payment_required'], validate=True))
with tempfile.TemporaryDirectory() as folder:
    def put(name, content):
        path = os.path.join(folder, name)
        with open(path, 'wb') as file: file.write(content)
        return path
    key, signature = put('key', asked['key'].encode()), put('signature', base64.b64decode(b['signature'], validate=True))
    def verified(content):
        words = ['openssl', 'dgst', '-sha256', '-verify', key, '-signature', signature, put('text', content)]
        return subprocess.run(words, capture_output=True).returncode == 0
    print(json.dumps({'verified': verified(text), 'unended': verified(text[:-1]), 'nonce': len(b['nonce_str']),
        'life': int(wish['expires_at']) - int(b['timestamp']), 'wish': wish}))
`;

test('Python and OpenSSL verify the signature of an agent pay preorder', async (t) => {
  const missing = ['python3', 'openssl'].filter((name) => spawnSync(name, ['version']).error);
  if (missing.length > 0) {
    t.log(`Not run: this machine has no ${missing.join(' and no ')}.`);
    return t.pass();
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const payData = { type: 'code_url', value: 'weixin://wxpay/bizpayurl?pr=p4lpSuKzz' } as const;
  const requester = { developerId: 'sh-1A2B3C4D', keyId: 'PUB_KEY_1', key: privateKey };
  const wish = { skill: { id: 'weather', version: '1.0.0' }, payData, seconds: 900 };
  const body = await signPreorder(requester, wish, new Date('2026-11-21T05:58:00.999Z'));
  t.is(body['timestamp'], '1795240680');
  const key = publicKey.export({ type: 'spki', format: 'pem' });
  const { stdout } = spawnSync('python3', ['-c', VERIFY], {
    input: JSON.stringify({ body, key }),
    encoding: 'utf8',
  });
  t.like(JSON.parse(stdout), {
    verified: true,
    unended: false,
    nonce: 32,
    life: 900,
    wish: {
      skill_info: { skill_id: 'weather', skill_version: '1.0.0' },
      pay_type: 'SKILL_PAY',
      pay_mode: 'AUTH_AND_PAY',
      pay_items: [{ pay_data: payData }],
      expires_at: '1795241580',
    },
  });
});
