import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { writeCertFiles } from './cert-files.ts';
import { CERT_ID } from '../../cli/commands/cert.ts';
import { loginOf, examplesOf } from '../../cli/options.ts';
import { commandPath } from '../../cli/program.ts';
import { leaves, program } from './examples.ts';
import { TOKEN, problem } from './fakes/api.ts';
import { makePlace, scripted, splitWords, type Place, type RunOptions } from './payctl.ts';
import { SECRET, HOOK_SECRET } from './fakes/rows.ts';

/** Command lines with the last request that the service must receive. */
const CASES: [line: string, request: string, body?: unknown][] = [
  ['app list --project shop-eu --limit 5', 'GET /api/v1/api-apps?project=shop-eu&limit=5'],
  ['apps list -q', 'GET /api/v1/api-apps'],
  ['app get app_1', 'GET /api/v1/api-apps/app_1'],
  [
    'app create --name shop --scope payment:write,payment:read --trusted true --rate-limit 60 -o json',
    'POST /api/v1/api-apps',
    { name: 'shop', scopes: ['payment:write', 'payment:read'], trusted: true, rateLimit: 60 },
  ],
  ['app update app_1 --remark ""', 'PUT /api/v1/api-apps/app_1', { remark: '' }],
  [
    'app update app_1 --limit CNY.perDay=1000.50,CNY.ordersPerHour=60 --limit CNY.perOrder=none,USD=none',
    'PUT /api/v1/api-apps/app_1',
    { limits: { CNY: { perDay: '1000.50', ordersPerHour: 60, perOrder: null }, USD: null } },
  ],
  [
    'app update app_1 --add-scope webhook:write,payment:read',
    'PUT /api/v1/api-apps/app_1',
    { scopes: ['payment:write', 'payment:read', 'webhook:write'] },
  ],
  [
    'app update app_1 --remove-scope payment:write --remove-scope webhook:write --add-scope coin:read --name till -y',
    'PUT /api/v1/api-apps/app_1',
    { name: 'till', scopes: ['payment:read', 'coin:read'] },
  ],
  [
    'app update app_1 --scope payment:write,payment:read,coin:read',
    'PUT /api/v1/api-apps/app_1',
    { scopes: ['payment:write', 'payment:read', 'coin:read'] },
  ],
  ['app limits app_1', 'GET /api/v1/api-apps/app_1/limits'],
  ['app update app_1 --clear remark,allowed-ips', 'PUT /api/v1/api-apps/app_1', { remark: null, allowedIps: [] }],
  ['app enable app_1', 'PUT /api/v1/api-apps/app_1/toggle', { enabled: true }],
  ['app disable app_1 -y', 'PUT /api/v1/api-apps/app_1/toggle', { enabled: false }],
  [
    'app rotate-secret app_1 --grace 24h -y -o json',
    'POST /api/v1/api-apps/app_1/rotate-secret',
    { graceSeconds: 86_400, secret: SECRET },
  ],
  [
    'app rotate-secret app_1 --revoke-tokens --confirm app_1 -o env',
    'POST /api/v1/api-apps/app_1/rotate-secret',
    { revokeTokens: true, secret: SECRET },
  ],
  ['app revoke-tokens app_1 -y', 'POST /api/v1/api-apps/app_1/revoke-tokens'],
  [
    'app webhook set app_1 --url https://shop.example/h --types order.paid,order.closed',
    'PUT /api/v1/api-apps/app_1/webhook',
    { url: 'https://shop.example/h', types: ['order.paid', 'order.closed'] },
  ],
  [
    'app webhook set app_1 --types all --enabled false',
    'PUT /api/v1/api-apps/app_1/webhook',
    { types: [], enabled: false },
  ],
  ['app webhook get app_1', 'GET /api/v1/api-apps/app_1/webhook'],
  ['app webhook test app_1', 'POST /api/v1/api-apps/app_1/webhook/test'],
  [
    'app webhook rotate app_1 --grace 1h -y -o env',
    'POST /api/v1/api-apps/app_1/webhook/rotate-secret',
    { graceSeconds: 3600, secret: HOOK_SECRET },
  ],
  [
    'app webhook rotate app_1 --confirm app_1 -o json',
    'POST /api/v1/api-apps/app_1/webhook/rotate-secret',
    { secret: HOOK_SECRET },
  ],
  [
    'app webhook deliveries app_1 --state failed --event evt_1 --limit 5',
    'GET /api/v1/api-apps/app_1/webhook/deliveries?state=failed&eventId=evt_1&limit=5',
  ],
  ['app webhook delete app_1 --confirm app_1', 'DELETE /api/v1/api-apps/app_1/webhook'],
  ['app webhook resend app_1 --event evt_1 -y', 'POST /api/v1/events/evt_1/resend'],
  ['app webhook resend app_1 --failed -y', 'POST /api/v1/events/evt_5f0c2b6e8a179d3f01935b2e/resend'],
  ['app delete app_1 --confirm app_1', 'DELETE /api/v1/api-apps/app_1'],
  ['admin list', 'GET /api/v1/admins'],
  [
    'admin create --username bob --role viewer --password-file pw',
    'POST /api/v1/admins',
    { username: 'bob', role: 'viewer', password: 'correct horse battery' },
  ],
  [
    'admin create --username bob --role operator --projects books,tea --password-file pw',
    'POST /api/v1/admins',
    { username: 'bob', role: 'operator', projects: ['books', 'tea'], password: 'correct horse battery' },
  ],
  [
    'admin update bob --role operator --projects books -y',
    'PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a',
    { role: 'operator', projects: ['books'] },
  ],
  [
    'admin update bob --clear projects -y',
    'PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a',
    { projects: null },
  ],
  ['admin reset-second-factor bob -y', 'POST /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/reset-second-factor'],
  ['session list --admin bob --limit 5', 'GET /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/sessions?limit=5'],
  ['session end s-1 --admin bob -y', 'DELETE /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/sessions/s-1'],
  ['session end --all --admin bob -y', 'DELETE /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/sessions'],
  ['second-factor status', 'GET /api/v1/me/second-factor'],
  ['second-factor recovery-codes -y -o json', 'POST /api/v1/me/second-factor/recovery-codes'],
  [
    'second-factor remove --password-file pw --code-file code -y',
    'POST /api/v1/me/second-factor/remove',
    { password: 'correct horse battery', code: '492039' },
  ],
  ['admin enable bob', 'PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/toggle', { enabled: true }],
  ['admin disable bob -y', 'PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a/toggle', { enabled: false }],
  [
    'admin reset-password bob --password-file pw -y',
    'PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a',
    { password: 'correct horse battery' },
  ],
  [
    'order list --status paid --pay-way alipay --app app_1 --since 2026-11-01 --amount-min 10.00',
    'GET /api/v1/orders?status=paid&payWay=alipay&clientId=app_1&amountMin=10.00&createdFrom=2026-11-01T00:00:00.000Z',
  ],
  ['order get P1', 'GET /api/v1/orders/P1'],
  ['order timeline P1', 'GET /api/v1/orders/P1/timeline'],
  ['order capture P1 -y', 'POST /api/v1/console/payment/capture/P1'],
  ['order close P1 -y', 'POST /api/v1/orders/P1/close'],
  ['order sync P1', 'POST /api/v1/orders/P1/sync'],
  ['order export --bom', 'GET /api/v1/orders/export?format=csv&bom=true'],
  ['bill export B1 --bom', 'GET /api/v1/bills/B1/lines?format=csv&bom=true'],
  ['audit-log export --bom', 'GET /api/v1/audit-log/export?format=csv&bom=true'],
  ['order export --status paid --format ndjson', 'GET /api/v1/orders/export?status=paid&format=ndjson'],
  ['refund list --order P1 --status abnormal', 'GET /api/v1/refunds?status=abnormal&orderNo=P1'],
  ['refund get R1', 'GET /api/v1/refunds/R1'],
  [
    'refund create P1 --amount 40.00 --reason damaged --merchant-refund-no m-1 -y',
    'POST /api/v1/orders/P1/refunds',
    { refundAmount: '40.00', reason: 'damaged', merchantRefundNo: 'm-1' },
  ],
  ['refund retry R1 -y', 'POST /api/v1/refunds/R1/retry'],
  ['refund sync R1', 'POST /api/v1/refunds/R1/sync'],
  [
    'refund resolve R1 --action release --reason agreed --confirm R1',
    'POST /api/v1/refunds/R1/resolve',
    { action: 'release', reason: 'agreed' },
  ],
  ['dispute list --status lost --pay-way paypal', 'GET /api/v1/disputes?status=lost&payWay=paypal'],
  ['dispute get D1', 'GET /api/v1/disputes/D1'],
  ['dispute answer D1 --text delivered -y', 'POST /api/v1/disputes/D1/answer', { text: 'delivered' }],
  ['dispute accept D1 --note sorry --confirm D1', 'POST /api/v1/disputes/D1/accept', { note: 'sorry' }],
  ['dispute finish D1 -y', 'POST /api/v1/disputes/D1/finish'],
  ['dispute finish D1 --result refunded -y', 'POST /api/v1/disputes/D1/finish', { result: 'refunded' }],
  [
    'bill list --pay-way wechat --state missing --from 2026-11-01 --to 2026-11-30 --account 1900000109 --mode live --project p',
    'GET /api/v1/bills?payWay=wechat&state=missing&from=2026-11-01&to=2026-11-30&account=1900000109&mode=live&project=p',
  ],
  ['bill get B1', 'GET /api/v1/bills/B1'],
  [
    'bill fetch --pay-way wechat --date 2026-11-20 --account 1900000109 --project p --no-wait',
    'POST /api/v1/bills',
    { payWay: 'wechat', day: '2026-11-20', account: '1900000109', project: 'p' },
  ],
  [
    'bill import pw --pay-way alipay --date 2026-11-20 --no-wait',
    'POST /api/v1/bills/import?payWay=alipay&day=2026-11-20',
  ],
  [
    'bill differences B1 --state listed --kind fee_differs --limit 5',
    'GET /api/v1/bills/B1/differences?state=listed&kind=fee_differs&limit=5',
  ],
  ['bill lines B1 --kind refund', 'GET /api/v1/bills/B1/lines?format=ndjson&kind=refund'],
  ['bill rerun B1 --no-wait', 'POST /api/v1/bills/B1/rerun'],
  ['bill export B1 --kind fee --format ndjson', 'GET /api/v1/bills/B1/lines?kind=fee&format=ndjson'],
  [
    'bill settlement --from 2026-11-01 --to 2026-11-30 --pay-way paypal --account A --project p',
    'GET /api/v1/stats/settlement?from=2026-11-01&to=2026-11-30&payWay=paypal&account=A&project=p',
  ],
  ['approval list --state waiting', 'GET /api/v1/approvals?state=waiting'],
  ['approval get R1', 'GET /api/v1/approvals/R1'],
  ['approval approve R1 --confirm R1', 'POST /api/v1/approvals/R1/approve'],
  ['approval reject R1 --reason no -y', 'POST /api/v1/approvals/R1/reject', { reason: 'no' }],
  ['exception get 42', 'GET /api/v1/exceptions/42'],
  [
    'audit-log list --actor alice --action app.create --target app_1 --since 2026-11-01',
    'GET /api/v1/audit-log?actor=alice&action=app.create&target=app_1&createdFrom=2026-11-01T00:00:00.000Z',
  ],
  ['audit-log export --actor alice --format ndjson', 'GET /api/v1/audit-log/export?actor=alice&format=ndjson'],
  [`audit-log verify --tip ${'a'.repeat(64)}`, `GET /api/v1/books?tip=${'a'.repeat(64)}&only=audit-log`],
  ['exception list --state open', 'GET /api/v1/exceptions?state=open'],
  [
    'exception resolve 42 --action acknowledge --reason ok --confirm 42',
    'POST /api/v1/exceptions/42/resolve',
    { action: 'acknowledge', reason: 'ok' },
  ],
  [
    'pay --subject Tea --amount 0.10 --pay-way wechat --merchant-order-no m-1 --expire-seconds 600',
    'POST /api/v1/console/payment/pay',
    { subject: 'Tea', amount: '0.10', payWay: 'wechat', merchantOrderNo: 'm-1', expireSeconds: 600 },
  ],
  ['whoami', 'GET /api/v1/me'],
  ['session list', 'GET /api/v1/me/sessions'],
  ['session end 3d0f -y', 'DELETE /api/v1/me/sessions/3d0f'],
  ['api /api/v1/orders?limit=1', 'GET /api/v1/orders?limit=1'],
  ['api -X GET /api/v1/orders -f status=paid', 'GET /api/v1/orders?status=paid'],
  [
    'api /api/v1/api-apps -f name=x -F rateLimit=5 -F "scopes=[]"',
    'POST /api/v1/api-apps',
    { name: 'x', rateLimit: 5, scopes: [] },
  ],
  ['api -X PUT /api/v1/api-apps/app_1 --body "{}"', 'PUT /api/v1/api-apps/app_1', {}],
  ['channel list --project shop-eu', 'GET /api/v1/payment/config/list?project=shop-eu'],
  ['channel get alipay', 'GET /api/v1/payment/config/alipay'],
  [
    'channel set alipay -f alipay.toml',
    'POST /api/v1/payment/config/alipay',
    { mode: 'simulator', appId: '2021', key: 'secret text' },
  ],
  ['channel set wechat -f alipay.toml', 'POST /api/v1/payment/config/wechat/certificates'],
  ['channel set paypal -f paypal.toml', 'POST /api/v1/payment/config/paypal/notices'],
  ['channel set wechat -f paypal.toml', 'POST /api/v1/payment/config/wechat/notices'],
  ['channel test alipay', 'POST /api/v1/payment/config/alipay/test'],
  ['channel enable alipay', 'PUT /api/v1/payment/config/alipay/toggle', { enabled: true }],
  ['channel disable alipay -y', 'PUT /api/v1/payment/config/alipay/toggle', { enabled: false }],
  ['cert list --pay-way alipay', 'POST /api/v1/certs/list', { payWay: 'alipay' }],
  ['cert set-default cert_1 -y', 'POST /api/v1/certs/cert_1/default'],
  [`cert trust ${CERT_ID} -y`, `POST /api/v1/certs/${CERT_ID}/trust`],
  [`cert distrust ${CERT_ID} -y --project eu`, `POST /api/v1/certs/${CERT_ID}/distrust`],
  ['cert delete cert_1 --confirm cert_1', 'POST /api/v1/certs/cert_1/delete'],
  ['cert download cert_1', 'POST /api/v1/certs/cert_1/download'],
  ['project create --code eu --name Europe', 'POST /api/v1/projects', { code: 'eu', name: 'Europe' }],
  ['project stats eu --mode live --tz UTC', 'GET /api/v1/projects/eu/stats?tz=UTC&mode=live'],
  ['project stats --from 2026-11-01', 'GET /api/v1/stats/overview?from=2026-11-01'],
  ['project disable eu -y', 'PUT /api/v1/projects/eu/toggle', { enabled: false }],
  ['user get "a b/c" --project eu', 'GET /api/v1/users/a%20b%2Fc?project=eu'],
  ['user update u-1 --metadata "{}" --project eu', 'PUT /api/v1/users/u-1?project=eu', { metadata: {} }],
  ['user orders u-1 --limit 3', 'GET /api/v1/users/u-1/orders?limit=3'],
  ['user coins u-1', 'GET /api/v1/users/u-1/coins'],
  [
    'product create --code tea --kind goods --name Tea --price 12.50 --currency CNY --pay-ways alipay,wechat',
    'POST /api/v1/products',
    { code: 'tea', kind: 'goods', name: 'Tea', price: '12.50', currency: 'CNY', payWays: ['alipay', 'wechat'] },
  ],
  ['product update tea --clear stock', 'PUT /api/v1/products/tea', { stock: null }],
  ['coin accounts gold', 'GET /api/v1/coins/gold/accounts'],
  ['coin entries gold --user-id u-1', 'GET /api/v1/coins/gold/entries?userId=u-1'],
  [
    'coin adjust gold --user-id u-1 --amount=-5 --reason twice -y',
    'POST /api/v1/coins/gold/adjustments',
    { userId: 'u-1', amount: -5, reason: 'twice' },
  ],
  ['event list --types order.paid,order.closed', 'GET /api/v1/events?types=order.paid%2Corder.closed'],
  ['top --count 1', 'GET /api/v1/live'],
  ['event resend evt_1', 'POST /api/v1/events/evt_1/resend'],
  ['skillpay get X1 --app app_1 --secret-file pw', 'GET /api/v2/skillpay/query/X1'],
  [
    'skillpay refund X1 --amount 0.05 -y --app app_1 --secret-file pw',
    'POST /api/v2/skillpay/refund',
    { outTradeNo: 'X1', refundAmount: '0.05' },
  ],
  [
    'skillpay offer --resource weather --input "{}" --app app_1 --secret-file pw',
    'POST /api/v2/skillpay/resource',
    { resource: 'weather', input: {} },
  ],
  ['skillpay list --app app_1 --secret-file pw', 'GET /api/v2/skillpay/resources'],
  ['skillpay stats', 'GET /api/v1/stats/skillpay'],
  ['skillpay agent get', 'GET /api/v1/skillpay/agent-pay'],
  [
    'skillpay agent set --developer-id sh-1 --private-key-file pw -y',
    'PUT /api/v1/skillpay/agent-pay',
    { developerId: 'sh-1', privateKey: 'correct horse battery' },
  ],
  ['skillpay agent test --project eu', 'POST /api/v1/skillpay/agent-pay/test?project=eu'],
  ['skillpay agent delete -y', 'DELETE /api/v1/skillpay/agent-pay'],
  ['simulator pay P1', 'POST /sim/pay', { orderNo: 'P1' }],
  ['simulator scan P1 --pay-way wechat', 'POST /sim/scan', { orderNo: 'P1', payWay: 'wechat' }],
  [
    'simulator dispute P1 --act lose --refund told',
    'POST /sim/dispute',
    { orderNo: 'P1', act: 'lose', refund: 'told' },
  ],
  ['simulator notify P1 --times 50', 'POST /sim/notify', { orderNo: 'P1', times: 50 }],
  ['simulator ledger --order-no P1', 'GET /sim/ledger?orderNo=P1'],
  ['simulator clock advance 2h', 'POST /sim/clock', { advanceSeconds: 7200 }],
  ['simulator clock show', 'GET /sim/clock'],
  [
    'simulator faults --pay-way alipay --call create --fault commit-then-timeout --times 1',
    'POST /sim/faults',
    { payWay: 'alipay', call: 'create', fault: 'commit-then-timeout', times: 1 },
  ],
  ['simulator faults --clear', 'DELETE /sim/faults'],
  ['simulator bill list --pay-way paypal', 'GET /sim/bills?payWay=paypal'],
  [
    'simulator bill plant fee_differs --pay-way wechat --date 2026-11-20 --order-no P1 --account shop',
    'POST /sim/bills/plants',
    { kind: 'fee_differs', payWay: 'wechat', date: '2026-11-20', orderNo: 'P1', account: 'shop' },
  ],
  [
    'simulator bill condition filler --pay-way alipay --rows 1000',
    'POST /sim/bills/conditions',
    { condition: 'filler', payWay: 'alipay', rows: 1000 },
  ],
  [
    'simulator bill condition late --pay-way alipay --off',
    'POST /sim/bills/conditions',
    { condition: 'late', payWay: 'alipay', on: false },
  ],
  ['simulator bill clear b-1', 'DELETE /sim/bills/b-1'],
];

