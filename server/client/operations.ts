// Made of the OpenAPI document by `node server/offline/write-client.ts`; do not edit.

/** What each operation takes, gives and may refuse. */
export interface Operations {
  /** Get an access token */
  getToken: {
    input: {
      body: TokenRequest;
    };
    answer: TokenGrant;
    code: string;
  };
  /** Revoke an access token */
  revokeToken: {
    input: {
      body: RevokeRequest;
    };
    answer: object;
    code: string;
  };
  /** OAuth authorization server metadata */
  getOauthMetadata: {
    input: object;
    answer: AuthorizationServerMetadata;
    code: GeneralProblem['code'];
  };
  /** List own disputes */
  listOwnDisputes: {
    input: {
      /** Entries per page, 1 to 200. */
      limit?: string | number | undefined;
      /** Opaque: `page.nextCursor` of the previous page. */
      cursor?: string | number | undefined;
      /** Number of the order. */
      orderNo?: Id | undefined;
      /** Only those in this state. */
      status?: 'open' | 'needs_answer' | 'under_review' | 'won' | 'lost' | undefined;
    };
    answer: {
      /** What was asked for. */
      data: readonly (Dispute)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** Get a dispute */
  getOwnDispute: {
    input: {
      /** Number of the dispute. */
      disputeNo: Id;
    };
    answer: {
      /** What was asked for. */
      data: Dispute;
    };
    code: GeneralProblem['code'];
  };
  /** Place a payment */
  placePayment: {
    input: {
      headers?: {
        /** Makes a retry safe: for seven days, the same key and body return the same response. */
        'Idempotency-Key'?: string | undefined;
      } | undefined;
      body: PlacePaymentRequest;
    };
    answer: {
      /** What was asked for. */
      data: Order;
    };
    code: PlacePaymentProblem['code'];
  };
  /** Query an order */
  queryPayment: {
    input: {
      /** Number of the order. */
      orderNo: Id;
    };
    answer: {
      /** What was asked for. */
      data: Order;
    };
    code: GeneralProblem['code'];
  };
  /** Close an order */
  closePayment: {
    input: {
      /** Number of the order. */
      orderNo: Id;
      headers?: {
        /** Makes a retry safe: for seven days, the same key and body return the same response. */
        'Idempotency-Key'?: string | undefined;
      } | undefined;
    };
    answer: {
      /** What was asked for. */
      data: Order;
    };
    code: ClosePaymentProblem['code'];
  };
  /** Capture an approved order */
  capturePayment: {
    input: {
      /** Number of the order. */
      orderNo: Id;
    };
    answer: {
      /** What was asked for. */
      data: Order;
    };
    code: CapturePaymentProblem['code'];
  };
  /** Refund a paid order, in part or in full */
  refundPayment: {
    input: {
      headers?: {
        /** Makes a retry safe: for seven days, the same key and body return the same response. */
        'Idempotency-Key'?: string | undefined;
      } | undefined;
      body: RefundRequest;
    };
    answer: {
      /** What was asked for. */
      data: RefundPlaced;
    };
    code: RefundPaymentProblem['code'];
  };
  /** List own orders */
  listPayments: {
    input: {
      /** Entries per page, 1 to 200. */
      limit?: string | number | undefined;
      /** Opaque: `page.nextCursor` of the previous page. */
      cursor?: string | number | undefined;
      /** Only what was created at or after this time, RFC 3339 with a zone. */
      createdFrom?: string | undefined;
      /** Only what was created before this time, RFC 3339 with a zone. */
      createdTo?: string | undefined;
      /** The caller's own number of the order. */
      merchantOrderNo?: Id | undefined;
      /** Only those in this state. */
      status?: 'created' | 'pending' | 'closing' | 'closed' | 'failed' | 'paid' | 'partially_refunded' | 'refunded' | undefined;
      /** The user in the caller's system. */
      userId?: UserId | undefined;
    };
    answer: {
      /** What was asked for. */
      data: readonly (OrderEntry)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** Get a refund */
  getRefund: {
    input: {
      /** Number of the refund. */
      refundNo: Id;
    };
    answer: {
      /** What was asked for. */
      data: Refund;
    };
    code: GeneralProblem['code'];
  };
  /** Public keys of payment codes and receipts (RFC 7517) */
  getPublicKeys: {
    input: object;
    answer: KeySet;
    code: GeneralProblem['code'];
  };
  /** The same keys as a DID document (did:web) */
  getDidDocument: {
    input: object;
    answer: DidDocument;
    code: GeneralProblem['code'];
  };
  /** Call a paid resource */
  callResource: {
    input: {
      headers?: {
        /** The order number from the 402 response; sent when the call is repeated. */
        'x-out-trade-no'?: OutTradeNo | undefined;
        /** Proof of payment of an x402 client, base64-encoded JSON. */
        'payment-signature'?: string | undefined;
        /** Credential of the HTTP authentication scheme Payment: `Payment <base64url>`. */
        'payment-authorization'?: string | undefined;
        /** Proof of payment of Alipay's agents, JSON in either alphabet of base64, with or without padding; its `client_session` may have 4 KB. */
        'payment-proof'?: string | undefined;
        /** Methods that the client can pay with, e.g. `wechat/charge, alipay/charge;q=0.5`; the others are not asked for. */
        'accept-payment'?: string | undefined;
        /** For the first call: a retry returns the same order. */
        'idempotency-key'?: string | undefined;
      } | undefined;
      body?: SkillRequest | undefined;
    };
    answer: {
      /** What was asked for. */
      data: SkillContent;
      /** The resource, for orders that an agent of Alipay's paid. */
      resource_id?: string;
      /** The content of `data`, for these agents. */
      content?: unknown;
      /** The payment at Alipay, for these agents. */
      trade_no?: string;
      /** The number of the order, for these agents. */
      out_trade_no?: string;
      /** `alreadyFulfilled` of `data`, for these agents. */
      already_fulfilled?: boolean;
    };
    code: CallResourceProblem['code'];
  };
  /** Query a pay-per-call order */
  queryCall: {
    input: {
      /** Number of the pay-per-call order. */
      outTradeNo: OutTradeNo;
    };
    answer: {
      /** What was asked for. */
      data: SkillOrder | SkillCoinOrder;
    };
    code: GeneralProblem['code'];
  };
  /** Refund a pay-per-call order */
  refundCall: {
    input: {
      headers?: {
        /** Makes a retry safe: for seven days, the same key and body return the same response. */
        'Idempotency-Key'?: string | undefined;
      } | undefined;
      body: SkillRefundRequest;
    };
    answer: {
      /** What was asked for. */
      data: SkillRefundPlaced | SkillCoinOrder;
    };
    code: RefundCallProblem['code'];
  };
  /** List resources and prices */
  listResources: {
    input: object;
    answer: {
      /** What was asked for. */
      data: readonly (SkillPrice)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** List own events after a sequence number */
  listOwnEvents: {
    input: {
      /** Sequence of the last received event; returns the events after it. */
      after?: string | number | undefined;
      /** Same as `after`: `page.nextCursor` of the previous page. */
      cursor?: string | number | undefined;
      /** Types, comma-separated. */
      types?: string | undefined;
      /** Entries per page, 1 to 200. */
      limit?: string | number | undefined;
    };
    answer: {
      /** What was asked for. */
      data: readonly (Event)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** List users of the own project */
  listUsers: {
    input: {
      /** Entries per page, 1 to 200. */
      limit?: string | number | undefined;
      /** Opaque: `page.nextCursor` of the previous page. */
      cursor?: string | number | undefined;
      /** The user in the caller's system. */
      userId?: UserId | undefined;
      /** Only those in this state. */
      status?: 'active' | 'blocked' | undefined;
      /** E-mail address. */
      email?: string | undefined;
      /** Telephone number. */
      phone?: string | undefined;
    };
    answer: {
      /** What was asked for. */
      data: readonly (User)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** Create or update a user of the own project */
  putUser: {
    input: {
      body: UserInput;
    };
    answer: {
      /** What was asked for. */
      data: User;
    };
    code: GeneralProblem['code'];
  };
  /** Get a user of the own project */
  getUser: {
    input: {
      /** The user in the caller's system. */
      userId: UserId;
    };
    answer: {
      /** What was asked for. */
      data: User;
    };
    code: GeneralProblem['code'];
  };
  /** Update a user of the own project */
  updateUser: {
    input: {
      /** The user in the caller's system. */
      userId: UserId;
      body: UserChange;
    };
    answer: {
      /** What was asked for. */
      data: User;
    };
    code: GeneralProblem['code'];
  };
  /** Get the coin balance of a user */
  getCoinBalance: {
    input: {
      /** Code. */
      code: Code;
      /** The user in the caller's system. */
      userId: UserId;
    };
    answer: {
      /** What was asked for. */
      data: CoinBalance;
    };
    code: GeneralProblem['code'];
  };
  /** Debit coins from a user */
  debitCoins: {
    input: {
      /** Code. */
      code: Code;
      headers?: {
        /** Makes a retry safe: for seven days, the same key and body return the same response. */
        'Idempotency-Key'?: string | undefined;
      } | undefined;
      body: CoinDebit;
    };
    answer: {
      /** What was asked for. */
      data: CoinEntry;
    };
    code: DebitCoinsProblem['code'];
  };
  /** List the ledger entries of a user */
  listCoinEntries: {
    input: {
      /** Code. */
      code: Code;
      /** Entries per page, 1 to 200. */
      limit?: string | number | undefined;
      /** Opaque: `page.nextCursor` of the previous page. */
      cursor?: string | number | undefined;
      /** The user in the caller's system. */
      userId: UserId;
    };
    answer: {
      /** What was asked for. */
      data: readonly (CoinEntry)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** List the limits of the application of the token */
  listLimits: {
    input: object;
    answer: {
      /** What was asked for. */
      data: readonly (Limit)[];
    };
    code: GeneralProblem['code'];
  };
  /** Get the application of the token */
  getOwnApp: {
    input: object;
    answer: {
      /** What was asked for. */
      data: AppMe;
    };
    code: GeneralProblem['code'];
  };
  /** List channel configurations */
  listChannelConfigs: {
    input: object;
    answer: {
      /** What was asked for. */
      data: readonly (ChannelConfig)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** Get a channel configuration */
  getChannelConfig: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
    };
    answer: {
      /** What was asked for. */
      data: ChannelConfig;
    };
    code: GeneralProblem['code'];
  };
  /** Write a channel configuration */
  writeChannelConfig: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
      body: ChannelConfigChange;
    };
    answer: {
      /** What was asked for. */
      data: ChannelConfig;
    };
    code: WriteChannelConfigProblem['code'];
  };
  /** Get the configuration schema of a channel */
  getChannelSchema: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
    };
    answer: {
      /** What was asked for. */
      data: ChannelConfigSchema;
    };
    code: GeneralProblem['code'];
  };
  /** Test a channel configuration */
  testChannel: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
      body?: ChannelTestWish | undefined;
    };
    answer: {
      /** What was asked for. */
      data: ChannelTest;
    };
    code: TestChannelProblem['code'];
  };
  /** Register for the notifications of a channel */
  registerChannelNotices: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
    };
    answer: {
      /** What was asked for. */
      data: ChannelVerdict;
    };
    code: RegisterChannelNoticesProblem['code'];
  };
  /** Download the certificates of a channel */
  fetchChannelCertificates: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
    };
    answer: {
      /** What was asked for. */
      data: DownloadedCertificates;
    };
    code: FetchChannelCertificatesProblem['code'];
  };
  /** Enable or disable a channel */
  toggleChannel: {
    input: {
      /** Channel: `alipay`, `wechat` or `paypal`. */
      payWay: PayWay;
      body?: Toggle | undefined;
    };
    answer: {
      /** What was asked for. */
      data: ChannelConfig;
    };
    code: ToggleChannelProblem['code'];
  };
  /** Upload a certificate or key */
  uploadCertificate: {
    input: {
      body: CertificateUpload;
    };
    answer: {
      /** What was asked for. */
      data: Certificate;
    };
    code: UploadCertificateProblem['code'];
  };
  /** List certificates and keys */
  listCertificates: {
    input: {
      body?: CertificateFilter | undefined;
    };
    answer: {
      /** What was asked for. */
      data: readonly (Certificate)[];
      /** Where the next page begins. */
      page: PageInfo;
    };
    code: GeneralProblem['code'];
  };
  /** Make a certificate the default of its kind */
  makeCertificateDefault: {
    input: {
      /** ID. */
      id: string;
    };
    answer: {
      /** What was asked for. */
      data: Certificate;
    };
    code: MakeCertificateDefaultProblem['code'];
  };
  /** Delete a certificate or key */
  deleteCertificate: {
    input: {
      /** ID. */
      id: string;
    };
    answer: {
      /** What was asked for. */
      data: Certificate;
    };
    code: DeleteCertificateProblem['code'];
  };
  /** Download a certificate or public key */
  downloadCertificate: {
    input: {
      /** ID. */
      id: string;
    };
    answer: string;
    code: GeneralProblem['code'];
  };
}

/** The events that are sent, by their types. */
export interface WebhookEvents {
  /** An order was paid. */
  'order.paid': (Event) & ({
    /** Type of the event. */
    type?: 'order.paid';
    /** What the event is about. */
    data?: {
      /** An order was paid. */
      object: OrderEntry;
    };
  });
  /** Money came for an order that had ended; it goes back. */
  'order.paid_late': (Event) & ({
    /** Type of the event. */
    type?: 'order.paid_late';
    /** What the event is about. */
    data?: {
      /** Money came for an order that had ended; it goes back. */
      object: OrderEntry;
    };
  });
  /** An order was closed. */
  'order.closed': (Event) & ({
    /** Type of the event. */
    type?: 'order.closed';
    /** What the event is about. */
    data?: {
      /** An order was closed. */
      object: OrderEntry;
    };
  });
  /** An order failed. */
  'order.failed': (Event) & ({
    /** Type of the event. */
    type?: 'order.failed';
    /** What the event is about. */
    data?: {
      /** An order failed. */
      object: OrderEntry;
    };
  });
  /** The payer has to do something before the money comes. */
  'order.payer_action_required': (Event) & ({
    /** Type of the event. */
    type?: 'order.payer_action_required';
    /** What the event is about. */
    data?: {
      /** The payer has to do something before the money comes. */
      object: OrderEntry;
    };
  });
  /** A person should look at an order. */
  'order.exception': (Event) & ({
    /** Type of the event. */
    type?: 'order.exception';
    /** What the event is about. */
    data?: {
      /** A person should look at an order. */
      object: OrderEntry;
    };
  });
  /** A refund waits for a second administrator. */
  'refund.approval_requested': (Event) & ({
    /** Type of the event. */
    type?: 'refund.approval_requested';
    /** What the event is about. */
    data?: {
      /** A refund waits for a second administrator. */
      object: Refund;
    };
  });
  /** A refund reached the payer. */
  'refund.succeeded': (Event) & ({
    /** Type of the event. */
    type?: 'refund.succeeded';
    /** What the event is about. */
    data?: {
      /** A refund reached the payer. */
      object: Refund;
    };
  });
  /** A refund failed; its amount can be refunded again. */
  'refund.failed': (Event) & ({
    /** Type of the event. */
    type?: 'refund.failed';
    /** What the event is about. */
    data?: {
      /** A refund failed; its amount can be refunded again. */
      object: Refund;
    };
  });
  /** A refund cannot reach the payer; a person has to look. */
  'refund.abnormal': (Event) & ({
    /** Type of the event. */
    type?: 'refund.abnormal';
    /** What the event is about. */
    data?: {
      /** A refund cannot reach the payer; a person has to look. */
      object: Refund;
    };
  });
  /** A payer disputes a payment. */
  'dispute.opened': (Event) & ({
    /** Type of the event. */
    type?: 'dispute.opened';
    /** What the event is about. */
    data?: {
      /** A payer disputes a payment. */
      object: Dispute;
    };
  });
  /** A dispute changed. */
  'dispute.updated': (Event) & ({
    /** Type of the event. */
    type?: 'dispute.updated';
    /** What the event is about. */
    data?: {
      /** A dispute changed. */
      object: Dispute;
    };
  });
  /** A dispute was decided. */
  'dispute.closed': (Event) & ({
    /** Type of the event. */
    type?: 'dispute.closed';
    /** What the event is about. */
    data?: {
      /** A dispute was decided. */
      object: Dispute;
    };
  });
  /** A pay-per-call resource was offered for payment. */
  'skillpay.offered': (Event) & ({
    /** Type of the event. */
    type?: 'skillpay.offered';
    /** What the event is about. */
    data?: {
      /** A pay-per-call resource was offered for payment. */
      object: SkillOffered;
    };
  });
  /** A pay-per-call resource was delivered. */
  'skillpay.fulfilled': (Event) & ({
    /** Type of the event. */
    type?: 'skillpay.fulfilled';
    /** What the event is about. */
    data?: {
      /** A pay-per-call resource was delivered. */
      object: SkillFulfilled;
    };
  });
  /** Coins came into an account. */
  'coin.credited': (Event) & ({
    /** Type of the event. */
    type?: 'coin.credited';
    /** What the event is about. */
    data?: {
      /** Coins came into an account. */
      object: CoinPosting;
    };
  });
  /** Coins left an account. */
  'coin.debited': (Event) & ({
    /** Type of the event. */
    type?: 'coin.debited';
    /** What the event is about. */
    data?: {
      /** Coins left an account. */
      object: CoinPosting;
    };
  });
  /** A credential of an application was given out or widened. Administrators alone are told, in the event log. */
  'app.credentials_changed': (Event) & ({
    /** Type of the event. */
    type?: 'app.credentials_changed';
    /** What the event is about. */
    data?: {
      /** A credential of an application was given out or widened. Administrators alone are told, in the event log. */
      object: CredentialChange;
    };
  });
}

/** Where each operation is. */
export const OPERATIONS = {
  getToken: { method: 'POST', path: '/oauth/token', query: [], isOpen: true },
  revokeToken: { method: 'POST', path: '/oauth/revoke', query: [], isOpen: true },
  getOauthMetadata: { method: 'GET', path: '/.well-known/oauth-authorization-server', query: [], isOpen: true },
  listOwnDisputes: { method: 'GET', path: '/api/v2/payment/disputes', query: ['limit', 'cursor', 'orderNo', 'status'] },
  getOwnDispute: { method: 'GET', path: '/api/v2/payment/disputes/{disputeNo}', query: [] },
  placePayment: { method: 'POST', path: '/api/v2/payment/pay', query: [] },
  queryPayment: { method: 'GET', path: '/api/v2/payment/query/{orderNo}', query: [] },
  closePayment: { method: 'POST', path: '/api/v2/payment/close/{orderNo}', query: [] },
  capturePayment: { method: 'POST', path: '/api/v2/payment/capture/{orderNo}', query: [] },
  refundPayment: { method: 'POST', path: '/api/v2/payment/refund', query: [] },
  listPayments: { method: 'GET', path: '/api/v2/payment/orders', query: ['limit', 'cursor', 'createdFrom', 'createdTo', 'merchantOrderNo', 'status', 'userId'] },
  getRefund: { method: 'GET', path: '/api/v2/payment/refunds/{refundNo}', query: [] },
  getPublicKeys: { method: 'GET', path: '/.well-known/jwks.json', query: [], isOpen: true },
  getDidDocument: { method: 'GET', path: '/.well-known/did.json', query: [], isOpen: true },
  callResource: { method: 'POST', path: '/api/v2/skillpay/resource', query: [] },
  queryCall: { method: 'GET', path: '/api/v2/skillpay/query/{outTradeNo}', query: [] },
  refundCall: { method: 'POST', path: '/api/v2/skillpay/refund', query: [] },
  listResources: { method: 'GET', path: '/api/v2/skillpay/resources', query: [] },
  listOwnEvents: { method: 'GET', path: '/api/v2/events', query: ['after', 'cursor', 'types', 'limit'] },
  listUsers: { method: 'GET', path: '/api/v2/users', query: ['limit', 'cursor', 'userId', 'status', 'email', 'phone'] },
  putUser: { method: 'POST', path: '/api/v2/users', query: [] },
  getUser: { method: 'GET', path: '/api/v2/users/{userId}', query: [] },
  updateUser: { method: 'PUT', path: '/api/v2/users/{userId}', query: [] },
  getCoinBalance: { method: 'GET', path: '/api/v2/coins/{code}/balance', query: ['userId'] },
  debitCoins: { method: 'POST', path: '/api/v2/coins/{code}/debit', query: [] },
  listCoinEntries: { method: 'GET', path: '/api/v2/coins/{code}/entries', query: ['limit', 'cursor', 'userId'] },
  listLimits: { method: 'GET', path: '/api/v2/limits', query: [] },
  getOwnApp: { method: 'GET', path: '/api/v2/me', query: [] },
  listChannelConfigs: { method: 'GET', path: '/api/v2/payment/config/list', query: [] },
  getChannelConfig: { method: 'GET', path: '/api/v2/payment/config/{payWay}', query: [] },
  writeChannelConfig: { method: 'POST', path: '/api/v2/payment/config/{payWay}', query: [] },
  getChannelSchema: { method: 'GET', path: '/api/v2/payment/config/{payWay}/schema', query: [] },
  testChannel: { method: 'POST', path: '/api/v2/payment/config/{payWay}/test', query: [] },
  registerChannelNotices: { method: 'POST', path: '/api/v2/payment/config/{payWay}/notices', query: [] },
  fetchChannelCertificates: { method: 'POST', path: '/api/v2/payment/config/{payWay}/certificates', query: [] },
  toggleChannel: { method: 'PUT', path: '/api/v2/payment/config/{payWay}/toggle', query: [] },
  uploadCertificate: { method: 'POST', path: '/api/v2/certs/upload', query: [] },
  listCertificates: { method: 'POST', path: '/api/v2/certs/list', query: [] },
  makeCertificateDefault: { method: 'POST', path: '/api/v2/certs/{id}/default', query: [] },
  deleteCertificate: { method: 'POST', path: '/api/v2/certs/{id}/delete', query: [] },
  downloadCertificate: { method: 'POST', path: '/api/v2/certs/{id}/download', query: [] },
} as const;

/** AlipayOptions of the OpenAPI document. */
export interface AlipayOptions {
  /** Number of the shop. */
  storeId?: string | undefined;
  /** Who works the till. */
  operatorId?: string | undefined;
  /** Number of the terminal in the shop. */
  terminalId?: string | undefined;
  /** PID of the service provider who gets the commission. */
  sysServiceProviderId?: string | undefined;
  /** Returned in the notifications of Alipay. */
  passbackParams?: string | undefined;
  /** Only these ways to pay are offered. */
  enablePayChannels?: readonly (string)[] | undefined;
  /** These ways to pay are not offered. */
  disablePayChannels?: readonly (string)[] | undefined;
  /** What is sold, for the records of the channel. */
  goods?: readonly (Goods)[] | undefined;
}

/** Major units; a number or a decimal string. */
export type Amount = number | string;

/** AppMe of the OpenAPI document. */
export interface AppMe {
  /** Identifier of the application. */
  client_id: string;
  /** Name for people. */
  name: string;
  /** Code of the project. */
  project: string;
  /** Scopes of the application. */
  scopes: readonly (string)[];
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode: 'live' | 'test';
}

/** AuthorizationServerMetadata of the OpenAPI document. */
export type AuthorizationServerMetadata = Readonly<Record<string, unknown>>;

/** What this operation may refuse. */
export type CallResourceProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'changed_meanwhile' | 'channel_answer_unusable' | 'channel_disabled' | 'channel_not_configured' | 'channel_outcome_unknown' | 'channel_refusal_inconclusive' | 'channel_refused' | 'configuration_broken' | 'fulfilment_failed_refund_failed' | 'fulfilment_failed_refund_pending' | 'fulfilment_in_progress' | 'fulfilment_unavailable' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_exceeded' | 'not_on_sale' | 'order_closed' | 'order_refunded' | 'out_of_stock' | 'payment_expired' | 'payment_id_used' | 'payment_required' | 'price_mismatch' | 'project_disabled' | 'proof_invalid' | 'proof_unverified' | 'resource_mismatch' | 'resource_required' | 'too_many_offers';
});

