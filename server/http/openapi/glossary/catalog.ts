import type { Glossary } from '../schemas.ts';

/** Descriptions of the fields of projects, products, users, coins and statistics, by schema or operation. */
export const catalogWords: Glossary = {
  'AgentPay ApiApp ApiAppWithSecret AppMe Approval Bill Bill.sums BillDifference Certificate ChannelConfig Coin ConsoleEvent Diagnosis.silentNotices Dispute LiveEvent Order OrderEntry OrderException Product Settlement.days Settlement.missing Settlement.pendingRefunds SkillFigures StatsOverview User path query':
    { project: ['Code of the project.', 'default'] },
  'ApiApp ApiAppChange ApiAppWithSecret AppMe Certificate CertificateUpload ChannelCheck ChannelConfig ChannelConfig.ofOtherAccounts ChannelConfigSchema ChannelRegistration Coin CoinChange LiveWebhook NewApiApp NewCoin NewProduct NewProject Product ProductChange Project ProjectChange PublicChannel SkillPrice UsedCertificate query':
    { name: ['Display name.', 'shop'] },
  'ApiApp ApiAppChange ApiAppWithSecret NewApiApp NewProject Project ProjectChange': {
    remark: ['Note for administrators; null = none.', null],
  },
  'Bill.sums Bill.totals Settlement.days Settlement.totals StatsOverview.days StatsOverview.days.amounts StatsOverview.totals StatsOverview.totals.amounts':
    { refunds: ['Number of refunds.', 1] },
  'ChannelConfig Product': {
    version: [
      'Version number. Every change of a channel configuration, or of the price or currency of a product, increases it.',
      1,
    ],
  },
  'Coin CoinChange NewCoin': {
    clawback: [
      'Rule for a refund of coins that are already spent: `refuse` the refund, let the missing coins become a `debt` of the account, or take back only a `partial` amount.',
    ],
  },
  'Coin NewCoin NewProduct NewProject Product Project path': { code: ['Unique code.', 'summer-sale'] },
  CoinAccount: {
    balance: ['Balance in coins.', 100],
    debt: ['Coins that the account owes, because a refund had to take back coins that were already spent.', 0],
    held: ['Coins that are reserved for refunds in progress.', 10],
  },
  'CoinAccount CoinBalance CoinEntry CoinPosting': { coin: ['Code of the coin.', 'gold'] },
  'CoinAccount CoinBalance CoinPosting': {
    available: ['Coins that can be spent: the balance minus the reserved coins.', 90],
  },
  CoinAdjustment: { amount: ['Coins to add or, if negative, to deduct.', 10] },
  CoinDebit: {
    amount: ['Coins to deduct.', 10],
    memo: ['Note of the caller.', 'level 7'],
  },
  CoinEntry: { amount: ['Coins that were added or, if negative, deducted.', -10] },
  'CoinEntry CoinPosting': {
    balanceAfter: ['Balance after the entry.', 90],
    bizNo: [
      "The caller's own number of the posting. A request with the same number does not post again. Null = none.",
      'game-77',
    ],
    kind: ['Kind of the posting.'],
    memo: ['Note of the caller; null = none.', null],
  },
  'LiveReplica ServiceInfo': { version: ['Version of the service.', '0.1.0'] },
  'NewProduct Product': { kind: ['`goods`, `coin_package` or `skill` (a pay-per-call resource).', 'goods'] },
  'NewProduct Product ProductChange': {
    perUserLimit: ['Maximum number of purchases per user; null = unlimited.', null],
    saleFrom: ['When the sale begins, RFC 3339; null = at once.', null],
    saleTo: ['When the sale ends, RFC 3339; null = never.', null],
    stock: ['Remaining stock; null = unlimited.', 20],
  },
  'NewProduct Product ProductChange SkillPrice': {
    description: ['Description of the product for buyers; null = none.', null],
    offerTtlSeconds: ['Seconds for which an offer of the resource can be paid.', 600],
    payWays: ['The channels with which it can be paid.', ['wechat']],
  },
  'NewProduct ProductChange': {
    coin: ['Coins that the buyer receives, for a `coin_package`.'],
    resource: ['Source of the content, for a `skill`.'],
  },
  'NewProduct.coin NewProduct.coinPrice Product.coin Product.coinPrice ProductChange.coin ProductChange.coinPrice SkillCoinOrder.coin SkillContent.coin SkillFulfilled.coin SkillPrice.coinPrice':
    { code: ['Code of the coin.', 'gold'] },
  'NewProduct.coin Product.coin ProductChange.coin': { bonus: ['Additional free coins.', 10] },
  'NewProduct.coin Product.coin ProductChange.coin SkillCoinOrder.coin SkillContent.coin SkillFulfilled.coin': {
    amount: ['Number of coins.', 100],
  },
  'NewProduct.coinPrice Product.coinPrice ProductChange.coinPrice SkillPrice.coinPrice': {
    amount: ['Price of a call in coins.', 5],
  },
  'NewProduct.resource Product.resource ProductChange.resource': {
    handler: ['Source of the content: `static` (stored here) or `http` (a URL that the service calls).', 'static'],
    content: ['The stored content.', { forecast: 'sunny' }],
    url: ['URL that the service calls for the content.', 'https://handler.example/weather'],
    timeoutMs: ['Timeout of the call in milliseconds.', 10000],
  },
  'OrderTally StatsOverview.days StatsOverview.totals': { amounts: ['Totals, one for each currency.'] },
  Product: {
    coin: ['Coins that the buyer receives, for a `coin_package`; null for other kinds.', null],
    handlerFault: ['Reason why the service never calls the URL of the handler; null = it calls the URL.', null],
    priceMinor: ['Price in minor units of `currency`.', 1250],
    resource: ['Source of the content, for a `skill`; null for other kinds.', null],
  },
  'Product SkillPrice': {
    coinPrice: ['Price of a call in coins; null = it cannot be paid with coins.', null],
    refundAfterFulfilment: [
      'Whether the calling application may refund a delivered call; it then keeps the content at no cost.',
      false,
    ],
    price: ['Price in major units of `currency`.', 12.5],
  },
  SecondFactorFirstCode: { code: ['The first code that the authenticator shows.'] },
  SecondFactorRemoval: { code: ['A code of the second factor; may be a recovery code.'] },
  'Settlement StatsOverview': {
    days: ['Figures of each day.'],
    totals: ['Totals.'],
  },
  SkillFigures: {
    fulfilled: ['Calls whose content was delivered.', 1],
    offered: ['Calls that were offered for payment.', 3],
    paid: ['Calls that were paid.', 2],
    revenue: ['Paid minus refunded, in major units.', 25],
    revenueMinor: ['Paid minus refunded, in minor units.', 2500],
    failed: ['Paid calls whose content could not be created.', 0],
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
    paidAmount: ['Paid amount in major units.', 25],
    paidAmountMinor: ['Paid amount in minor units.', 2500],
    refundedAmountMinor: ['Refunded amount in minor units.', 250],
  },
  User: { anonymisedAt: ['When the personal data was removed, RFC 3339 UTC; null = it was not.', null] },
  'User UserChange UserInput': {
    email: ['E-mail address; null = not known.', 'ann@example.com'],
    metadata: ["The merchant's own data about the user; null = none.", { level: 'gold' }],
    nickname: ['Display name of the user; null = not known.', 'Tea lover'],
    phone: ['Telephone number; null = not known.', '+8613800138000'],
    status: ['`active`, or `blocked`: new payments are refused.', 'active'],
  },
  'User.totals': { orders: ['Number of orders.', 3] },
};