/** The same for a merchant, with the credentials of an application. */
const MERCHANT_CASES: typeof CASES = [
  ['whoami', 'GET /api/v2/me'],
  [
    'pay --subject Tea --amount 0.10 --pay-way wechat --merchant-order-no m-1',
    'POST /api/v2/payment/pay',
    { subject: 'Tea', amount: '0.10', payWay: 'wechat', merchantOrderNo: 'm-1' },
  ],
  ['pay --subject Tea --amount 0.10 --pay-way wechat --wait', 'GET /api/v2/payment/query/P202611210558007K2MQX9WBT'],
  [
    'order list --status paid --user-id u-1 --since 2026-11-01 --limit 5',
    'GET /api/v2/payment/orders?status=paid&userId=u-1&createdFrom=2026-11-01T00:00:00.000Z&limit=5',
  ],
  ['order list --merchant-order-no m-1 --watch --count 1', 'GET /api/v2/payment/orders?merchantOrderNo=m-1'],
  ['order get P1', 'GET /api/v2/payment/query/P1'],
  ['order timeline P1', 'GET /api/v2/payment/orders/P1/timeline'],
  ['explain P1', 'GET /api/v2/payment/orders/P1/explain'],
  ['order close P1 -y', 'POST /api/v2/payment/close/P1'],
  ['order capture P1 -y', 'POST /api/v2/payment/capture/P1'],
  [
    'refund create P1 --amount 40.00 --reason damaged --merchant-refund-no m-1 -y',
    'POST /api/v2/payment/refund',
    { orderNo: 'P1', refundAmount: '40.00', reason: 'damaged', merchantRefundNo: 'm-1' },
  ],
  ['refund get R1', 'GET /api/v2/payment/refunds/R1'],
  [
    'refund list --status failed --order P1 --merchant-refund-no m-1 --since 2026-11-01 --limit 5',
    'GET /api/v2/payment/refunds?status=failed&orderNo=P1&merchantRefundNo=m-1&createdFrom=2026-11-01T00:00:00.000Z&limit=5',
  ],
  ['dispute list --status lost --order P1', 'GET /api/v2/payment/disputes?status=lost&orderNo=P1'],
  ['dispute get D1', 'GET /api/v2/payment/disputes/D1'],
  ['event list --types order.paid --after 6', 'GET /api/v2/events?types=order.paid&after=6'],
  ['event list --since 2026-11-01', 'GET /api/v2/events?since=2026-11-01T00:00:00.000Z'],
  ['event listen --after 6 --types order.paid --count 1', 'GET /api/v2/events?types=order.paid&limit=200&after=6'],
  ['event resend evt_1', 'POST /api/v2/events/evt_1/resend'],
  ['event resend --failed --since 2026-11-01 -y', 'POST /api/v2/events/evt_5f0c2b6e8a179d3f01935b2e/resend'],
  ['app webhook get', 'GET /api/v2/webhook'],
  ['app webhook get app_1', 'GET /api/v2/webhook'],
  [
    'app webhook set --url https://shop.example/h --types order.paid',
    'PUT /api/v2/webhook',
    { url: 'https://shop.example/h', types: ['order.paid'] },
  ],
  ['app webhook test', 'POST /api/v2/webhook/test'],
  [
    'app webhook rotate --grace 1h -y -o env',
    'POST /api/v2/webhook/rotate-secret',
    { graceSeconds: 3600, secret: HOOK_SECRET },
  ],
  ['app webhook deliveries --state failed --event evt_1', 'GET /api/v2/webhook/deliveries?state=failed&eventId=evt_1'],
  ['app webhook resend --event evt_1 -y', 'POST /api/v2/events/evt_1/resend'],
  ['app webhook resend app_1 --failed -y', 'POST /api/v2/events/evt_5f0c2b6e8a179d3f01935b2e/resend'],
  ['app webhook delete --confirm app_1', 'DELETE /api/v2/webhook'],
  ['skillpay list', 'GET /api/v2/skillpay/resources'],
  ['skillpay get X1', 'GET /api/v2/skillpay/query/X1'],
  ['skillpay offer weather', 'POST /api/v2/skillpay/resource', { resource: 'weather' }],
  ['skillpay offer --resource weather', 'POST /api/v2/skillpay/resource', { resource: 'weather' }],
  ['skillpay redeem X1', 'POST /api/v2/skillpay/resource'],
  ['skillpay refund X1 -y', 'POST /api/v2/skillpay/refund', { outTradeNo: 'X1' }],
  ['api /api/v2/payment/orders -X GET -f limit=1', 'GET /api/v2/payment/orders?limit=1'],
];