/** What this operation may refuse. */
export type CapturePaymentProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_outcome_unknown';
});

/** Certificate of the OpenAPI document. */
export interface Certificate {
  /** ID. */
  id: Id;
  /** Code of the project. */
  project: Code;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: PayWay;
  /** Kind of certificate or key. */
  kind: string;
  /** Name for people. */
  name: string;
  /** Subject of the certificate; null for a key. */
  subject: string | null;
  /** Issuer of the certificate; null for a key. */
  issuer: string | null;
  /** Serial number of the certificate; null for a key. */
  serialNumber: string | null;
  /** SHA-256 of the public key, or of the certificates of the file. */
  fingerprint: string;
  /** From when it is valid, RFC 3339 UTC; null = from the beginning. */
  notBefore: Timestamp | null;
  /** Until when it is valid, RFC 3339 UTC; null = for good. */
  notAfter: Timestamp | null;
  /** Days until it expires; null = it does not. */
  daysLeft: number | null;
  /** Whether it is the default of its kind. */
  isDefault: boolean;
  /** It is used in this mode and for this account only; null until a first configuration takes it. */
  mode: Mode | null;
  /** The account's number at the channel; null = not known. */
  account: string | null;
  /** Whether it is used to verify; null if its kind verifies nothing. */
  trust: 'trusted' | 'waiting' | 'distrusted' | null;
  /** Since when it is trusted, RFC 3339 UTC; null = it is not. */
  trustedAt: Timestamp | null;
  /** Who trusted it; when distrusted, who took the trust away. */
  trustedBy: string | null;
  /** Who created it. */
  createdBy: string;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
}

