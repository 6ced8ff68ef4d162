import type { Glossary } from '../schemas.ts';

/** Descriptions of the fields of projects, products, users, coins and statistics, by schema or operation. */
export const catalogWords: Glossary = {
  'AgentPay ApiApp ApiAppWithSecret AppMe Approval Bill Bill.sums BillDifference Certificate ChannelConfig Coin ConsoleEvent Diagnosis.silentNotices Dispute LiveEvent Order OrderEntry OrderException Product Settlement.days Settlement.missing Settlement.pendingRefunds SkillFigures StatsOverview User path query':
    { project: ['Code of the project.', 'default'] },
  'ApiApp ApiAppChange ApiAppWithSecret AppMe Certificate CertificateUpload ChannelCheck ChannelConfig ChannelConfig.ofOtherAccounts ChannelConfigSchema ChannelRegistration Coin CoinChange LiveWebhook NewApiApp NewCoin NewProduct NewProject Product ProductChange Project ProjectChange PublicChannel SkillPrice UsedCertificate query':
    { name: ['Name for people.', 'shop'] },
  'ApiApp ApiAppChange ApiAppWithSecret NewApiApp NewProject Project ProjectChange': {
    remark: ['Note for administrators; null = none.', null],
  },
  'Bill.sums Bill.totals Settlement.days Settlement.totals StatsOverview.days StatsOverview.days.amounts StatsOverview.totals StatsOverview.totals.amounts':
    { refunds: ['Number of refunds.', 1] },
  'ChannelConfig Product': { version: ['Version; it grows with every change.', 1] },
  'Coin CoinChange NewCoin': {
    clawback: [
      'What happens to coins whose payment is refunded: they are taken back, at most what is there, or the account goes into debt.',
    ],
  },
  'Coin NewCoin NewProduct NewProject Product Project path': { code: ['Code.', 'summer-sale'] },
  CoinAccount: {
    balance: ['Coins of the account.', 100],
    debt: ['Coins that the account owes, because what was spent had to be given back.', 0],
    held: ['Coins that are reserved.', 10],
  },
  'CoinAccount CoinBalance CoinEntry CoinPosting': { coin: ['Code of the coin.', 'gold'] },
  'CoinAccount CoinBalance CoinPosting': {
    available: ['Coins that can be spent: the balance without what is held.', 90],
  },
  CoinAdjustment: { amount: ['Coins that come in, or go out when negative.', 10] },
  CoinDebit: {
    amount: ['Coins to take.', 10],
    memo: ['Note of the caller.', 'level 7'],
  },
  CoinEntry: { amount: ['Coins that came in, or went out when negative.', -10] },
  'CoinEntry CoinPosting': {
    balanceAfter: ['Balance after the entry.', 90],
    bizNo: ["The caller's own number of the posting; the same number is posted once. Null = none.", 'game-77'],
    kind: ['What the posting was.'],
    memo: ['Note of the caller; null = none.', null],
  },
  'LiveReplica ServiceInfo': { version: ['Version of the service.', '0.1.0'] },
  'NewProduct Product': { kind: ['`goods`, `coin_package` or `skill` (a pay-per-call resource).', 'goods'] },
  'NewProduct Product ProductChange': {
    perUserLimit: ['How many one user may buy; null = any number.', null],
    saleFrom: ['When the sale begins, RFC 3339; null = at once.', null],
    saleTo: ['When the sale ends, RFC 3339; null = never.', null],
    stock: ['How many are left; null = any number.', 20],
  },
  'NewProduct Product ProductChange SkillPrice': {
    description: ['Description for people; null = none.', null],
    offerTtlSeconds: ['Seconds for which an offer of the resource can be paid.', 600],
    payWays: ['The channels that it can be paid with.', ['wechat']],
  },
  'NewProduct ProductChange': {
    coin: ['The coins that the product brings, for a `coin_package`.'],
    resource: ['How the content of a skill is made.'],
  },
  'NewProduct.coin NewProduct.coinPrice Product.coin Product.coinPrice ProductChange.coin ProductChange.coinPrice SkillCoinOrder.coin SkillContent.coin SkillFulfilled.coin SkillPrice.coinPrice':
    { code: ['Code of the coin.', 'gold'] },
  'NewProduct.coin Product.coin ProductChange.coin': { bonus: ['Coins that are given on top.', 10] },
  'NewProduct.coin Product.coin ProductChange.coin SkillCoinOrder.coin SkillContent.coin SkillFulfilled.coin': {
    amount: ['How many coins.', 100],
  },
  'NewProduct.coinPrice Product.coinPrice ProductChange.coinPrice SkillPrice.coinPrice': {
    amount: ['How many coins a call costs.', 5],
  },
  'NewProduct.resource Product.resource ProductChange.resource': {
    handler: ['Who makes the content: `static` text or an `http` address.', 'static'],
    content: ['The content itself.', { forecast: 'sunny' }],
    url: ['Address that makes the content.', 'https://handler.example/weather'],
    timeoutMs: ['Milliseconds that the handler has.', 10000],
  },
  'OrderTally StatsOverview.days StatsOverview.totals': { amounts: ['Sums, one for each currency.'] },
  Product: {
    coin: ['The coins that the product brings, for a `coin_package`; null for other kinds.', null],
    handlerFault: ['Why the address of the handler will never be called; null = it will.', null],
    priceMinor: ['Price in minor units of `currency`.', 1250],
    resource: ['How the content of a skill is made; null for other kinds.', null],
  },
  'Product SkillPrice': {
    coinPrice: ['What a call costs in coins; null = it cannot be paid with coins.', null],
    refundAfterFulfilment: [
      'Whether the calling application may refund a delivered call; it then keeps the content at no cost.',
      false,
    ],
    price: ['Price in major units of `currency`.', 12.5],
  },
  SecondFactorFirstCode: { code: ['The first code that the authenticator shows.'] },
  SecondFactorRemoval: { code: ['A code of the second factor; may be a recovery code.'] },
  'Settlement StatsOverview': {
    days: ['The same for each day.'],
    totals: ['Sums.'],
  },
  SkillFigures: {
    fulfilled: ['Calls whose content was delivered.', 1],
    offered: ['Calls that were offered for payment.', 3],
    paid: ['Calls that were paid.', 2],
    revenue: ['Paid minus refunded, in major units.', 25],
    revenueMinor: ['Paid minus refunded, in minor units.', 2500],
    failed: ['How many failed.', 0],
    refunded: ['Calls that were refunded in full.', 0],
  },
  'StatsOverview query': {
    from: ['Beginning of the period.', '2030-01-01'],
    to: ['End of the period.', '2030-01-31'],
    tz: ['IANA time zone in which days are counted.', 'Asia/Shanghai'],
  },
  'StatsOverview.days': { date: ['The day, `YYYY-MM-DD`.', '2030-01-31'] },
  'StatsOverview.days StatsOverview.days.amounts StatsOverview.totals StatsOverview.totals.amounts User.totals': {
    paidOrders: ['Number of orders that were paid.', 2],
  },
  'StatsOverview.days StatsOverview.totals': {
    createdOrders: ['Orders that were created.', 3],
    states: ['Orders of the period by their current state.', { paid: 2, closed: 1 }],
  },
  'StatsOverview.days.amounts StatsOverview.totals.amounts User.totals': {
    paidAmount: ['What was paid, in major units.', 25],
    paidAmountMinor: ['What was paid, in minor units.', 2500],
    refundedAmountMinor: ['What has been refunded, in minor units.', 250],
  },
  User: { anonymisedAt: ['When the personal data was removed, RFC 3339 UTC; null = it was not.', null] },
  'User UserChange UserInput': {
    email: ['E-mail address; null = not known.', 'ann@example.com'],
    metadata: ["The merchant's own data about the user; null = none.", { level: 'gold' }],
    nickname: ['Name that the user goes by; null = not known.', 'Tea lover'],
    phone: ['Telephone number; null = not known.', '+8613800138000'],
    status: ['`active`, or `blocked`: new payments are refused.', 'active'],
  },
  'User.totals': { orders: ['Number of orders.', 3] },
};
