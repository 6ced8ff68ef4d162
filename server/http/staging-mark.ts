import type { EdgeMiddleware } from './edge.ts';
import type { HeaderPairs } from './security-headers.ts';

/** What every answer of a staging service carries, so that nobody takes it for production. */
export const STAGING_HEADERS: HeaderPairs = [['X-Pay-Environment', 'staging']];

/** Where the style of the ribbon is; the policy of every page allows styles of our own origin, and no others. */
export const STAGING_STYLE_PATH = '/staging.css';

/** The style of the ribbon: above everything, and above the page rather than on it. */
export const STAGING_STYLE = `
#pay-environment { position: fixed; inset: 0 0 auto 0; z-index: 2147483647; box-sizing: border-box; height: 1.75rem; margin: 0; padding: 0 0.5rem; overflow: hidden; background: #f6c344; color: #241a00; font: 600 0.8125rem/1.75rem system-ui, sans-serif; text-align: center; text-overflow: ellipsis; white-space: nowrap; }
html { padding-top: 1.75rem; scroll-padding-top: 1.75rem; }
body { min-height: calc(100dvh - 1.75rem) !important; }
`;

const LINK = `<link rel="stylesheet" href="${STAGING_STYLE_PATH}">`;
const RIBBON = `<p id="pay-environment" role="note">Staging: no real money · <span lang="zh-CN">预发布环境，非真实交易</span></p>`;

/** Puts the ribbon on every page of a staging service, whoever makes the page. */
export const stagingMark: EdgeMiddleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  if (!ctx.response.is('html') || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  ctx.body = withRibbon(String(body));
};

/** A page with the ribbon; what is no whole page stays as it is. */
export function withRibbon(page: string): string {
  return page.replace(/<\/head>/i, `${LINK}$&`).replace(/<body\b[^>]*>/i, `$&${RIBBON}`);
}