/** CertificateFilter of the OpenAPI document. */
export interface CertificateFilter {
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay?: PayWay | undefined;
  /** Only this kind. */
  kind?: string | undefined;
}

/** CertificateUpload of the OpenAPI document. */
export interface CertificateUpload {
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: PayWay;
  /** Kind of certificate or key, one of those of the channel. */
  kind: string;
  /** Name for people. */
  name?: string | undefined;
  /** Passphrase of an encrypted key. */
  passphrase?: string | undefined;
  /** Mode of the account that it is for; with `account`. Left out: those of the present configuration. */
  mode?: Mode | undefined;
  /** The account that it is for: app id, merchant number or client id. */
  account?: string | undefined;
  /** The file, as a part of a form; else `content`. */
  file?: UploadedFile | undefined;
  /** The file as text. */
  content?: string | undefined;
}

/** ChannelCheck of the OpenAPI document. */
export interface ChannelCheck {
  /** What was tested. */
  about: 'credential' | 'product' | 'notifications';
  /** Name for people. */
  name: string;
  /** `lacking`: not everybody needs it. `unproven`: nothing harmless proves it, or what comes first is wrong. */
  status: 'ok' | 'failed' | 'lacking' | 'unproven';
  /** The field or certificate kind to change. */
  field: string | null;
  /** The channel's own code, or a word of the service. */
  code: string | null;
  /** What is said about it; null = nothing. */
  message: string | null;
  /** What the support of the channel asks for. */
  supportId: string | null;
}

/** ChannelConfig of the OpenAPI document. */
export interface ChannelConfig {
  /** Code of the project. */
  project: Code;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: PayWay;
  /** Name for people. */
  name: string;
  /** Whether the channel has a configuration. */
  configured: boolean;
  /** Whether it is in use. */
  enabled: boolean;
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode: Mode | null;
  /** The account's number at the channel; null = not known. */
  account: string | null;
  /** Version; it grows with every change. */
  version: number | null;
  /** Secret values are `***`. */
  fields: Readonly<Record<string, unknown>>;
  /** For secret fields: part of the hash and the last characters. */
  fingerprints: Readonly<Record<string, unknown>>;
  /** The certificates of this version, the default of each kind first. */
  certificates: readonly (UsedCertificate)[];
  /** Uploaded to verify, and not used: an administrator has to trust them first. */
  untrusted: readonly (UsedCertificate)[];
  /** What is missing. */
  missing: readonly (string)[];
  /** Certificates and keys of the missing kinds that belong to another mode or account, and are used for no other. */
  ofOtherAccounts: readonly ({
    /** ID. */
    id: Id;
    /** Kind of certificate or key. */
    kind: string;
    /** Name for people. */
    name: string;
    /** Serial number of the certificate; null for a key. */
    serialNumber: string | null;
    /** SHA-256 fingerprint, hexadecimal. */
    fingerprint: string;
    /** Until when it is valid, RFC 3339 UTC; null = for good. */
    notAfter: Timestamp | null;
    /** Days until it expires; null = it does not. */
    daysLeft: number | null;
    /** Where the money moves: `live`, `sandbox` or `simulator`. */
    mode: Mode | null;
    /** The account's number at the channel; null = not known. */
    account: string | null;
  })[];
  /** What must be registered at the channel for the scenes in use. */
  registrations: readonly (ChannelRegistration)[];
  /** How the channel is. */
  status: ChannelStatus;
  /** Why the stored secrets cannot be decrypted, for administrators only; until they can, it is `down`. */
  fault: string | null;
  /** When the channel last answered, RFC 3339 UTC; null = never. */
  lastSuccessAt: Timestamp | null;
  /** When the channel last failed, RFC 3339 UTC; null = never. */
  lastFailureAt: Timestamp | null;
  /** What went wrong last; null = nothing. */
  lastFailure: string | null;
  /** When a genuine notification last came, to the minute. */
  lastNoticeAt: Timestamp | null;
  /** Why notifications were refused since the configuration was made, the last reason. */
  refusedNotices: RefusedNotices | null;
  /** When it was last changed, RFC 3339 UTC. */
  updatedAt: Timestamp | null;
  /** Who changed it last; null = not known. */
  updatedBy: string | null;
}