/** The requests of `cases` are sent with this authorization. */
function sendsRequests(as: string, cases: typeof CASES, token: string, env: (place: Place) => RunOptions['env']): void {
  for (const [line, request, body] of cases)
    test(`payctl ${line}${as}`, async (t) => {
      const place = await makePlace();
      const cwd = await mkdtemp(join(tmpdir(), 'payctl-requests-'));
      t.teardown(() => Promise.all([place.close(), rm(cwd, { recursive: true })]));
      await writeFile(join(cwd, 'pw'), 'correct horse battery\n');
      await writeFile(join(cwd, 'key.txt'), 'secret text\n');
      await writeFile(join(cwd, 'paypal.toml'), 'mode = "simulator"\nclientId = "AeA1QIZXiflr1"\n');
      await writeFile(join(cwd, 'alipay.toml'), 'mode = "simulator"\nappId = "2021"\nkey = { file = "key.txt" }\n');
      await writeFile(join(cwd, 'code'), '492039\n');
      const { code, stderr } = await place.payctl(splitWords(line).words, { cwd, env: env(place) ?? {} });
      t.is(code, 0, stderr);
      const wanted = new URL(`http://x${request.slice(request.indexOf('/'))}`).pathname;
      const last = place.api.seen.findLast(({ path }) => path === wanted) ?? place.api.seen.at(-1);
      const query = new URLSearchParams(last?.query).toString();
      t.is(
        `${last?.method} ${last?.path}${query ? `?${query}` : ''}`,
        new URL(`http://x${request.slice(request.indexOf('/'))}`).href
          .replace('http://x', `${request.split(' ')[0]} `)
          .replace(/\?.*/, (text) => `?${new URLSearchParams(text)}`),
      );
      t.deepEqual(last?.body, body);
      if (last?.path.startsWith('/api/') && !line.includes('--app app_1 --secret-file'))
        t.is(last.headers['authorization'], `Bearer ${token}`);
    });
}

