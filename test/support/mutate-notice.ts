import { randomInt } from 'node:crypto';
import type { PayWay } from '../../server/payments/channel.ts';
import type { Message } from './forge.ts';

/** Headers whose content is signed, for each channel. */
const SIGNED: Record<PayWay, readonly string[]> = {
  alipay: [],
  wechat: ['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-signature', 'wechatpay-serial'],
  paypal: [
    'paypal-transmission-id',
    'paypal-transmission-time',
    'paypal-transmission-sig',
    'paypal-cert-url',
    'paypal-auth-algo',
  ],
};

/** One change of a genuine message that changes what it says. */
export function mutate(genuine: Message, payWay: PayWay, index: number): { note: string; message: Message } {
  const kinds = [flipByte, cut, double, ...(payWay === 'alipay' ? [changeField, dropField] : [flipHeader, dropHeader])];
  for (;;) {
    const { note, message } = kinds[index % kinds.length]!(genuine, payWay);
    if (saysTheSame(genuine, message, payWay)) continue;
    return { note, message };
  }
}

/** `%2F` for `%2f` or the spare bits at the end of a base64 text change the bytes, not the message. */
function saysTheSame(genuine: Message, { headers, body }: Message, payWay: PayWay): boolean {
  if (payWay !== 'alipay')
    return (
      body.equals(genuine.body) &&
      JSON.stringify(plainHeaders(headers)) === JSON.stringify(plainHeaders(genuine.headers))
    );
  const [one, other] = [genuine.body, body].map((bytes) => {
    const pairs = [...new URLSearchParams(bytes.toString('latin1'))].map(([name, value]) =>
      name === 'sign' ? [name, Buffer.from(value, 'base64').toString('hex')] : [name, value],
    );
    return JSON.stringify(pairs.toSorted());
  });
  return one === other;
}

function plainHeaders(headers: Record<string, string>): [string, string][] {
  return Object.entries(headers)
    .map(([name, value]): [string, string] => [
      name,
      /-sig(nature)?$/.test(name) ? Buffer.from(value, 'base64').toString('hex') : value,
    ])
    .toSorted();
}

type Mutation = (genuine: Message, payWay: PayWay) => { note: string; message: Message };

const flipByte: Mutation = ({ headers, body }) => {
  const bytes = Buffer.from(body);
  const at = randomInt(bytes.length);
  const bit = 1 << randomInt(8);
  bytes.writeUInt8(bytes.readUInt8(at) ^ bit, at);
  return { note: `bit ${bit} of byte ${at}`, message: { headers, body: bytes } };
};
const cut: Mutation = ({ headers, body }) => {
  const at = randomInt(body.length);
  return { note: `cut at ${at}`, message: { headers, body: body.subarray(0, at) } };
};
const double: Mutation = ({ headers, body }) => ({
  note: 'twice',
  message: { headers, body: Buffer.concat([body, Buffer.from('&'), body]) },
});
const changeField: Mutation = ({ headers, body }) => {
  const pairs = [...new URLSearchParams(body.toString())];
  const [name] = pairs[randomInt(pairs.length)]!;
  const changed = pairs.map(([one, value]): [string, string] => [one, one === name ? `${value}1` : value]);
  return { note: `${name} is other`, message: { headers, body: Buffer.from(new URLSearchParams(changed).toString()) } };
};
const dropField: Mutation = ({ headers, body }) => {
  const pairs = [...new URLSearchParams(body.toString())];
  const [dropped] = pairs.splice(randomInt(pairs.length), 1);
  return { note: `no ${dropped?.[0]}`, message: { headers, body: Buffer.from(new URLSearchParams(pairs).toString()) } };
};
const flipHeader: Mutation = ({ headers, body }, payWay) => {
  const name = SIGNED[payWay][randomInt(SIGNED[payWay].length)]!;
  const value = headers[name] ?? '';
  const at = randomInt(value.length);
  const letter = value[at] === 'A' ? 'B' : 'A';
  return {
    note: `${name} at ${at}`,
    message: { headers: { ...headers, [name]: value.slice(0, at) + letter + value.slice(at + 1) }, body },
  };
};
const dropHeader: Mutation = ({ headers, body }, payWay) => {
  const name = SIGNED[payWay][randomInt(SIGNED[payWay].length)]!;
  const { [name]: _, ...rest } = headers;
  return { note: `no ${name}`, message: { headers: rest, body } };
};