/** The fields are those of the schema of the channel. Omitted or `***` keeps the value, null clears it; a PEM text under the name of a certificate kind becomes the default certificate of that kind. */
export interface ChannelConfigChange {
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode?: Mode;
}

/** ChannelConfigSchema of the OpenAPI document. */
export interface ChannelConfigSchema {
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: PayWay;
  /** Name for people. */
  name: string;
  /** Modes that the channel has. */
  modes: readonly (Mode)[];
  /** The fields of a configuration. */
  fields: readonly ({
    /** Name of the field in a configuration. */
    name: string;
    /** Name for people. */
    label: string;
    /** Whether its value is stored encrypted and shown as `***`. */
    secret: boolean;
    /** Modes that require it. */
    requiredIn: readonly (Mode)[];
    /** Regular expression that the value matches; null = any text. */
    pattern: string | null;
    /** What it is, for people. */
    help: string;
  })[];
  /** The kinds of certificates that the channel has. */
  certKinds: readonly ({
    /** Name of the kind. */
    kind: string;
    /** Name for people. */
    label: string;
    /** What it looks like: PEM, DER or bare base64. */
    form: string;
    /** Used only while an administrator trusts it. */
    verifies: boolean;
    /** What it is, for people. */
    help: string;
  })[];
  /** Fields and certificates that each mode requires. */
  needed: Readonly<Record<string, unknown>>;
}

/** What is passed on to the channel beyond the order itself, by channel; only that of `payWay` is used. */
export interface ChannelOptions {
  /** Only for orders paid with Alipay. */
  alipay?: AlipayOptions | undefined;
  /** Only for orders paid with WeChat Pay. */
  wechat?: WechatOptions | undefined;
  /** Only for orders paid with PayPal. */
  paypal?: PaypalOptions | undefined;
}

/** ChannelRegistration of the OpenAPI document. */
export interface ChannelRegistration {
  /** Name for people. */
  name: string;
  /** The page of the channel, in words. */
  where: string;
  /** What exactly is registered; empty when it is no address of this service, and the note says whose. */
  values: readonly (string)[];
  /** Scenes that need it. */
  scenes: readonly ('qr' | 'page' | 'wap' | 'app' | 'h5' | 'jsapi' | 'mini' | 'code' | 'redirect')[];
  /** Who registers it: a person, or `payctl channel set`. */
  by: 'hand' | 'payctl';
  /** What else is to be known; null = nothing. */
  note: string | null;
}

/** ChannelStatus of the OpenAPI document. */
export type ChannelStatus = 'up' | 'degraded' | 'down' | 'disabled' | 'unconfigured';

/** ChannelTest of the OpenAPI document. */
export interface ChannelTest {
  /** Whether all is well. */
  ok: boolean;
  /** The field or certificate kind that is at fault; null = none. */
  field: string | null;
  /** The channel's own code, or a word of the service; null = none. */
  code: string | null;
  /** What is wrong; with `ok`, what not every merchant needs and this one lacks, such as a product. */
  message: string | null;
  /** Each credential, product and webhook that was looked at. */
  checks: readonly (ChannelCheck)[];
  /** What must be registered at the channel, which no call can see. */
  registrations: readonly (ChannelRegistration)[];
}

/** ChannelTestWish of the OpenAPI document. */
export interface ChannelTestWish {
  /** Scenes whose products are tried with orders of a small amount that nobody can pay; `all` = every scene of the channel. */
  products?: 'all' | readonly ('qr' | 'page' | 'wap' | 'app' | 'h5' | 'jsapi' | 'mini' | 'code' | 'redirect')[] | undefined;
}

/** ChannelVerdict of the OpenAPI document. */
export interface ChannelVerdict {
  /** Whether all is well. */
  ok: boolean;
  /** The field or certificate kind that is at fault; null = none. */
  field: string | null;
  /** The channel's own code, or a word of the service; null = none. */
  code: string | null;
  /** What is said about it; null = nothing. */
  message: string | null;
}

/** What this operation may refuse. */
export type ClosePaymentProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_outcome_unknown' | 'idempotency_conflict' | 'idempotency_in_progress' | 'order_already_paid';
});

/** Code of the OpenAPI document. */
export type Code = string;

/** CoinBalance of the OpenAPI document. */
export interface CoinBalance {
  /** The user in the caller's system. */
  userId: string;
  /** Code of the coin. */
  coin: string;
  /** Coins that can be spent: the balance without what is held. */
  available: number;
}

/** CoinDebit of the OpenAPI document. */
export interface CoinDebit {
  /** The user in the caller's system. */
  userId: UserId;
  /** Coins to take. */
  amount: number;
  /** The caller's own number for the debit; reusing it never debits twice. */
  bizNo: Id;
  /** Note of the caller. */
  memo?: string | undefined;
}

/** CoinEntry of the OpenAPI document. */
export interface CoinEntry {
  /** ID. */
  id: string;
  /** The user in the caller's system. */
  userId: string;
  /** Code of the coin. */
  coin: string;
  /** Negative for a debit. */
  amount: number;
  /** Balance after the entry. */
  balanceAfter: number;
  /** What the posting was. */
  kind: 'credit' | 'debit' | 'adjustment' | 'clawback';
  /** Number of the order. */
  orderNo: string | null;
  /** The caller's own number of the posting; the same number is posted once. Null = none. */
  bizNo: string | null;
  /** Note of the caller; null = none. */
  memo: string | null;
  /** Who did it. */
  actor: string;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
}

/** CoinPosting of the OpenAPI document. */
export interface CoinPosting {
  /** ID. */
  id: string;
  /** The user in the caller's system. */
  userId: string;
  /** Code of the coin. */
  coin: string;
  /** Negative for a debit. */
  amount: number;
  /** Balance after the entry. */
  balanceAfter: number;
  /** What the posting was. */
  kind: 'credit' | 'debit' | 'adjustment' | 'clawback';
  /** Number of the order. */
  orderNo: string | null;
  /** The caller's own number of the posting; the same number is posted once. Null = none. */
  bizNo: string | null;
  /** Note of the caller; null = none. */
  memo: string | null;
  /** Who did it. */
  actor: string;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** Coins that can be spent: the balance without what is held. */
  available: number;
}

/** CredentialChange of the OpenAPI document. */
export interface CredentialChange {
  /** `client_id` of the application. */
  clientId: string;
  /** The application was created, got more scopes, addresses, money or trust, was enabled or got a new secret; its webhook got another address or a new secret. */
  change: 'created' | 'widened' | 'enabled' | 'secret' | 'webhook' | 'webhook_secret';
  /** Name of the administrator. */
  by: string;
}

/** What this operation may refuse. */
export type DebitCoinsProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'biz_no_used' | 'coin_disabled' | 'coins_insufficient' | 'idempotency_conflict' | 'idempotency_in_progress';
});

/** What this operation may refuse. */
export type DeleteCertificateProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'certificate_unusable' | 'configuration_broken' | 'in_use';
});

/** DidDocument of the OpenAPI document. */
export interface DidDocument {
  /** The DID of the service. */
  id: string;
  /** The keys as a DID document has them. */
  verificationMethod: readonly (Readonly<Record<string, unknown>>)[];
}

/** Dispute of the OpenAPI document. */
export interface Dispute {
  /** Number of the dispute. */
  disputeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** `client_id` of the application. */
  clientId: string;
  /** Code of the project. */
  project: string;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** Number of the dispute at the channel. */
  channelDisputeNo: string;
  /** The word of the channel. */
  reason: string;
  /** What the payer disputes, in major units. */
  amount: number;
  /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** `needs_answer`: the channel waits for the merchant until `dueAt`; `won` and `lost` are decided. */
  status: 'open' | 'needs_answer' | 'under_review' | 'won' | 'lost';
  /** Until when the channel waits for an answer, RFC 3339 UTC; null = it does not wait. */
  dueAt: Timestamp | null;
  /** What the dispute took, in major units; part of the refunded amount of the order. */
  lostAmount: number;
  /** The refund by which the order counts it. */
  refundNo: string | null;
  /** When the merchant answered the dispute, RFC 3339 UTC; null = not answered. */
  answeredAt: Timestamp | null;
  /** When the merchant accepted the dispute, RFC 3339 UTC; null = not accepted. */
  acceptedAt: Timestamp | null;
  /** When the service asks the channel next, RFC 3339 UTC; null = it does not. */
  nextCheckAt: Timestamp | null;
  /** When the dispute was opened at the channel, RFC 3339 UTC. */
  openedAt: Timestamp;
  /** When it was last changed, RFC 3339 UTC. */
  updatedAt: Timestamp;
  /** When the order or dispute was closed, RFC 3339 UTC; null = not closed. */
  closedAt: Timestamp | null;
}

