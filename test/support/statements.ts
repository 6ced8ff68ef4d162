import { clientFor } from '../unit/simulator/alipay/client.ts';
import { askAlipay, targetOf, unzip } from '../unit/simulator/bills/desk.ts';
import { call } from '../unit/simulator/wechat/merchant.ts';
import type { World } from '../unit/simulator/world.ts';
import type { Service } from './service.ts';

/** What the statement of the account (账务明细, 资金账单) says that it gained on a day, in fen: the channel's word for what it settled. */
export async function statementOf(service: Service, payWay: 'alipay' | 'wechat', day: string): Promise<number> {
  const configs = await service.sim('/sim/config');
  const world = { url: service.simulator.url, config: async () => configs } as unknown as World;
  return payWay === 'alipay' ? statementOfAlipay(world, day) : statementOfWechat(world, day);
}

async function statementOfAlipay(world: World, day: string): Promise<number> {
  const { content } = await askAlipay(await clientFor(world), day, 'signcustomer');
  if (content['sub_code'] === 'isp.bill_not_exist') return 0;
  const { files } = unzip(await (await fetch(content['bill_download_url']!)).arrayBuffer());
  const [header = '', ...lines] = files[0]!.text.split('\r\n').slice(4);
  const [came, left] = ['收入金额（+元）', '支出金额（-元）'].map((name) => header.split(',').indexOf(name));
  const rows = lines.slice(
    0,
    lines.findIndex((line) => line.startsWith('#')),
  );
  return rows.map((line) => line.split(',')).reduce((sum, row) => sum + fen(row[came!]) + fen(row[left!]), 0);
}

async function statementOfWechat(world: World, day: string): Promise<number> {
  const config = (await world.config())['wechat']!;
  const told = await call(world, config, 'GET', `/v3/bill/fundflowbill?bill_date=${day}`);
  if (told.code === 'NO_STATEMENT_EXIST') return 0;
  const { body } = await call(world, config, 'GET', targetOf(told.body, world));
  const [header = '', ...lines] = body.replace(/^\uFEFF/, '').split('\r\n');
  const [way, amount] = ['收支类型', '收支金额(元)'].map((name) => header.split(',').indexOf(name));
  const rows = lines
    .slice(
      0,
      lines.findIndex((line) => line.startsWith('资金流水总笔数')),
    )
    .map((line) => line.slice(1).split(',`'));
  return rows.reduce((sum, row) => sum + (row[way!] === '收入' ? 1 : -1) * fen(row[amount!]), 0);
}

function fen(text: string | undefined): number {
  return Math.round(Number(text) * 100);
}
