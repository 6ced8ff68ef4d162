import type { Glossary } from '../schemas.ts';

const AT = '2030-01-31T08:00:00.000Z';

/**
 * Descriptions of the fields of channels, certificates, bills, exceptions, explanations and live figures, by schema or
 * operation.
 */
export const operationsWords: Glossary = {
  AgentPay: {
    updatedBy: ['Who changed it last.', 'alice'],
    keyId: ['ID of the public key at SkillHub.', 'PUB_KEY_0001'],
    developerId: ['Developer at SkillHub.', 'sh-0001'],
    lastSuccessAt: ['When WeChat last gave a payment code, RFC 3339 UTC; null = never.', AT],
    lastFailureAt: ['When WeChat last gave none, RFC 3339 UTC; null = never.', null],
  },
  'AgentPay Certificate ChannelConfig.ofOtherAccounts UsedCertificate': {
    fingerprint: [
      'SHA-256 fingerprint, hexadecimal.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
  },
  'AgentPay ChannelConfig': { lastFailure: ['What went wrong last; null = nothing.', null] },
  AgentPayTest: { message: ['What WeChat answered, in words.', 'A payment code was given.'] },
  'AgentPayTest BooksReport BooksReport.proofs ChannelTest ChannelVerdict DownloadedCertificates': {
    ok: ['Whether all is well.', true],
  },
  Approval: {
    state: ['`waiting`, `approved` or `rejected`.', 'waiting'],
    askedBy: ['Who asked for it.', 'alice'],
    decidedAt: ['When it was decided, RFC 3339 UTC; null = not yet.', null],
    decidedBy: ['Administrator that decided; null = undecided.', null],
  },
  'AuditLine BillDifference.ours BillDifference.theirs Delivery.tries LiveEvent LiveMessage RefusedNotices TimelineEntry':
    { at: ['When it was, RFC 3339 UTC.', AT] },
  Bill: {
    askedAt: ['When the channel was asked, RFC 3339 UTC; null = not yet.', AT],
    bytes: ['Size of the file in bytes; null = not read.', 20480],
    differences: ['Where bill and orders differ.'],
    matchedAt: ['When it was compared, RFC 3339 UTC; null = not yet.', AT],
    readAt: ['When it was read, RFC 3339 UTC; null = not yet.', AT],
    sha256: [
      'SHA-256 of the file, hexadecimal; null = not read.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
    source: ['Source of the file: the channel or an import; null = none yet.', 'channel'],
  },
  'Bill BillDifference': { checks: ['How often the channel was asked.', 0] },
  'Bill BillDifference OrderExplanation.bills OrderExplanation.differences Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable':
    { day: ['The day as the channel counts days, `YYYY-MM-DD`.', '2030-01-31'] },
  'Bill BillDifference OrderExplanation.bills OrderExplanation.differences Settlement.days Settlement.disagreements Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable path':
    { billNo: ['Number of the bill.', 'B20300131080000ABCDEFGHJK'] },
  'Bill BooksReport.auditLog Settlement.shrunk Settlement.unreadable': { lines: ['How many lines.', 1] },
  'Bill Settlement.shrunk': { mostLines: ['The most lines that a reading of the bill had.', 1] },
  'Settlement.unreadable': {
    shortfall: [
      'The excess of the sums of the bill over its lines, in the words of the bill; null = not stated.',
      null,
    ],
  },
  'Bill ChannelConfig': { fault: ['What is wrong; null = nothing.', null] },
  'Bill Settlement.balances Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable':
    {
      account: ['The payee as the channel names it, or the claim of a project.', '2088102146225135'],
    },
  'Bill.differences BillDifference OrderExplanation.differences': { kind: ['Kind of difference.', 'amount_differs'] },
  'Bill.differences BooksReport.proofs LiveExceptions.kinds OrderTally RefusedNotices': { count: ['How many.', 1] },
  'Bill.differences OrderExplanation.differences': { state: ['State of the difference.', 'open'] },
  'Bill.fault': {
    column: ['Column of the fault, from 1; null = the whole line.', null],
    detail: ['The fault in words.', 'is not an amount'],
    code: ['Code of the fault.', 'amount_malformed'],
  },
  'Bill.fault BillDifference.ours BillDifference.theirs OrderExplanation.bills': {
    line: ['Line of the file, from 1.', 2],
  },
  'BillDifference.ours BillDifference.theirs': {
    reason: ['Why the row could not be read, behind its line and column in the file.', '7:12 amount cannot be read'],
  },
  'Bill.sums Bill.totals': {
    paidMinor: ['What was paid, in minor units.', 1250],
    refundedMinor: ['What was refunded, in minor units.', 250],
  },
  'Bill.sums Bill.totals Diagnosis.silentNotices Settlement.days Settlement.totals': {
    payments: ['Number of payments.', 1],
  },
  'Bill.sums Bill.totals Settlement.days Settlement.totals': {
    feesMinor: ['What the channel kept, in minor units.', 8],
  },
  'Bill.sums Settlement.days Settlement.totals': {
    discountsMinor: ['Merchant discounts on payments, in minor units.', 0],
    otherMinor: ['Other movements of the account, in minor units.', 0],
    sharesMinor: ['Amounts passed on to profit-sharing receivers, in minor units.', 0],
  },
  BillDifference: { exceptionId: ['ID of the exception that lists it; null = none.', null] },
  'BillDifference OrderExplanation OrderExplanation.refunds': { fix: ['The command that ends it; null = none.', null] },
  'BillDifference.ours': { state: ['State of the order or refund.', 'paid'] },
  'BillDifference.ours BillDifference.theirs OrderExplanation.bills': {
    feeMinor: ['Fee in minor units.', 8],
    channelNo: ['Number of the payment or refund at the channel.', '2030013122001400000000000001'],
  },
  'BillDifference.theirs': { state: ['State of the line.', 'paid'] },
  BooksReport: {
    checkedAt: ['When it was checked, RFC 3339 UTC.', AT],
    proofs: ['The proofs.'],
  },
  'BooksReport.bills': { read: ['Bills that were read.', 35], unread: ['Bills that are not there.', 0] },
  'BooksReport PageInfo': { nextCursor: ['Send it as `cursor` to get the next page; null = this is the last.', null] },
  'BooksReport.proofs': {
    check: ['Name of the proof.', 'ledger'],
    examples: ['Some of what is wrong; empty = nothing.', []],
    promise: ['What the proof says.', 'Every balance is the sum of its entries.'],
  },
  'BooksReport.proofs.examples': {
    detail: ['What is wrong there.', 'the balance is not the sum of its entries'],
    id: ['Number of what is wrong.', 'user-1001'],
  },
  Certificate: {
    isDefault: ['Whether it is the default of its kind.', true],
    notBefore: ['From when it is valid, RFC 3339 UTC; null = from the beginning.', AT],
    subject: ['Subject of the certificate; null for a key.', 'CN=Example Ltd'],
    issuer: ['Issuer of the certificate; null for a key.', 'CN=Example CA'],
    trustedAt: ['Since when it is trusted, RFC 3339 UTC; null = it is not.', null],
    createdBy: ['Who created it.', 'alice'],
  },
  'Certificate ChannelConfig ChannelConfig.ofOtherAccounts': {
    account: ["The account's number at the channel; null = not known.", '2088102146225135'],
  },
  'Certificate ChannelConfig.ofOtherAccounts DownloadedCertificates.certificates UsedCertificate': {
    kind: ['Kind of certificate or key.', 'app_private_key'],
    daysLeft: ['Days until it expires; null = it does not.', 365],
    notAfter: ['Until when it is valid, RFC 3339 UTC; null = for good.', '2031-01-31T08:00:00.000Z'],
    serialNumber: ['Serial number of the certificate; null for a key.', '5157F09EFDC096DE15EBE81A47057A7232F1B8E1'],
  },
  CertificateFilter: { kind: ['Only this kind.', 'app_private_key'] },
  CertificateUpload: {
    kind: ['Kind of certificate or key, one of those of the channel.', 'app_private_key'],
    file: ['The file, as a part of a form; else `content`.'],
    content: ['The file as text.', '-----BEGIN PUBLIC KEY-----…'],
    passphrase: ['Passphrase of an encrypted key.', 'correct horse'],
  },
  ChannelCheck: {
    about: ['What was tested.', 'credential'],
    supportId: ['Request number for the support of the channel; null = none.', null],
  },
  'ChannelCheck ChannelTest ChannelVerdict DownloadedCertificates': {
    field: ['The field or certificate kind that is at fault; null = none.', null],
    message: ['What is said about it; null = nothing.', null],
    code: ["The channel's own code, or a word of the service; null = none.", null],
  },
  ChannelConfig: {
    updatedBy: ['Who changed it last; null = not known.', 'alice'],
    fields: ['Fields by their names; secret values are `***`.', { appId: '2021000000000000' }],
    lastFailureAt: ['When the channel last failed, RFC 3339 UTC; null = never.', null],
  },
  'ChannelConfig PublicChannel': {
    status: ['How the channel is.', 'up'],
    configured: ['Whether the channel has a configuration.', true],
    lastSuccessAt: ['When the channel last answered, RFC 3339 UTC; null = never.', AT],
  },
  'ChannelConfig Settlement': { missing: ['What is missing.', []] },
  ChannelConfigSchema: {
    certKinds: ['The kinds of certificates that the channel has.'],
    modes: ['Modes that the channel has.', ['simulator']],
    fields: ['The fields of a configuration.'],
  },
  'ChannelConfigSchema.certKinds': {
    kind: ['Name of the kind.', 'app_private_key'],
    form: ['What it looks like: PEM, DER or bare base64.', 'certificate'],
  },
  'ChannelConfigSchema.certKinds ChannelConfigSchema.fields': {
    help: ['What it is, for people.', 'The app ID of the application at the channel.'],
    label: ['Name for people.', 'App ID'],
  },
  'ChannelConfigSchema.fields': {
    pattern: ['Regular expression that the value matches; null = any text.', null],
    requiredIn: ['Modes that require it.', ['live']],
    secret: ['Whether its value is stored encrypted and shown as `***`.', false],
    name: ['Name of the field in a configuration.', 'appId'],
  },
  ChannelRegistration: {
    note: ['What else is to be known; null = nothing.', null],
    scenes: ['Scenes that need it.', ['qr']],
  },
  DidDocument: {
    verificationMethod: ['The keys as a DID document has them.', []],
    id: ['The DID of the service.', 'did:web:pay.example'],
  },
  DownloadedCertificates: { certificates: ['Certificates and keys.'] },
  'DownloadedCertificates.certificates': { trust: ['Whether it is trusted to verify.'] },
  HealthStatus: { status: ['Always `ok`; otherwise the answer is a problem.', 'ok'] },
  KeySet: { keys: ['Public keys (RFC 7517).', []] },
  LiveDue: {
    kind: ['Kind of work.', 'order-check'],
    underWay: ['How many are being worked.', 0],
  },
  LiveExceptions: {
    kinds: ['By kind.'],
    newest: ['The newest of them.'],
  },
  'LiveExceptions.kinds': {
    kind: ['Kind of exception.', 'amount_mismatch'],
    newestAt: ['When the newest was created, RFC 3339 UTC.', AT],
  },
  'LiveExceptions.kinds LiveWebhook': { oldestAt: ['When the oldest was created, RFC 3339 UTC.', AT] },
  'LiveExceptions.newest OrderException OrderExplanation.exceptions': { kind: ['What happened.', 'amount_mismatch'] },
  LiveMessage: {
    channels: ['The channels.'],
    due: ['Work that is due, by kind.'],
    events: ['Events that passed.'],
    replicas: ['The processes of the service.'],
    orders: ['Orders by their status.'],
  },
  LiveOrders: { past: ['Orders that ended a short while ago.'] },
  LiveReplica: {
    startedAt: ['When the process started, RFC 3339 UTC.', AT],
    host: ['Name of the machine.', 'pay-1'],
    loopDelayMs: ['Delay of the event loop in milliseconds.'],
    memoryBytes: ['Resident memory in bytes.', 150000000],
    pid: ['Number of the process.', 4711],
  },
  'LiveReplica.loopDelayMs': {
    p99: ['What 99 of 100 stay below.', 12],
    max: ['The highest.', 20],
  },
  'Order OrderEntry OrderExplanation SkillOrder': {
    status: ['Where the order stands.', 'paid'],
    expiresAt: ['Until when the order can be paid, RFC 3339 UTC.', '2030-01-31T10:00:00.000Z'],
  },
  OrderException: {
    state: ['`open` or `resolved`.', 'open'],
    detail: ['What is known about it, by kind; null = nothing more.', null],
    receivedCurrency: ['Currency of what was received; null = nothing was.', null],
    receivedMinor: ['What was received, in minor units; null = nothing was.', null],
    resolution: ['How it was resolved; null = it is open.', null],
    resolvedAt: ['When it was resolved, RFC 3339 UTC; null = it is open.', null],
    resolvedBy: ['Who resolved it; null = it is open.', null],
    blocksRefunds: ['Whether the order cannot be refunded until the exception is resolved.', false],
  },
  OrderExplanation: {
    equation: ['How the money adds up, in minor units.'],
    exceptions: ['Exceptions of the order.'],
    askedBy: ['`client_id` of the application that placed the order.', 'app_0a1b2c3d4e5f6g7h8i9j'],
  },
  'OrderExplanation OrderExplanation.refunds': {
    next: ['What happens next by itself; null = nothing.', null],
    situation: ['Where it stands, in one word.', 'settled'],
    reason: ['Why it stands there, in words.', 'The channel confirmed it.'],
  },
  'OrderExplanation.bills': { kind: ['What the line is.', 'payment'] },
  'OrderExplanation.equation': {
    paid: ['What was paid.', 1250],
    refunded: ['What has been refunded.', 250],
    refunding: ['What is being refunded.', 0],
    kept: ['What is left.', 1000],
    refundable: ['What can still be refunded.', 1000],
  },
  'OrderExplanation.exceptions': {
    fix: ['The command that ends it.', 'payctl exception resolve 00000000-0000-4000-8000-000000000000'],
  },
  'OrderExplanation.next OrderExplanation.refunds.next': { action: ['What is done.', 'query'] },
  'OrderExplanation.refunds Refund': { status: ['Where the refund stands.', 'succeeded'] },
  OrderTally: { status: ['Where the orders stand.', 'paid'] },
  PageInfo: { hasMore: ['Whether there is another page.', false] },
  Problem: {
    detail: ['What is wrong with this request, in words.', 'The request is not valid.'],
    errors: [
      'The members that are at fault; left out when it is none of them.',
      [{ pointer: '/amount', code: 'invalid_type', detail: 'is required' }],
    ],
    hint: ['What to do about it; left out when there is nothing to say.', 'Did you mean "amount"?'],
    title: ['Name of the fault.', 'Invalid request'],
    status: ['HTTP status.', 400],
    type: ['Where the code is described.', '/docs/errors/invalid_request'],
    code: ['Code of the fault; it never changes its meaning.', 'invalid_request'],
    requestId: ['ID of the request, as in the header `X-Request-Id`.', '01JH0000000000000000000000'],
  },
  'Problem.channel': {
    code: ['Code that the channel gives.', 'ACQ.SYSTEM_ERROR'],
    message: ['What the channel says.', 'The system is busy.'],
    payWay: ['Which channel.', 'alipay'],
  },
  'Problem.errors': {
    detail: ['What is wrong with the member.', 'is required'],
    code: ['Code of the fault.', 'invalid_type'],
    pointer: ['JSON pointer to the member.', '/amount'],
  },
  RefusedNotices: { since: ['Since when, RFC 3339 UTC.', AT] },
  ServiceInfo: {
    database: ['`postgresql`, or `embedded`.', 'postgresql'],
    debug: ['Whether Debug is on.', false],
    name: ['Name of the service.', 'unified-payment-service'],
    environment: ['`development`, `staging` or `production`.', 'production'],
  },
  'Settlement.days Settlement.totals': {
    disputesMinor: ['What disputes took, in minor units.', 0],
    grossMinor: ['What was paid, in minor units.', 1250],
    refundsMinor: ['What was refunded, in minor units.', 250],
  },
  'Settlement.pendingRefunds': {
    amountMinor: ['What they give back, in minor units.', 250],
    end: ['Their result in this service.', 'open'],
    refunds: ['Number of refunds.', 1],
  },
  'Bill.totals': {
    openingMinor: ['Balance of the account before the day, in minor units; null = the channel tells none.', null],
    closingMinor: ['Balance of the account at the end of the day, in minor units.', null],
  },
  'Settlement.balances': {
    from: ['First of the days in a row that are compared, `YYYY-MM-DD`.', '2030-01-01'],
    to: ['Last of them.', '2030-01-31'],
    balance: ['Change of the balance of the account, in minor units.', 1250],
    lines: ['Net of the lines of its bills, without holds and their releases.', 1250],
  },
  'Settlement.disagreements': {
    bill: ['What the bill says, in minor units.', 1250],
    lines: ['What its lines come to.', 1250],
    what: ['Which sum.', 'fees'],
  },
  'Settlement.missing': {
    state: ['State of the bill; null = there is none.', null],
    billNo: ['Number of the bill; null = there is none.', 'B20300131080000ABCDEFGHJK'],
  },
  TimelineEntry: {
    kind: ['What the entry is.', 'move'],
    detail: ['What is known about it, by kind.', { toState: 'paid' }],
    summary: ['What happened, in a few words.', 'pending → paid (notice)'],
  },
  WeChatAck: {
    code: ['`SUCCESS`, or `FAIL`: it is to be sent again.', 'SUCCESS'],
    message: ['`OK`, or why the notification was not accepted.', 'OK'],
  },
  header: { 'last-event-id': ['ID of the last message that was received; goes on after it.', '42'] },
};