/** The environment of a merchant without any stored login. */
const merchant = ({ api }: Place) => ({
  PAYCTL_CLIENT_ID: 'app_1',
  PAYCTL_CLIENT_SECRET: SECRET,
  PAYCTL_SERVER: api.url,
  PAYCTL_CONFIG_DIR: '/nonexistent',
});

sendsRequests('', CASES, TOKEN, () => ({}));
sendsRequests(' as a merchant', MERCHANT_CASES, 'merchant-token', merchant);

const ASK_AN_ADMINISTRATOR =
  'With the account of an administrator. A merchant without one asks an administrator of the service.';

for (const command of leaves(program).filter((leaf) => loginOf(leaf) === 'administrator')) {
  const path = commandPath(command);
  test(`${path} refuses an application before any request or question`, async (t) => {
    const line = examplesOf(command).find((one) => !one.includes('--offline')) ?? path;
    const place = await makePlace();
    t.teardown(() => place.close());
    const words = splitWords(line).words.slice(1);
    const at = words.flatMap((word, index) => (/^(-C|--server)$/.test(word) ? [index, index + 1] : []));
    const argv = words.filter((_word, index) => !at.includes(index));
    const prompts = scripted();
    const { code, stderr } = await place.payctl([...argv, '--json'], { env: merchant(place), prompts });
    t.is(code, 5, stderr);
    t.like(JSON.parse(stderr), {
      error: {
        code: 'administrator_needed',
        message: "this command needs an administrator's login",
        hint: `unset PAYCTL_CLIENT_ID && payctl login\n${ASK_AN_ADMINISTRATOR}`,
      },
    });
    t.deepEqual(place.api.seen, []);
    t.deepEqual(prompts.asked, []);
  });
}