/** DownloadedCertificates of the OpenAPI document. */
export interface DownloadedCertificates {
  /** Whether all is well. */
  ok: boolean;
  /** The field or certificate kind that is at fault; null = none. */
  field: string | null;
  /** The channel's own code, or a word of the service; null = none. */
  code: string | null;
  /** What is said about it; null = nothing. */
  message: string | null;
  /** Certificates and keys. */
  certificates: readonly ({
    /** ID. */
    id: Id;
    /** Kind of certificate or key. */
    kind: string;
    /** Serial number of the certificate; null for a key. */
    serialNumber: string | null;
    /** Until when it is valid, RFC 3339 UTC; null = for good. */
    notAfter: Timestamp | null;
    /** Days until it expires; null = it does not. */
    daysLeft: number | null;
    /** False: it was here before, and stays as it was. */
    isNew: boolean;
    /** Whether it is trusted to verify. */
    trust: 'trusted' | 'waiting' | 'distrusted' | 'deleted' | null;
  })[];
  /** What the channel does not hand out. */
  byHand: string | null;
}

/** Every code that an answer may carry. */
export type ErrorCode = 'amount_invalid' | 'approval_by_asker' | 'approval_decided' | 'approval_not_independent' | 'beyond_projects' | 'bill_being_read' | 'bill_malformed' | 'bill_not_read' | 'bills_not_configured' | 'biz_no_used' | 'body_incomplete' | 'body_malformed' | 'body_too_deep' | 'body_too_large' | 'certificate_exists' | 'certificate_not_trusted' | 'certificate_pair_mismatch' | 'certificate_unusable' | 'change_unknown' | 'changed_meanwhile' | 'channel_answer_unusable' | 'channel_disabled' | 'channel_not_configured' | 'channel_outcome_unknown' | 'channel_refusal_inconclusive' | 'channel_refused' | 'code_taken' | 'coin_disabled' | 'coins_insufficient' | 'coins_spent' | 'configuration_broken' | 'csrf_failed' | 'database_busy' | 'database_full' | 'database_unavailable' | 'debug_refuses_live' | 'dispute_closed' | 'exception_resolved' | 'fulfilment_failed_refund_failed' | 'fulfilment_failed_refund_pending' | 'fulfilment_in_progress' | 'fulfilment_unavailable' | 'idempotency_conflict' | 'idempotency_in_progress' | 'in_use' | 'insufficient_scope' | 'internal_error' | 'invalid_client' | 'invalid_request' | 'invalid_scope' | 'ip_not_allowed' | 'last_admin' | 'limit_exceeded' | 'login_busy' | 'login_failed' | 'media_type_unsupported' | 'merchant_number_used' | 'method_not_allowed' | 'not_bootstrapped' | 'not_found' | 'not_on_sale' | 'order_already_paid' | 'order_closed' | 'order_not_paid' | 'order_refunded' | 'out_of_stock' | 'partial_refund_before_delivery' | 'password_confirmation_required' | 'password_weak' | 'password_wrong' | 'payment_expired' | 'payment_id_used' | 'payment_required' | 'price_mismatch' | 'production_refuses_simulator' | 'profit_sharing_unsupported' | 'project_disabled' | 'project_unknown' | 'proof_invalid' | 'proof_unverified' | 'rate_limited' | 'refund_after_fulfilment' | 'refund_exceeds_refundable' | 'refund_in_progress' | 'refund_limit_reached' | 'refund_not_abnormal' | 'refund_not_released' | 'refund_not_retryable' | 'refund_window_over' | 'refunds_blocked' | 'request_timeout' | 'resource_mismatch' | 'resource_required' | 'role_insufficient' | 'second_factor_enrolment_required' | 'second_factor_not_enabled' | 'second_factor_not_started' | 'second_factor_own' | 'second_factor_required' | 'second_factor_unreadable' | 'shutting_down' | 'staging_refuses_live' | 'too_many_offers' | 'trust_not_needed' | 'unauthenticated' | 'unauthorized_client' | 'unsupported_grant_type' | 'user_blocked' | 'user_limit_reached' | 'username_taken' | 'webhook_not_configured';

/** Event of the OpenAPI document. */
export interface Event {
  /** ID of the event; the same in every delivery. */
  id: string;
  /** Type of the event. */
  type: string;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** Increasing; gaps are normal. */
  sequence: number;
  /** What the event is about. */
  data: {
    /** What the event is about, as it was then: an order, refund, dispute or coin entry. */
    object: Readonly<Record<string, unknown>>;
  };
}

/** What this operation may refuse. */
export type FetchChannelCertificatesProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_not_configured' | 'configuration_broken' | 'debug_refuses_live' | 'production_refuses_simulator' | 'staging_refuses_live';
});

/** Codes that any request may meet. */
export type GeneralErrorCode = 'body_incomplete' | 'body_malformed' | 'body_too_deep' | 'body_too_large' | 'change_unknown' | 'csrf_failed' | 'database_busy' | 'database_full' | 'database_unavailable' | 'insufficient_scope' | 'internal_error' | 'invalid_request' | 'ip_not_allowed' | 'media_type_unsupported' | 'method_not_allowed' | 'not_found' | 'rate_limited' | 'request_timeout' | 'role_insufficient' | 'second_factor_enrolment_required' | 'unauthenticated';

/** What this operation may refuse. */
export type GeneralProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode;
});

/** Goods of the OpenAPI document. */
export interface Goods {
  /** Number of the goods in the shop. */
  id: string;
  /** Name of the goods. */
  name: string;
  /** How many pieces. */
  quantity: number;
  /** Minor units (fen), for one piece. */
  price: number;
}

/** Id of the OpenAPI document. */
export type Id = string;

/** KeySet of the OpenAPI document. */
export interface KeySet {
  /** Public keys (RFC 7517). */
  keys: readonly (Readonly<Record<string, unknown>>)[];
}

/** Limit of the OpenAPI document. */
export interface Limit {
  /** ISO 4217 code of the currency. */
  currency: string;
  /** The limit. */
  limit: 'perOrder' | 'perDay' | 'perMonth' | 'refundPerDay' | 'ordersPerHour';
  /** Major units; `ordersPerHour`: orders. */
  allowed: number;
  /** In the span of time that ends at `resetsAt`; null for `perOrder`. */
  used: number | null;
  /** What is left of the limit. */
  left: number;
  /** When the limit begins anew, RFC 3339 UTC. */
  resetsAt: Timestamp | null;
}

/** What this operation may refuse. */
export type MakeCertificateDefaultProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'certificate_not_trusted' | 'certificate_pair_mismatch' | 'certificate_unusable' | 'configuration_broken';
});

/** Mode of the OpenAPI document. */
export type Mode = 'simulator' | 'sandbox' | 'live';

/** RFC 6749 §5.2. */
export interface OAuthError {
  /** Code of RFC 6749 §5.2. */
  error: string;
  /** The error in words. */
  error_description?: string;
}

/** Order of the OpenAPI document. */
export interface Order {
  /** Number of the order. */
  orderNo: string;
  /** `payment`, or `skillpay` for an order of a pay-per-call resource. */
  kind: 'payment' | 'skillpay';
  /** The caller's own number of the order; null = none. */
  merchantOrderNo: string | null;
  /** Code of the project. */
  project: string;
  /** `client_id` of the application. */
  clientId: string;
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode: 'simulator' | 'sandbox' | 'live';
  /** Title of the order, which the payer sees. */
  subject: string;
  /** Business category, chosen by the caller; null = none. */
  orderType: string | null;
  /** The paying user in the caller's system; null = none. */
  userId: string | null;
  /** Text of the caller, returned unchanged. */
  extra: string | null;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** How the payer is asked: `qr`, `page`, `h5`, `app`, `jsapi`, `mini` or `code`. */
  scene: string;
  /** Major units. */
  amount: number;
  /** Minor units. */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Where the order stands. */
  status: 'created' | 'pending' | 'closing' | 'closed' | 'failed' | 'paid' | 'partially_refunded' | 'refunded';
  /** Kind of the latest open exception. */
  exception: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
  /** Why the order was closed; null while it is not. */
  closeReason: 'merchant' | 'admin' | 'expired' | 'channel' | 'payer' | null;
  /** Why it failed; null = it did not. */
  failure: {
    /** Code of the failure, as the channel gives it. */
    code: string;
    /** What the channel says about it. */
    message: string;
  } | null;
  /** The payer's account at the channel; null until it is known. */
  payer: string | null;
  /** Code of the product; null = none. */
  product: string | null;
  /** What has been refunded, in major units. */
  refundedAmount: number;
  /** The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception. */
  refundableAmount: number;
  /** Kind of the open exception that forbids refunds until it is resolved, such as `refund_unexplained` when the channel gave back money that no known refund explains; null = none. Of events only `order.exception` tells it, as it was then. */
  refundsBlockedBy: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
  /** The channel's own number of the order, where it has one (PayPal). */
  channelOrderId: string | null;
  /** Number of the payment at the channel; null until it is known. */
  channelTradeNo: string | null;
  /** The channel's word why an approved payment is not there yet, or why the payer has to choose another way to pay (PayPal). */
  captureReason: string | null;
  /** What the channel keeps and what is left: as it said with the payment (PayPal), else by its bill a day later. */
  settlement: {
    /** What the channel keeps; null until it is known. */
    fee: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
    /** What is left of the payment after fees; null until it is known. */
    net: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
    /** What was paid out in another currency; null = the same currency, or not known. */
    received: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
  } | null;
  /** What the payer needs to pay, while the order can be paid. */
  payment?: {
    /** `code`: the payer confirms in the app whose code was read; there is nothing to hand over. */
    type: 'qr' | 'redirect' | 'app' | 'jsapi' | 'code';
    /** Text of the QR code that the payer scans. */
    qrCode?: string;
    /** Page of the channel where the payer pays. */
    url?: string;
    /** What the mini program or the app hands to the SDK of the channel. */
    params?: Readonly<Record<string, unknown>>;
    /** Until when it is valid, RFC 3339 UTC. */
    expiresAt: Timestamp;
  };
  /** URL to send the payer to; for QR scenes, the payment page of this service. */
  payUrl?: string;
  /** The refunds, the oldest first. */
  refunds: readonly (Refund)[];
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it was paid, RFC 3339 UTC; never before `createdAt`; null = not paid. */
  paidAt: Timestamp | null;
  /** When the order or dispute was closed, RFC 3339 UTC; null = not closed. */
  closedAt: Timestamp | null;
  /** Until when the order can be paid, RFC 3339 UTC. */
  expiresAt: Timestamp;
  /** True if the channel could not be queried in time and the stored state is returned. */
  stale: boolean;
}

