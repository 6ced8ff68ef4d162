import { majorOf, paymentOf, refundedMinor, type Trade } from './trade.ts';

const CHANNELS = { alipay: 'Alipay', wechat: 'WeChat Pay', paypal: 'PayPal' } as const;

/** The style of the payer's page; served on its own, because the page allows no inline style. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee6; --paper: #ffffff; --back: #f2f4f7; --go: #1a5fb4; --good: #1c7c47; --bad: #a33127; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf2; --soft: #a3adbb; --line: #3a4350; --paper: #1d232c; --back: #12161c; --go: #2f74cf; --good: #5cc48a; --bad: #ef8a80; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; background: var(--paper); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1.5rem; }
.channel { margin: 0; color: var(--soft); font-size: 0.875rem; }
h1 { margin: 0.25rem 0 0; font-size: 1.125rem; font-weight: 600; overflow-wrap: anywhere; }
.amount { margin: 1rem 0; font-size: clamp(1.5rem, 9vw, 2.25rem); font-weight: 650; line-height: 1.1; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.amount small { font-size: 1rem; font-weight: 500; color: var(--soft); }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 1rem; margin: 0 0 1.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 0.875rem; }
dt { color: var(--soft); } dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
form { display: grid; gap: 0.5rem; }
button, .button { display: block; width: 100%; padding: 0.75rem; border-radius: 0.5rem; border: 1px solid var(--line); background: transparent; color: var(--ink); font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
button[value=pay] { background: var(--go); border-color: var(--go); color: #fff; }
:focus-visible { outline: 3px solid var(--go); outline-offset: 2px; }
.result { margin: 0 0 1rem; padding: 0.75rem 1rem; border-left: 4px solid var(--soft); background: var(--back); border-radius: 0.25rem; font-weight: 600; }
.good { border-color: var(--good); color: var(--good); } .bad { border-color: var(--bad); color: var(--bad); }
footer { margin-top: 1.25rem; color: var(--soft); font-size: 0.8125rem; text-align: center; }
`;

/** The whole page for a trade in its present state, or the page that says there is none. */
export function payerPage(trade: Trade | undefined): string {
  const body =
    trade === undefined ? '<h1>No such payment</h1><p>The simulator has no order at this address.</p>' : bodyOf(trade);
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${trade === undefined ? 'No such payment' : 'Payment'} – simulator</title><link rel="stylesheet" href="/pay/style.css"></head>
<body><main>${body}<footer>Simulator: no real money is moved.</footer></main></body>
</html>
`;
}

function bodyOf(trade: Trade): string {
  return `<p class="channel">${CHANNELS[trade.payWay]} (simulated)</p>
<h1>${escape(trade.subject)}</h1>
<p class="amount">${escape(majorOf(trade, trade.minor))} <small>${escape(trade.currency)}</small></p>
<dl><dt>Order</dt><dd>${escape(trade.orderNo)}</dd>${refundRow(trade)}</dl>
${stateOf(trade)}`;
}

function refundRow(trade: Trade): string {
  const refunded = refundedMinor(trade);
  return refunded === 0 ? '' : `<dt>Refunded</dt><dd>${majorOf(trade, refunded)} ${escape(trade.currency)}</dd>`;
}

function stateOf(trade: Trade): string {
  if (trade.state === 'paid' && paymentOf(trade)) return result('good', 'Paid.') + back(trade.returnUrl);
  if (trade.state === 'paid') return result('', 'The payment is under review.') + back(trade.returnUrl);
  if (trade.state === 'approved')
    return result('good', 'Approved. The merchant captures the payment next.') + back(trade.returnUrl);
  if (trade.state === 'closed')
    return result('bad', 'This order is closed. It can no longer be paid.') + back(trade.cancelUrl ?? trade.returnUrl);
  return `${trade.declined ? result('bad', 'Declined. You can try again.') : ''}
<form method="post"><button name="choice" value="pay">Pay</button><button name="choice" value="decline">Decline</button></form>`;
}

function result(kind: 'good' | 'bad' | '', text: string): string {
  return `<p class="result ${kind}" role="status">${text}</p>`;
}

/** Only web addresses become links: the merchant wrote this one. */
function back(url: string | null): string {
  return url !== null && /^https?:\/\//.test(url)
    ? `<a class="button" rel="noreferrer" href="${escape(url)}">Back to the merchant</a>`
    : '';
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
