import type { Language } from './language.ts';

/** What the menu of the guides is divided into. */
export type GuideGroup = 'start' | 'build' | 'live' | 'run';

/** One guide: a Markdown file of each language in `guides/`, named after the slug. */
export interface Guide {
  slug: string;
  group: GuideGroup;
  /** The heading of the file, which names the guide in the menu, too. */
  titles: Readonly<Record<Language, string>>;
}

const guide = (group: GuideGroup, slug: string, en: string, zh: string): Guide => ({ slug, group, titles: { en, zh } });

/** Every guide, in the order of the menu. */
export const GUIDES: readonly Guide[] = [
  guide('start', 'index', 'Unified payment service', '统一支付服务'),
  guide('start', 'integrate', 'Integrate in ten minutes', '十分钟接入'),
  guide('start', 'simulator', 'Test with the simulator', '使用模拟器测试'),
  guide('build', 'webhooks', 'Receive webhooks', '接收异步通知'),
  guide('build', 'idempotency', 'Idempotency', '幂等'),
  guide('build', 'errors', 'Errors', '错误码'),
  guide('build', 'rate-limits', 'Rate limits', '频率限制'),
  guide('build', 'pay-per-call', 'Pay-per-call for agents', '面向智能体的按次付费'),
  guide('live', 'go-live-alipay', 'Go live with Alipay', '支付宝上线'),
  guide('live', 'go-live-wechat-pay', 'Go live with WeChat Pay', '微信支付上线'),
  guide('live', 'go-live-paypal', 'Go live with PayPal', 'PayPal 上线'),
  guide('run', 'operate', 'Operate', '运维手册'),
  guide('run', 'scale', 'Scale', '扩容'),
];

/** Where a guide is served. */
export function guidePath(slug: string): string {
  return slug === 'index' ? '/docs' : `/docs/${slug}`;
}