/** OrderEntry of the OpenAPI document. */
export interface OrderEntry {
  /** Number of the order. */
  orderNo: string;
  /** `payment`, or `skillpay` for an order of a pay-per-call resource. */
  kind: 'payment' | 'skillpay';
  /** The caller's own number of the order; null = none. */
  merchantOrderNo: string | null;
  /** Code of the project. */
  project: string;
  /** `client_id` of the application. */
  clientId: string;
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode: 'simulator' | 'sandbox' | 'live';
  /** Title of the order, which the payer sees. */
  subject: string;
  /** Business category, chosen by the caller; null = none. */
  orderType: string | null;
  /** The paying user in the caller's system; null = none. */
  userId: string | null;
  /** Text of the caller, returned unchanged. */
  extra: string | null;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** How the payer is asked: `qr`, `page`, `h5`, `app`, `jsapi`, `mini` or `code`. */
  scene: string;
  /** Major units. */
  amount: number;
  /** Minor units. */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Where the order stands. */
  status: 'created' | 'pending' | 'closing' | 'closed' | 'failed' | 'paid' | 'partially_refunded' | 'refunded';
  /** Kind of the latest open exception. */
  exception: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
  /** Why the order was closed; null while it is not. */
  closeReason: 'merchant' | 'admin' | 'expired' | 'channel' | 'payer' | null;
  /** Why it failed; null = it did not. */
  failure: {
    /** Code of the failure, as the channel gives it. */
    code: string;
    /** What the channel says about it. */
    message: string;
  } | null;
  /** The payer's account at the channel; null until it is known. */
  payer: string | null;
  /** Code of the product; null = none. */
  product: string | null;
  /** What has been refunded, in major units. */
  refundedAmount: number;
  /** The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception. */
  refundableAmount: number;
  /** Kind of the open exception that forbids refunds until it is resolved, such as `refund_unexplained` when the channel gave back money that no known refund explains; null = none. Of events only `order.exception` tells it, as it was then. */
  refundsBlockedBy: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
  /** The channel's own number of the order, where it has one (PayPal). */
  channelOrderId: string | null;
  /** Number of the payment at the channel; null until it is known. */
  channelTradeNo: string | null;
  /** The channel's word why an approved payment is not there yet, or why the payer has to choose another way to pay (PayPal). */
  captureReason: string | null;
  /** What the channel keeps and what is left: as it said with the payment (PayPal), else by its bill a day later. */
  settlement: {
    /** What the channel keeps; null until it is known. */
    fee: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
    /** What is left of the payment after fees; null until it is known. */
    net: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
    /** What was paid out in another currency; null = the same currency, or not known. */
    received: {
      /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
      amount: number;
      /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
      amountMinor: number;
      /** ISO 4217 code of the currency. */
      currency: string;
    } | null;
  } | null;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it was paid, RFC 3339 UTC; never before `createdAt`; null = not paid. */
  paidAt: Timestamp | null;
  /** When the order or dispute was closed, RFC 3339 UTC; null = not closed. */
  closedAt: Timestamp | null;
  /** Until when the order can be paid, RFC 3339 UTC. */
  expiresAt: Timestamp;
  /** True if the channel could not be queried in time and the stored state is returned. */
  stale: boolean;
}

/** OutTradeNo of the OpenAPI document. */
export type OutTradeNo = string;

/** PageInfo of the OpenAPI document. */
export interface PageInfo {
  /** Send it as `cursor` to get the next page. */
  nextCursor: string | null;
  /** Whether there is another page. */
  hasMore: boolean;
}

/** PayWay of the OpenAPI document. */
export type PayWay = 'alipay' | 'wechat' | 'paypal';

/** PaypalOptions of the OpenAPI document. */
export interface PaypalOptions {
  /** Shown to the payer instead of the business name. */
  brandName?: string | undefined;
  /** Language of PayPal's pages. */
  locale?: string | undefined;
  /** Which of PayPal's pages comes first. */
  landingPage?: 'LOGIN' | 'GUEST_CHECKOUT' | 'NO_PREFERENCE' | undefined;
  /** Refuses ways to pay whose money arrives later. */
  immediatePayment?: boolean | undefined;
  /** Text on the payer's card statement. */
  softDescriptor?: string | undefined;
}

/** What this operation may refuse. */
export type PlacePaymentProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'amount_invalid' | 'channel_answer_unusable' | 'channel_disabled' | 'channel_not_configured' | 'channel_outcome_unknown' | 'channel_refusal_inconclusive' | 'channel_refused' | 'configuration_broken' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_exceeded' | 'merchant_number_used' | 'not_on_sale' | 'out_of_stock' | 'price_mismatch' | 'profit_sharing_unsupported' | 'project_disabled' | 'user_blocked' | 'user_limit_reached';
});

/** PlacePaymentRequest of the OpenAPI document. */
export interface PlacePaymentRequest {
  /** Order title. */
  subject: string;
  /** Major units; may be omitted if `product` has the price. */
  amount?: Amount | undefined;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** Business category. */
  orderType?: string | undefined;
  /** The paying user in the caller's system. */
  userId?: UserId | undefined;
  /** Custom text, returned unchanged. */
  extra?: string | undefined;
  /** ISO 4217 code of the currency. */
  currency?: string | undefined;
  /** The caller's own order number; the same number with the same values is the same order. */
  merchantOrderNo?: Id | undefined;
  /** How the payer is asked for the money; `code`: `payCode` was read in a shop. */
  scene?: 'qr' | 'page' | 'wap' | 'app' | 'h5' | 'jsapi' | 'mini' | 'code' | 'redirect' | undefined;
  /** The payer's ID at WeChat Pay, which belongs to the app ID. */
  openId?: string | undefined;
  /** WeChat Pay: one of the configured app IDs, if not the default of the scene. `openId` belongs to it. */
  appId?: string | undefined;
  /** The code that the payer shows in the app of the channel, for the scene `code`. It works once, for about a minute. */
  payCode?: string | undefined;
  /** What is passed on to the channel beyond the order itself. */
  channelOptions?: ChannelOptions | undefined;
  /** IP address of the payer; for the scene `code`, of the till. WeChat Pay requires it in h5 and code. */
  clientIp?: string | undefined;
  /** Where the payer comes back to after the payment. */
  returnUrl?: string | undefined;
  /** Overrides the webhook URL of the application for this order. */
  notifyUrl?: string | undefined;
  /** Seconds until an unpaid order expires, 60 to 604800; 7200 if not given. */
  expireSeconds?: number | undefined;
  /** Code of the product. */
  product?: Code | undefined;
}

/** An error (RFC 9457). `code` is stable; `type` links to its description. */
export interface Problem {
  /** Where the code is described. */
  type: string;
  /** Name of the fault. */
  title: string;
  /** HTTP status. */
  status: number;
  /** What is wrong with this request, in words. */
  detail: string;
  /** Code of the fault; it never changes its meaning. */
  code: ErrorCode;
  /** ID of the request, as in the header `X-Request-Id`. */
  requestId: string;
  /** Whether the same request can be retried. */
  retryable: boolean;
  /** What to do about it; left out when there is nothing to say. */
  hint?: string;
  /** The members that are at fault; left out when it is none of them. */
  errors?: readonly ({
    /** JSON pointer to the member. */
    pointer: string;
    /** Code of the fault. */
    code: string;
    /** What is wrong with the member. */
    detail: string;
  })[];
  /** The error that the channel reported. */
  channel?: {
    /** Which channel. */
    payWay: string;
    /** Code that the channel gives. */
    code: string;
    /** What the channel says. */
    message: string;
    /** What the support of the channel asks for. */
    supportId?: string;
  };
}

/** Refund of the OpenAPI document. */
export interface Refund {
  /** Number of the refund. */
  refundNo: string;
  /** Number of the order. */
  orderNo: string;
  /** The caller's own number of the refund; null = none. */
  merchantRefundNo: string | null;
  /** Who began the refund: `merchant`, `admin`, `channel`, `dispute`, `late`, `surplus` and so on. */
  origin: string;
  /** Amount of the refund in major units of `currency`. */
  refundAmount: number;
  /** The same amount in minor units (250 = 2.50 CNY). */
  refundAmountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Why, in words. */
  reason: string | null;
  /** `waiting_for_approval`: its amount is reserved, and a second administrator has to approve it. */
  status: 'pending' | 'processing' | 'succeeded' | 'failed' | 'abnormal' | 'waiting_for_approval';
  /** True when the channel did not pay the payer for this service: the refund was made in its portal, was paid outside the channel, or went to the own account of the merchant. */
  elsewhere: boolean;
  /** Why it failed; null = it did not. */
  failure: {
    /** Code of the failure, as the channel gives it. */
    code: string;
    /** What the channel says about it. */
    message: string;
  } | null;
  /** Number of the refund at the channel; null until it is known. */
  channelRefundNo: string | null;
  /** Fee of the refund by its bill; negative when the channel gave a fee back. null until the refund has succeeded and its bill has been read. */
  fee: {
    /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
    amount: number;
    /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
    amountMinor: number;
    /** ISO 4217 code of the currency. */
    currency: string;
  } | null;
  /** When the service asks the channel next, RFC 3339 UTC; null = it does not. */
  nextCheckAt: Timestamp | null;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it ended, RFC 3339 UTC; null = still under way. */
  finishedAt: Timestamp | null;
}

