import test from 'ava';
import type { Contexts } from '../../../cli/session.ts';
import { caFileOf, chooseTarget, guessLabel, originOf } from '../../../cli/settings.ts';

const known: Contexts = {
  current: 'dev',
  contexts: {
    dev: { server: 'http://127.0.0.1:8080', label: 'dev', user: 'alice' },
    prod: { server: 'https://pay.example.com/', label: 'prod' },
  },
};

test('a flag overrides the environment, which overrides the current context, which overrides the default', (t) => {
  t.is(
    chooseTarget({ server: 'https://a.example' }, { PAYCTL_SERVER: 'https://b.example' }, known).origin,
    'https://a.example',
  );
  t.is(chooseTarget({ context: 'prod' }, { PAYCTL_SERVER: 'https://b.example' }, known).context, 'prod');
  t.is(chooseTarget({}, { PAYCTL_SERVER: 'https://b.example' }, known).origin, 'https://b.example');
  t.is(chooseTarget({}, { PAYCTL_CONTEXT: 'prod' }, known).context, 'prod');
  t.is(chooseTarget({}, {}, known).context, 'dev');
  t.is(chooseTarget({}, {}, { current: null, contexts: {} }).sources.server, 'default');
});

test('a server given by URL uses the context of the same origin, with its label', (t) => {
  const target = chooseTarget({ server: 'https://pay.example.com' }, {}, known);
  t.is(target.context, 'prod');
  t.is(target.label, 'prod');
});

test('an unknown server never uses the current context', (t) => {
  const target = chooseTarget({ server: 'https://evil.example' }, {}, known);
  t.is(target.context, null);
  t.is(target.label, 'prod');
});

test('contradicting -C and --server are refused', (t) => {
  t.throws(() => chooseTarget({ context: 'prod', server: 'https://other.example' }, {}, known), {
    message: /does not point to/,
  });
});

test('an unknown context is refused, even with the name of an object member', (t) => {
  t.throws(() => chooseTarget({ context: 'nope' }, {}, known), { message: /Context "nope" not found/ });
  t.throws(() => chooseTarget({ context: 'constructor' }, {}, known), { message: /Context "constructor" not found/ });
});

for (const bad of ['pay.example.com', 'ftp://x', 'https://user:pw@x.example', 'https://x.example/?a=1', '']) {
  test(`"${bad}" is rejected as a server address`, (t) =>
    void t.throws(() => originOf(bad), { message: /is not a valid server URL/ }));
}

test('the password in a server address is not quoted', (t) => {
  for (const bad of ['https://user:hun@ter2@x.example', 'user:hun/ter2@x.example', 'https://user:hun/ter2@x.example']) {
    const { message } = t.throws(() => originOf(bad))!;
    t.notRegex(message, /hun|ter2/);
    t.regex(message, /"(https:\/\/)?…@x\.example" is not a valid server URL/);
  }
});

test('only a local server is labelled dev by default', (t) => {
  t.is(guessLabel('http://127.0.0.1:1'), 'dev');
  t.is(guessLabel('http://localhost:1'), 'dev');
  t.is(guessLabel('http://[::1]:1'), 'dev');
  t.is(guessLabel('https://127.example.com'), 'prod');
});

test('the CA file is the one of the context that the target uses: -C, then PAYCTL_CONTEXT, then the current context', (t) => {
  const at = (caFile: string) => ({ server: 'https://pay.example.com', label: 'prod' as const, caFile });
  const contexts: Contexts = { current: 'one', contexts: { one: at('1.pem'), two: at('2.pem'), three: at('3.pem') } };
  const file = (flags: Parameters<typeof caFileOf>[0], env: Record<string, string> = {}) =>
    caFileOf(flags, env, contexts, 'https://pay.example.com');
  t.is(file({}), '1.pem');
  t.is(file({}, { PAYCTL_CONTEXT: 'two' }), '2.pem');
  t.is(file({ context: 'three' }, { PAYCTL_CONTEXT: 'two' }), '3.pem');
  t.is(file({ caFile: '4.pem', context: 'three' }), '4.pem');
});
