/** The style of the payer's pages: one column on a phone, two beside each other where there is room and a code to scan. */
export const PAYER_STYLE = `
:root { color-scheme: light dark; --ink: #18202b; --soft: #596473; --line: #dde2e9; --paper: #fff; --back: #f1f3f6; --go: #1a5fb4; --go-ink: #fff; --good: #17723f; --bad: #a2302a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9edf3; --soft: #a5afbd; --line: #36404d; --paper: #1b212a; --back: #10141a; --go: #79aef2; --go-ink: #0b1420; --good: #62cb92; --bad: #f0938b; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 1rem; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 25rem; display: grid; gap: 1.25rem; background: var(--paper); border: 1px solid var(--line); border-radius: 1rem; padding: 1.5rem; }
p, h1, dl { margin: 0; }
header { text-align: center; }
.channel { color: var(--soft); font-size: 0.875rem; }
.channel::before { content: ""; display: inline-block; width: 0.625rem; height: 0.625rem; margin-right: 0.5rem; border-radius: 50%; background: var(--soft); }
.alipay::before { background: #1677ff; } .wechat::before { background: #07b053; } .paypal::before { background: #2770c9; }
.subject { margin-top: 0.5rem; overflow-wrap: anywhere; }
.amount { margin-top: 0.25rem; font-size: clamp(1.75rem, 9vw, 2.5rem); font-weight: 650; line-height: 1.15; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.amount small { font-size: 1rem; font-weight: 500; color: var(--soft); }
.status { padding: 0.875rem 1rem; border-radius: 0.625rem; background: var(--back); border-left: 4px solid var(--soft); }
.status h1 { font-size: 1.0625rem; font-weight: 650; }
.status p { color: var(--soft); font-size: 0.9375rem; }
.busy .status { border-color: var(--go); } .good .status { border-color: var(--good); } .bad .status { border-color: var(--bad); }
.good .status h1 { color: var(--good); } .bad .status h1 { color: var(--bad); }
.busy .status h1 { position: relative; padding-right: 1rem; }
.busy .status h1::after { content: ""; position: absolute; top: 0.5rem; right: 0; width: 0.5rem; height: 0.5rem; border-radius: 50%; background: var(--go); animation: pulse 1.6s ease-in-out infinite; }
@keyframes pulse { 50% { opacity: 0.15; } }
@media (prefers-reduced-motion: reduce) { .busy .status h1::after { animation: none; } }
.pay { display: grid; gap: 0.75rem; justify-items: center; text-align: center; }
.pay form { width: 100%; }
.qr { display: block; width: min(100%, 15rem); height: auto; border-radius: 0.625rem; border: 1px solid var(--line); }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 1rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 0.8125rem; }
dt { color: var(--soft); } dd { margin: 0; text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.button { display: block; width: 100%; padding: 0.75rem 1rem; border-radius: 0.625rem; border: 1px solid var(--line); color: var(--ink); font-weight: 600; text-align: center; text-decoration: none; }
button.button { background: none; font: inherit; font-weight: 600; cursor: pointer; }
.button.go { background: var(--go); border-color: var(--go); color: var(--go-ink); }
.button:hover { border-color: var(--soft); }
:focus-visible { outline: 3px solid var(--go); outline-offset: 2px; }
.test { color: var(--soft); font-size: 0.8125rem; text-align: center; }
@media (max-width: 24rem) { main { padding: 1.25rem; } dl { font-size: 0.75rem; column-gap: 0.5rem; } }
@media (min-width: 48rem) {
  main:has(.qr) { max-width: 46rem; grid-template-columns: 1fr 17rem; column-gap: 2rem; padding: 2rem; align-items: start; }
  main:has(.qr) > * { grid-column: 1; }
  main:has(.qr) > .pay { grid-column: 2; grid-row: 1 / span 6; align-self: center; }
  main:has(.qr) > header { text-align: left; }
  main:has(.qr) > .test { text-align: left; }
}
`;