/** What this operation may refuse. */
export type RefundCallProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'amount_invalid' | 'channel_outcome_unknown' | 'coins_spent' | 'fulfilment_in_progress' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_exceeded' | 'merchant_number_used' | 'order_not_paid' | 'partial_refund_before_delivery' | 'refund_after_fulfilment' | 'refund_exceeds_refundable' | 'refund_in_progress' | 'refund_limit_reached' | 'refund_not_retryable' | 'refund_window_over' | 'refunds_blocked';
});

/** What this operation may refuse. */
export type RefundPaymentProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'amount_invalid' | 'channel_outcome_unknown' | 'coins_spent' | 'fulfilment_in_progress' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_exceeded' | 'merchant_number_used' | 'order_not_paid' | 'partial_refund_before_delivery' | 'refund_after_fulfilment' | 'refund_exceeds_refundable' | 'refund_in_progress' | 'refund_limit_reached' | 'refund_not_retryable' | 'refund_window_over' | 'refunds_blocked';
});

/** RefundPlaced of the OpenAPI document. */
export interface RefundPlaced {
  /** Number of the refund. */
  refundNo: string;
  /** Number of the order. */
  orderNo: string;
  /** The caller's own number of the refund; null = none. */
  merchantRefundNo: string | null;
  /** Who began the refund: `merchant`, `admin`, `channel`, `dispute`, `late`, `surplus` and so on. */
  origin: string;
  /** Amount of the refund in major units of `currency`. */
  refundAmount: number;
  /** The same amount in minor units (250 = 2.50 CNY). */
  refundAmountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Why, in words. */
  reason: string | null;
  /** `waiting_for_approval`: its amount is reserved, and a second administrator has to approve it. */
  status: 'pending' | 'processing' | 'succeeded' | 'failed' | 'abnormal' | 'waiting_for_approval';
  /** True when the channel did not pay the payer for this service: the refund was made in its portal, was paid outside the channel, or went to the own account of the merchant. */
  elsewhere: boolean;
  /** Why it failed; null = it did not. */
  failure: {
    /** Code of the failure, as the channel gives it. */
    code: string;
    /** What the channel says about it. */
    message: string;
  } | null;
  /** Number of the refund at the channel; null until it is known. */
  channelRefundNo: string | null;
  /** Fee of the refund by its bill; negative when the channel gave a fee back. null until the refund has succeeded and its bill has been read. */
  fee: {
    /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
    amount: number;
    /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
    amountMinor: number;
    /** ISO 4217 code of the currency. */
    currency: string;
  } | null;
  /** When the service asks the channel next, RFC 3339 UTC; null = it does not. */
  nextCheckAt: Timestamp | null;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it ended, RFC 3339 UTC; null = still under way. */
  finishedAt: Timestamp | null;
  /** What has been refunded, in major units. */
  refundedAmount: number;
  /** The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception. */
  refundableAmount: number;
  /** Kind of the open exception that forbids refunds until it is resolved, such as `refund_unexplained` when the channel gave back money that no known refund explains; null = none. Of events only `order.exception` tells it, as it was then. */
  refundsBlockedBy: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
}

/** RefundRequest of the OpenAPI document. */
export interface RefundRequest {
  /** Number of the order. */
  orderNo: Id;
  /** Major units, at most the refundable amount. */
  refundAmount: Amount;
  /** The caller's own number of the refund. */
  merchantRefundNo?: Id | undefined;
  /** Why, in words. */
  reason?: string | undefined;
}

/** RefusedNotices of the OpenAPI document. */
export interface RefusedNotices {
  /** A stable word, as `channel_notices_refused_total` has it. */
  why: string;
  /** The fault of the last one. */
  detail: string;
  /** The change with which the service takes the next one. */
  change: string;
  /** How many at least were refused for this reason, each within a day of the one before; counted every five seconds. */
  count: number;
  /** When the first of them came. */
  since: Timestamp;
  /** When the last of them came. */
  at: Timestamp;
  /** False when the last one is more than a day old, or a genuine notification came after one that anybody could have posted. */
  isOpen: boolean;
}

/** What this operation may refuse. */
export type RegisterChannelNoticesProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_not_configured' | 'configuration_broken' | 'debug_refuses_live' | 'production_refuses_simulator' | 'staging_refuses_live';
});

/** RevokeRequest of the OpenAPI document. */
export interface RevokeRequest {
  /** The token. */
  token: string;
  /** Ignored: the kind of a token is known from itself. */
  token_type_hint?: string;
  /** Identifier of the application. */
  client_id?: string;
  /** Secret of the application. */
  client_secret?: string;
}

/** SkillCoinOrder of the OpenAPI document. */
export interface SkillCoinOrder {
  /** Number of the pay-per-call order. */
  outTradeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** `coin`: coins paid the call. */
  kind: 'coin';
  /** Code of the resource. */
  resource: string;
  /** Title of the order, which the payer sees. */
  subject: string;
  /** The user in the caller's system. */
  userId: string;
  /** `paid`, or `refunded` when the coins were given back. */
  status: 'paid' | 'refunded';
  /** How far the content is: `none`, `running`, `done` or `failed`. */
  fulfilment: 'none' | 'running' | 'done' | 'failed';
  /** What the call cost. */
  coin: {
    /** Code of the coin. */
    code: string;
    /** How many coins. */
    amount: number;
  };
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When the coins paid it, RFC 3339 UTC. */
  paidAt: Timestamp;
  /** When the content was made, RFC 3339 UTC; null = not yet. */
  fulfilledAt: Timestamp | null;
  /** When it was given back, RFC 3339 UTC; null = it was not. */
  refundedAt: Timestamp | null;
}

/** SkillContent of the OpenAPI document. */
export interface SkillContent {
  /** Number of the pay-per-call order. */
  outTradeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** JSON if the content type is JSON, else text. */
  content?: unknown;
  /** Media type of the content. */
  contentType?: string;
  /** True if this is the stored result of an earlier call. */
  alreadyFulfilled?: boolean;
  /** Compact JWS, `typ: pay-receipt+jws`. */
  receipt?: string;
  /** What the call cost, if coins paid it. */
  coin?: {
    /** Code of the coin. */
    code: string;
    /** How many coins. */
    amount: number;
  };
  /** Fulfilment failed permanently; the payment was refunded in full. */
  status?: 'refunded';
  /** Why the payment was given back. */
  refundReason?: string;
}

/** SkillFulfilled of the OpenAPI document. */
export interface SkillFulfilled {
  /** Number of the pay-per-call order. */
  outTradeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** Code of the resource. */
  resource: string;
  /** Amount in minor units (1250 = 12.50 CNY). */
  amountMinor?: number;
  /** ISO 4217 code of the currency. */
  currency?: string;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay?: 'alipay' | 'wechat' | 'paypal';
  /** Whose coins paid, if coins did. */
  userId?: string;
  /** What coins paid, if coins did. */
  coin?: {
    /** Code of the coin. */
    code: string;
    /** How many coins. */
    amount: number;
  };
  /** When the content was made, RFC 3339 UTC. */
  fulfilledAt: Timestamp;
}

/** SkillOffered of the OpenAPI document. */
export interface SkillOffered {
  /** Number of the pay-per-call order. */
  outTradeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** Code of the resource. */
  resource: string;
  /** Amount in minor units (1250 = 12.50 CNY). */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** Until when it is valid, RFC 3339 UTC. */
  expiresAt: Timestamp;
}

/** SkillOrder of the OpenAPI document. */
export interface SkillOrder {
  /** Number of the pay-per-call order. */
  outTradeNo: string;
  /** Number of the order. */
  orderNo: string;
  /** Code of the resource. */
  resource: string;
  /** Title of the order, which the payer sees. */
  subject: string;
  /** Where the order stands. */
  status: 'created' | 'pending' | 'closing' | 'closed' | 'failed' | 'paid' | 'partially_refunded' | 'refunded';
  /** How far the content is: `none`, `running`, `done` or `failed`. */
  fulfilment: 'none' | 'running' | 'done' | 'failed';
  /** The order that took its place when it ended unpaid. */
  successor: string | null;
  /** Channel: `alipay`, `wechat` or `paypal`. */
  payWay: 'alipay' | 'wechat' | 'paypal';
  /** Where the money moves: `live`, `sandbox` or `simulator`. */
  mode: 'simulator' | 'sandbox' | 'live';
  /** Major units. */
  amount: number;
  /** Minor units. */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** What has been refunded, in major units. */
  refundedAmount: number;
  /** The refunds, the oldest first. */
  refunds: readonly (Refund)[];
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it was paid, RFC 3339 UTC; never before `createdAt`; null = not paid. */
  paidAt: Timestamp | null;
  /** When the content was made, RFC 3339 UTC; null = not yet. */
  fulfilledAt: Timestamp | null;
  /** Until when the order can be paid, RFC 3339 UTC. */
  expiresAt: Timestamp;
  /** Whether the channel could not be asked in time, so the stored state is shown. */
  stale: boolean;
}

/** SkillPrice of the OpenAPI document. */
export interface SkillPrice {
  /** Code of the resource. */
  resource: string;
  /** Name for people. */
  name: string;
  /** Description for people; null = none. */
  description: string | null;
  /** Major units. */
  price: number;
  /** Same as `price`. */
  amount: number;
  /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
  amountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** The channels that it can be paid with. */
  payWays: readonly (string)[];
  /** Seconds for which an offer of the resource can be paid. */
  offerTtlSeconds: number;
  /** What a call costs in coins, for a `userId` that has them. */
  coinPrice: {
    /** Code of the coin. */
    code: string;
    /** How many coins a call costs. */
    amount: number;
  } | null;
  /** Whether the application that called may refund a call whose content it has; then it has the content for nothing. */
  refundAfterFulfilment: boolean;
}

