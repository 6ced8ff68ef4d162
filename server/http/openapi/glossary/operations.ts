import type { Glossary } from '../schemas.ts';

const AT = '2030-01-31T08:00:00.000Z';

/** Descriptions of the fields of channels, certificates, bills, exceptions and live figures. */
export const operationsWords: Glossary = {
  AgentPay: {
    updatedBy: ['Name of the administrator who changed it last.', 'alice'],
    keyId: ['ID of the public key at SkillHub.', 'PUB_KEY_0001'],
    developerId: ['ID of the developer account at SkillHub.', 'sh-0001'],
    lastSuccessAt: ['When WeChat last issued a payment code, RFC 3339 UTC; null = never.', AT],
    lastFailureAt: ['When WeChat last refused a payment code, RFC 3339 UTC; null = never.', null],
  },
  'AgentPay Certificate ChannelConfig.ofOtherAccounts UsedCertificate': {
    fingerprint: [
      'SHA-256 fingerprint, hexadecimal.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
  },
  'AgentPay ChannelConfig': { lastFailure: ['Error text of the last failure; null = none.', null] },
  AgentPayTest: {
    message: ["Result of the test, or WeChat's error text.", 'WeChat accepted the key and issued a payment code.'],
  },
  'AgentPayTest BooksReport BooksReport.proofs ChannelTest ChannelVerdict DownloadedCertificates': {
    ok: ['Whether the operation or check succeeded.', true],
  },
  Approval: {
    state: ['`waiting`, `approved` or `rejected`.', 'waiting'],
    askedBy: ['The requester: `admin:NAME` or `app:CLIENT_ID`.', 'alice'],
    decidedAt: ['When it was decided, RFC 3339 UTC; null = not yet.', null],
    decidedBy: ['Administrator who decided, `admin:NAME`; null = undecided.', null],
  },
  'AuditLine BillDifference.ours BillDifference.theirs Delivery.tries LiveEvent LiveMessage RefusedNotices TimelineEntry':
    { at: ['Time, RFC 3339 UTC.', AT] },
  Bill: {
    askedAt: ['When the bill was requested from the channel, RFC 3339 UTC; null = not yet.', AT],
    bytes: ['Size of the file in bytes; null = not read yet.', 20480],
    differences: ['Number of differences between the bill and the orders, by kind and state.'],
    matchedAt: ['When the bill was compared with the orders, RFC 3339 UTC; null = not yet.', AT],
    readAt: ['When the bill was read, RFC 3339 UTC; null = not yet.', AT],
    sha256: [
      'SHA-256 of the file, hexadecimal; null = not read yet.',
      'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
    ],
    source: ['Source of the file: the channel or an import; null = none yet.', 'channel'],
  },
  'Bill BillDifference': { checks: ['Number of queries to the channel.', 0] },
  'Bill BillDifference OrderExplanation.bills OrderExplanation.differences Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable':
    { day: ['Day in the time zone of the channel, `YYYY-MM-DD`.', '2030-01-31'] },
  'Bill BillDifference OrderExplanation.bills OrderExplanation.differences Settlement.days Settlement.disagreements Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable path':
    { billNo: ['Number of the bill.', 'B20300131080000ABCDEFGHJK'] },
  'Bill BooksReport.auditLog Settlement.shrunk Settlement.unreadable': { lines: ['Number of lines.', 1] },
  'Bill Settlement.shrunk': { mostLines: ['Highest number of lines in any reading of the bill.', 1] },
  'Settlement.unreadable': {
    shortfall: [
      "Differences between the bill's own totals and the totals of its readable lines, as text; null = none known.",
      null,
    ],
  },
  'Bill ChannelConfig': { fault: ['The error; null = none.', null] },
  'Bill Settlement.balances Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable':
    {
      account: [
        "The channel's number of the payee, or `CONFIGURED@PROJECT/VERSION` until the channel has confirmed the payee.",
        '2088102146225135',
      ],
    },
  'Bill.differences BillDifference OrderExplanation.differences': { kind: ['Kind of difference.', 'amount_differs'] },
  'Bill.differences BooksReport.proofs LiveExceptions.kinds OrderTally RefusedNotices': {
    count: ['Number of cases.', 1],
  },
  'Bill.differences OrderExplanation.differences': { state: ['State of the difference.', 'open'] },
  'Bill.fault': {
    column: ['Column number of the error, starting at 1; null = the whole line.', null],
    detail: ['Error text.', 'is not an amount'],
    code: ['Error code.', 'amount_malformed'],
  },
  'Bill.fault BillDifference.ours BillDifference.theirs OrderExplanation.bills': {
    line: ['Line number in the file, starting at 1.', 2],
  },
  'BillDifference.ours BillDifference.theirs': {
    reason: [
      'Position in the file (`line:column`), and the reason why the row could not be read.',
      '7:12 amount cannot be read',
    ],
  },
  'Bill.sums Bill.totals': {
    paidMinor: ['Paid amount in minor units.', 1250],
    refundedMinor: ['Refunded amount in minor units.', 250],
  },
  'Bill.sums Bill.totals Diagnosis.silentNotices Settlement.days Settlement.totals': {
    payments: ['Number of payments.', 1],
  },
  'Bill.sums Bill.totals Settlement.days Settlement.totals': {
    feesMinor: ['Fees of the channel in minor units.', 8],
  },
  'Bill.sums Settlement.days Settlement.totals': {
    discountsMinor: ['Merchant discounts on payments, in minor units.', 0],
    otherMinor: ['Other movements of the account, in minor units.', 0],
    sharesMinor: ['Amounts passed on to profit-sharing receivers, in minor units.', 0],
  },
  BillDifference: { exceptionId: ['ID of the exception that was opened for this difference; null = none.', null] },
  'BillDifference OrderExplanation OrderExplanation.refunds': { fix: ['Command that resolves it; null = none.', null] },
  'OwnOrderExplanation OwnOrderExplanation.refunds': {
    fix: ['Remedy, if manual action is needed; null = none.', null],
  },
  'BillDifference.ours': { state: ['State of the order or refund.', 'paid'] },
  'BillDifference.ours BillDifference.theirs OrderExplanation.bills': {
    feeMinor: ['Fee in minor units.', 8],
    channelNo: ['Number of the payment or refund at the channel.', '2030013122001400000000000001'],
  },
  'BillDifference.theirs': { state: ['State of the line.', 'paid'] },
  BooksReport: {
    checkedAt: ['Time of the check, RFC 3339 UTC.', AT],
    proofs: ['Results of the checks.'],
  },
  'BooksReport.bills': { read: ['Bills that were read.', 35], unread: ['Bills that are missing.', 0] },
  'BooksReport PageInfo': {
    nextCursor: ['Send it as `cursor` to get the next page; null = this is the last page.', null],
  },
  'BooksReport.proofs': {
    check: ['Name of the check.', 'ledger'],
    examples: ['Examples of violations; empty = no violations.', []],
    promise: ['Rule that the check verifies.', 'Every balance is the sum of its entries.'],
  },
  'BooksReport.proofs.examples': {
    detail: ['Description of the violation.', 'the balance is not the sum of its entries'],
    id: ['Number or ID of the faulty entry.', 'user-1001'],
  },
  Certificate: {
    isDefault: ['Whether it is the default of its kind.', true],
    notBefore: ['Beginning of validity, RFC 3339 UTC; null = not limited.', AT],
    subject: ['Subject of the certificate; null for a key.', 'CN=Example Ltd'],
    issuer: ['Issuer of the certificate; null for a key.', 'CN=Example CA'],
    trustedAt: ['When an administrator trusted it, RFC 3339 UTC; null = it is not trusted.', null],
    createdBy: ['Administrator or application that added it.', 'alice'],
  },
  'Certificate ChannelConfig ChannelConfig.ofOtherAccounts': {
    account: ["The account's number at the channel; null = not known.", '2088102146225135'],
  },
  'Certificate ChannelConfig.ofOtherAccounts DownloadedCertificates.certificates UsedCertificate': {
    kind: ['Kind of certificate or key.', 'alipay_app_key'],
    daysLeft: ['Days until it expires; null = it does not expire.', 365],
    notAfter: ['End of validity, RFC 3339 UTC; null = it does not expire.', '2031-01-31T08:00:00.000Z'],
    serialNumber: ['Serial number of the certificate; null for a key.', '5157F09EFDC096DE15EBE81A47057A7232F1B8E1'],
  },
  CertificateFilter: { kind: ['Returns only certificates and keys of this kind.', 'alipay_app_key'] },
  CertificateUpload: {
    kind: ['Kind of certificate or key, one of those of the channel.', 'alipay_app_key'],
    file: ['The file, as a part of a multipart form. Send either `file` or `content`.'],
    content: ['The file as text. Send either `file` or `content`.', '-----BEGIN PUBLIC KEY-----…'],
    passphrase: ['Passphrase of an encrypted key.', 'correct horse'],
  },
  ChannelCheck: {
    about: ['Subject of the check.', 'credential'],
    supportId: ['Request number for the support of the channel; null = none.', null],
  },
  'ChannelCheck ChannelTest ChannelVerdict DownloadedCertificates': {
    field: ['Faulty field or certificate kind; null = none.', null],
    message: ['Error text or note; null = none.', null],
    code: ['Error code of the channel or of this service; null = none.', null],
  },
  ChannelConfig: {
    updatedBy: ['Administrator or application that changed it last; null = not known.', 'alice'],
    fields: ['Values by field name; secret values are shown as `***`.', { appId: '2021000000000000' }],
    lastFailureAt: ['Time of the last failed call to the channel, RFC 3339 UTC; null = never.', null],
  },
  'ChannelConfig PublicChannel': {
    status: ['Status of the channel.', 'up'],
    configured: ['Whether the channel has a configuration.', true],
    lastSuccessAt: ['Time of the last successful call to the channel, RFC 3339 UTC; null = never.', AT],
  },
  'ChannelConfig Settlement': { missing: ['Required fields and certificate kinds that are missing.', []] },
  ChannelConfigSchema: {
    certKinds: ['Kinds of certificates and keys that the channel uses.'],
    modes: ['Modes that the channel supports.', ['simulator']],
    fields: ['The fields of a configuration.'],
  },
  'ChannelConfigSchema.certKinds': {
    kind: ['Name of the kind.', 'alipay_app_key'],
    form: [
      'Form of the certificate or key: `certificate`, `certificate-chain`, `public-key` or `private-key`.',
      'certificate',
    ],
  },
  'ChannelConfigSchema.certKinds ChannelConfigSchema.fields': {
    help: ['Explanation for administrators.', 'The app ID of the application at the channel.'],
    label: ['Display name.', 'App ID'],
  },
  'ChannelConfigSchema.fields': {
    pattern: ['Regular expression that the value must match; null = any text.', null],
    requiredIn: ['Modes that require it.', ['live']],
    secret: ['Whether its value is stored encrypted and shown as `***`.', false],
    name: ['Name of the field in a configuration.', 'appId'],
  },
  ChannelRegistration: {
    note: ['Additional note; null = none.', null],
    scenes: ['Scenes that need this registration.', ['qr']],
  },
  DidDocument: {
    verificationMethod: ['The public keys, in the format of a DID document.', []],
    id: ['The DID of the service.', 'did:web:pay.example'],
  },
  DownloadedCertificates: { certificates: ['Certificates and keys.'] },
  'DownloadedCertificates.certificates': {
    trust: ['Whether it is trusted to verify messages of the channel; null = certificates of its kind verify nothing.'],
  },
  HealthStatus: { status: ['Always `ok`; if the check fails, the response is an error.', 'ok'] },
  KeySet: { keys: ['Public keys (RFC 7517).', []] },
  LiveDue: {
    kind: ['Kind of work.', 'order-check'],
    underWay: ['Number of rows in progress.', 0],
  },
  LiveExceptions: {
    kinds: ['Open exceptions by kind.'],
    newest: ['The newest open exceptions.'],
  },
  'LiveExceptions.kinds': {
    kind: ['Kind of exception.', 'amount_mismatch'],
    newestAt: ['When the newest was created, RFC 3339 UTC.', AT],
  },
  'LiveExceptions.kinds LiveWebhook': { oldestAt: ['When the oldest was created, RFC 3339 UTC.', AT] },
  'LiveExceptions.newest OrderException OrderExplanation.exceptions': {
    kind: ['Kind of the exception.', 'amount_mismatch'],
  },
  LiveMessage: {
    channels: ['Activity of each channel.'],
    due: ['Work that is due, by kind.'],
    events: ['New events of the event log.'],
    replicas: ['The processes of the service.'],
    orders: ['Orders by their status.'],
  },
  LiveOrders: { past: ['Orders that were paid, closed, failed or refunded within about the last hour.'] },
  LiveReplica: {
    startedAt: ['When the process started, RFC 3339 UTC.', AT],
    host: ['Name of the machine.', 'pay-1'],
    loopDelayMs: ['Delay of the event loop in milliseconds.'],
    memoryBytes: ['Resident memory in bytes.', 150000000],
    pid: ['Number of the process.', 4711],
  },
  'LiveReplica.loopDelayMs': {
    p99: ['99th percentile.', 12],
    max: ['Maximum.', 20],
  },
  'Order OrderEntry OrderExplanation OwnOrderExplanation SkillOrder': {
    status: ['Status of the order.', 'paid'],
    expiresAt: ['When an unpaid order expires, RFC 3339 UTC.', '2030-01-31T10:00:00.000Z'],
  },
  OrderException: {
    state: ['`open` or `resolved`.', 'open'],
    detail: ['Details, which depend on the kind; null = none.', null],
    receivedCurrency: ['Currency of the received amount; null = no amount was received.', null],
    receivedMinor: ['Received amount in minor units; null = no amount was received.', null],
    resolution: ['How the exception was resolved; null = still open.', null],
    resolvedAt: ['When the exception was resolved, RFC 3339 UTC; null = still open.', null],
    resolvedBy: ['Actor that resolved the exception, such as `admin:NAME` or `service`; null = still open.', null],
    blocksRefunds: ['Whether refunds of the order are blocked until the exception is resolved.', false],
  },
  'OrderExplanation OwnOrderExplanation': {
    equation: ['Amounts of the order in minor units: `paid` = `refunded` + `refunding` + `kept`.'],
  },
  OrderExplanation: {
    exceptions: ['Exceptions of the order.'],
    askedBy: ['`client_id` of the application that placed the order.', 'app_0a1b2c3d4e5f6g7h8i9j'],
  },
  'OrderExplanation OrderExplanation.refunds OwnOrderExplanation OwnOrderExplanation.refunds': {
    next: ['Next automatic step; null = none.', null],
    situation: ['Code of the situation.', 'settled'],
    reason: ['Explanation of the situation, as text.', 'The channel confirmed it.'],
  },
  'OrderExplanation.bills': { kind: ['Kind of the bill line.', 'payment'] },
  'OrderExplanation.equation OwnOrderExplanation.equation': {
    paid: ['Paid amount.', 1250],
    refunded: ['Refunded amount.', 250],
    refunding: ['Amount of the refunds in progress.', 0],
    kept: ['Amount that is neither refunded nor being refunded.', 1000],
    refundable: ['Amount that can still be refunded.', 1000],
  },
  'OrderExplanation.exceptions': {
    fix: ['Command that resolves the exception.', 'payctl exception resolve 00000000-0000-4000-8000-000000000000'],
  },
  'OrderExplanation.next OrderExplanation.refunds.next OwnOrderExplanation.next OwnOrderExplanation.refunds.next': {
    action: ['Name of the step.', 'query'],
  },
  'OrderExplanation.refunds OwnOrderExplanation.refunds Refund': { status: ['Status of the refund.', 'succeeded'] },
  OrderTally: { status: ['Status of these orders.', 'paid'] },
  PageInfo: { hasMore: ['Whether there is another page.', false] },
  Problem: {
    detail: ['Explanation of the error in this request.', 'The request is not valid.'],
    errors: [
      'The faulty fields of the request; omitted if no field caused the error.',
      [{ pointer: '/amount', code: 'invalid_type', detail: 'is required' }],
    ],
    hint: ['Advice on how to solve the problem; omitted if there is none.', 'Did you mean "amount"?'],
    title: ['Short title of the error.', 'Invalid request'],
    status: ['HTTP status.', 400],
    type: ['Path of the page that describes the error code.', '/docs/errors/invalid_request'],
    code: ['Error code. The meaning of a code never changes.', 'invalid_request'],
    requestId: ['ID of the request, as in the header `X-Request-Id`.', '01JH0000000000000000000000'],
  },
  'Problem.channel': {
    code: ['Error code of the channel.', 'ACQ.SYSTEM_ERROR'],
    message: ['Error text of the channel.', 'The system is busy.'],
    payWay: ['The channel.', 'alipay'],
  },
  'Problem.errors': {
    detail: ['Description of the error in the field.', 'is required'],
    code: ['Error code.', 'invalid_type'],
    pointer: ['JSON Pointer to the faulty field (RFC 6901).', '/amount'],
  },
  RefusedNotices: { since: ['Time of the first refused notification, RFC 3339 UTC.', AT] },
  ServiceInfo: {
    database: ['`postgresql`, or `embedded`.', 'postgresql'],
    debug: ['Whether the setting `Debug` is on.', false],
    name: ['Name of the service.', 'unified-payment-service'],
    environment: ['`development`, `staging` or `production`.', 'production'],
  },
  'Settlement.days Settlement.totals': {
    disputesMinor: ['Amount that was lost to disputes, in minor units.', 0],
    grossMinor: ['Paid amount in minor units.', 1250],
    refundsMinor: ['Refunded amount in minor units.', 250],
  },
  'Settlement.pendingRefunds': {
    amountMinor: ['Total of these refunds in minor units.', 250],
    end: ['State of these refunds in this service.', 'open'],
    refunds: ['Number of refunds.', 1],
  },
  'Bill.totals': {
    openingMinor: [
      'Balance of the account before the day, in minor units; null = the channel does not report it.',
      null,
    ],
    closingMinor: [
      'Balance of the account at the end of the day, in minor units; null = the channel does not report it.',
      null,
    ],
  },
  'Settlement.balances': {
    from: ['First day of the compared period, `YYYY-MM-DD`.', '2030-01-01'],
    to: ['Last day of the compared period, `YYYY-MM-DD`.', '2030-01-31'],
    balance: ['Change of the balance of the account, in minor units.', 1250],
    lines: ['Net total of the lines of the bills, without amounts that were put on hold or released.', 1250],
  },
  'Settlement.disagreements': {
    bill: ["Value of the bill's own summary, in minor units.", 1250],
    lines: ['Total of the lines of the bill, in minor units.', 1250],
    what: ['Name of the compared figure.', 'fees'],
  },
  'Settlement.missing': {
    state: ['State of the bill; null = there is no bill.', null],
    billNo: ['Number of the bill; null = there is no bill.', 'B20300131080000ABCDEFGHJK'],
  },
  TimelineEntry: {
    kind: ['Kind of the entry.', 'move'],
    detail: ['Details, which depend on the kind.', { toState: 'paid' }],
    summary: ['Short description of the entry.', 'pending → paid (notice)'],
  },
  WeChatAck: {
    code: ['`SUCCESS`, or `FAIL` if WeChat Pay must send the notification again.', 'SUCCESS'],
    message: ['`OK`, or the reason why the notification was not accepted.', 'OK'],
  },
  header: { 'last-event-id': ['ID of the last received message. The stream continues after it.', '42'] },
};