for (const line of [
  'order list --app app_1',
  'order list --project eu',
  'refund list --app app_1',
  'event listen --app app_1',
  'event resend --failed --since 1h --app app_1',
  'event resend --failed --since 1h --project eu',
  'app webhook get app_2',
  'app webhook set app_2 --url https://shop.example/h -o json',
  'app webhook resend app_2 --failed -y',
  'api /api/v1/orders',
])
  test(`an application cannot use: ${line}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const { code, stderr } = await place.payctl([...line.split(' '), '--json'], { env: merchant(place) });
    t.is(code, 5, stderr);
    t.like(JSON.parse(stderr), { error: { code: 'administrator_needed' } });
    t.deepEqual(place.api.seen, []);
  });

test('skillpay rejects a secret file without the application whose secret it is', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { code, stderr } = await place.payctl(['skillpay', 'list', '--secret-file', 'x'], { env: merchant(place) });
  t.is(code, 2);
  t.regex(stderr, /--secret-file requires --app/);
  t.deepEqual(place.api.seen, []);
});

test('a missing scope is named in the hint', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v2/payment/pay', () => ({
    ...problem(403, 'insufficient_scope', 'The scope payment:write is required.'),
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="payment:write"' },
  }));
  const argv = ['pay', '--subject', 'Tea', '--amount', '1', '--pay-way', 'alipay', '--json'];
  const { code, stderr } = await place.payctl(argv, { env: merchant(place) });
  t.is(code, 5);
  const { error } = JSON.parse(stderr.slice(stderr.indexOf('{'))) as { error: { code: string; hint: string } };
  t.is(error.code, 'insufficient_scope');
  t.is(
    error.hint,
    'payctl app update app_1 --add-scope payment:write\nAn administrator of the service runs it: an application cannot add scopes to itself.',
  );
  t.is(place.api.seen.filter(({ path }) => path === '/oauth/token').length, 1, 'a new token would not help');
});

test('cert upload sends the key before the certificate, and rejects a key that does not match', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeCertFiles(place.folder);
  const good = await place.payctl(['cert', 'upload', 'app.crt', '--kind', 'alipay_app_cert', '--key', 'app.key']);
  t.is(good.code, 0, good.stderr);
  t.regex(good.stderr, /CN=shop\.example.*serial [0-9A-F]+ {2}\d+ days left/);
  t.deepEqual(
    place.api.seen.map(({ body }) => (body as { kind: string }).kind),
    ['alipay_app_key', 'alipay_app_cert'],
  );
  const bad = await place.payctl(['cert', 'upload', 'app.crt', '--kind', 'alipay_app_cert', '--key', 'other.key']);
  t.is(bad.code, 2);
  t.is(place.api.seen.length, 2, 'nothing was sent');
  const swapped = await place.payctl(['cert', 'upload', 'app.key', '--kind', 'alipay_app_cert']);
  t.is(swapped.code, 2);
  t.regex(swapped.stderr, /private key/);
});

for (const [id, words] of [
  ['..', 'two dots'],
  ['.', 'one dot'],
  ['', 'an empty string'],
] as const) {
  test(`an id that is ${words} is rejected before any request is sent`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    t.is((await place.payctl(['app', 'delete', id, '--confirm', id])).code, 2);
    t.deepEqual(place.api.seen, []);
  });
}