/** SkillRefundPlaced of the OpenAPI document. */
export interface SkillRefundPlaced {
  /** Number of the refund. */
  refundNo: string;
  /** Number of the order. */
  orderNo: string;
  /** The caller's own number of the refund; null = none. */
  merchantRefundNo: string | null;
  /** Who began the refund: `merchant`, `admin`, `channel`, `dispute`, `late`, `surplus` and so on. */
  origin: string;
  /** Amount of the refund in major units of `currency`. */
  refundAmount: number;
  /** The same amount in minor units (250 = 2.50 CNY). */
  refundAmountMinor: number;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Why, in words. */
  reason: string | null;
  /** `waiting_for_approval`: its amount is reserved, and a second administrator has to approve it. */
  status: 'pending' | 'processing' | 'succeeded' | 'failed' | 'abnormal' | 'waiting_for_approval';
  /** True when the channel did not pay the payer for this service: the refund was made in its portal, was paid outside the channel, or went to the own account of the merchant. */
  elsewhere: boolean;
  /** Why it failed; null = it did not. */
  failure: {
    /** Code of the failure, as the channel gives it. */
    code: string;
    /** What the channel says about it. */
    message: string;
  } | null;
  /** Number of the refund at the channel; null until it is known. */
  channelRefundNo: string | null;
  /** Fee of the refund by its bill; negative when the channel gave a fee back. null until the refund has succeeded and its bill has been read. */
  fee: {
    /** Amount in major units of `currency` (12.5 = 12.50 CNY). */
    amount: number;
    /** The same amount in minor units of `currency` (1250 = 12.50 CNY). */
    amountMinor: number;
    /** ISO 4217 code of the currency. */
    currency: string;
  } | null;
  /** When the service asks the channel next, RFC 3339 UTC; null = it does not. */
  nextCheckAt: Timestamp | null;
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it ended, RFC 3339 UTC; null = still under way. */
  finishedAt: Timestamp | null;
  /** What has been refunded, in major units. */
  refundedAmount: number;
  /** The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception. */
  refundableAmount: number;
  /** Kind of the open exception that forbids refunds until it is resolved, such as `refund_unexplained` when the channel gave back money that no known refund explains; null = none. Of events only `order.exception` tells it, as it was then. */
  refundsBlockedBy: 'late_paid' | 'order_overdue' | 'capture_held' | 'amount_mismatch' | 'double_paid' | 'payment_of_another_order' | 'refund_overrun' | 'refund_abnormal' | 'refund_overdue' | 'refund_mismatch' | 'refund_reversed' | 'refund_bank_refused' | 'refund_elsewhere' | 'refund_after_delivery' | 'refund_unexplained' | 'out_of_stock' | 'effect_failed' | 'coins_debt' | 'unclaimed' | 'fulfilment_failed' | 'delivery_unconfirmed' | 'unmatched_notice' | 'dispute' | 'paid_unknown_to_us' | 'paid_missing_at_channel' | 'amount_differs' | 'currency_differs' | 'refund_unknown_to_us' | 'refund_missing_at_channel' | 'refund_amount_differs' | 'fee_differs' | 'duplicate_payment' | 'line_twice' | 'order_unknown_here' | 'dispute_unknown_to_us' | 'line_unreadable' | null;
  /** Number of the pay-per-call order. */
  outTradeNo: string;
}

/** SkillRefundRequest of the OpenAPI document. */
export interface SkillRefundRequest {
  /** Number of the pay-per-call order. */
  outTradeNo: OutTradeNo;
  /** Major units; the full remaining amount if omitted. */
  refundAmount?: Amount | undefined;
  /** Why, in words. */
  reason?: string | undefined;
  /** The caller's own number of the refund. */
  merchantRefundNo?: Id | undefined;
}

/** SkillRequest of the OpenAPI document. */
export interface SkillRequest {
  /** Code of a skill; may be omitted if the project has only one, or in Debug. */
  resource?: Code | undefined;
  /** Input of the resource; part of the offer. */
  input?: unknown;
  /** By default the first enabled channel of the skill. */
  payWay?: 'alipay' | 'wechat' | 'paypal' | undefined;
  /** Whose coins may pay, if the skill has a `coinPrice`. */
  userId?: Id | undefined;
}

/** What this operation may refuse. */
export type TestChannelProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_not_configured' | 'configuration_broken';
});

/** Timestamp of the OpenAPI document. */
export type Timestamp = string;

/** Toggle of the OpenAPI document. */
export interface Toggle {
  /** Whether it is in use. */
  enabled?: boolean | undefined;
}

/** What this operation may refuse. */
export type ToggleChannelProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'channel_not_configured';
});

/** TokenGrant of the OpenAPI document. */
export interface TokenGrant {
  /** The token, sent as `Authorization: Bearer`. */
  access_token: string;
  /** Always `Bearer`. */
  token_type: 'Bearer';
  /** Seconds until the token expires. */
  expires_in: number;
  /** Scopes, separated by blanks. */
  scope: string;
}

/** TokenRequest of the OpenAPI document. */
export interface TokenRequest {
  /** Must be `client_credentials`. */
  grant_type: string;
  /** Identifier of the application. */
  client_id?: string;
  /** Secret of the application. */
  client_secret?: string;
  /** Scopes, separated by blanks. */
  scope?: string;
}

/** What this operation may refuse. */
export type UploadCertificateProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'certificate_exists' | 'configuration_broken';
});

/** UploadedFile of the OpenAPI document. */
export type UploadedFile = string;

/** UsedCertificate of the OpenAPI document. */
export interface UsedCertificate {
  /** ID. */
  id: Id;
  /** Kind of certificate or key. */
  kind: string;
  /** Name for people. */
  name: string;
  /** Serial number of the certificate; null for a key. */
  serialNumber: string | null;
  /** SHA-256 fingerprint, hexadecimal. */
  fingerprint: string;
  /** Until when it is valid, RFC 3339 UTC; null = for good. */
  notAfter: Timestamp | null;
  /** Days until it expires; null = it does not. */
  daysLeft: number | null;
}

/** User of the OpenAPI document. */
export interface User {
  /** The user in the caller's system. */
  userId: UserId;
  /** Code of the project. */
  project: string;
  /** Name that the user goes by; null = not known. */
  nickname: string | null;
  /** E-mail address; null = not known. */
  email: string | null;
  /** Telephone number; null = not known. */
  phone: string | null;
  /** `active`, or `blocked`: new payments are refused. */
  status: 'active' | 'blocked';
  /** The merchant's own data about the user; null = none. */
  metadata: Readonly<Record<string, unknown>> | null;
  /** When the personal data was removed, RFC 3339 UTC; null = it was not. */
  anonymisedAt: Timestamp | null;
  /** By mode, channel and currency. */
  totals?: readonly ({
    /** Where the money moves: `live`, `sandbox` or `simulator`. */
    mode: string;
    /** Channel: `alipay`, `wechat` or `paypal`. */
    payWay: string;
    /** ISO 4217 code of the currency. */
    currency: string;
    /** Number of orders. */
    orders: number;
    /** Number of orders that were paid. */
    paidOrders: number;
    /** What was paid, in major units. */
    paidAmount: number;
    /** What was paid, in minor units. */
    paidAmountMinor: number;
    /** What has been refunded, in major units. */
    refundedAmount: number;
    /** What has been refunded, in minor units. */
    refundedAmountMinor: number;
  })[];
  /** When it was created, RFC 3339 UTC. */
  createdAt: Timestamp;
  /** When it was last changed, RFC 3339 UTC. */
  updatedAt: Timestamp;
}

/** UserChange of the OpenAPI document. */
export interface UserChange {
  /** Name that the user goes by; null = not known. */
  nickname?: string | null | undefined;
  /** E-mail address; null = not known. */
  email?: string | null | undefined;
  /** Telephone number; null = not known. */
  phone?: string | null | undefined;
  /** `active`, or `blocked`: new payments are refused. */
  status?: 'active' | 'blocked' | undefined;
  /** The merchant's own data about the user; null = none. */
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
}

/** UserId of the OpenAPI document. */
export type UserId = string;

/** UserInput of the OpenAPI document. */
export interface UserInput {
  /** The user in the caller's system. */
  userId: UserId;
  /** Name that the user goes by; null = not known. */
  nickname?: string | null | undefined;
  /** E-mail address; null = not known. */
  email?: string | null | undefined;
  /** Telephone number; null = not known. */
  phone?: string | null | undefined;
  /** `active`, or `blocked`: new payments are refused. */
  status?: 'active' | 'blocked' | undefined;
  /** The merchant's own data about the user; null = none. */
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
}

/** WechatOptions of the OpenAPI document. */
export interface WechatOptions {
  /** Returned in queries and notifications of WeChat Pay. */
  attach?: string | undefined;
  /** Mark of a promotion. */
  goodsTag?: string | undefined;
  /** Offers the payer an electronic invoice. */
  supportFapiao?: boolean | undefined;
  /** `true` is refused: the money would stay frozen, because this service neither shares nor releases it. */
  profitSharing?: boolean | undefined;
  /** Number of the shop. */
  storeId?: string | undefined;
  /** Number of the device that takes the payment. */
  deviceId?: string | undefined;
  /** What is sold, for the records of the channel. */
  goods?: readonly (Goods)[] | undefined;
}

/** What this operation may refuse. */
export type WriteChannelConfigProblem = (Problem) & ({
  /** Code of the fault; it never changes its meaning. */
  code: GeneralErrorCode | 'configuration_broken' | 'debug_refuses_live' | 'production_refuses_simulator' | 'staging_refuses_live';
});
