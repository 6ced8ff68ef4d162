/** What is published about one error code. */
export interface ErrorCode {
  /** Short name of the fault; the `title` of every problem document with this code. */
  title: string;
  meaning: string;
  /** What the caller can do. */
  remedy: string;
  /** The same request may be sent again. */
  retryable: boolean;
}

/** One line for each code: code | title | meaning | what to do | `again` when the same request may be sent again. */
const table = `
amount_invalid | Amount invalid | The amount is not a positive decimal with at most the decimals of its currency, up to 100000000. | Send a number or a decimal string in major units.
biz_no_used | bizNo used | The bizNo stands for a debit of another amount. | Use a new bizNo, or repeat the debit with the same amount.
body_incomplete | Request broke off | The connection ended before the whole body was sent. | Send the request again. | again
body_malformed | Malformed body | The body is not valid JSON, form or multipart data in UTF-8. | Correct the body.
body_too_deep | Body too deep | The JSON is nested deeper than 20 levels. | Send a flatter body.
body_too_large | Body too large | The body or one of its files is larger than allowed: JSON 100 KB, a file 64 KB, a channel notice 256 KB. | Send less.
certificate_exists | Certificate here already | The same certificate or key was uploaded before; \`id\` names it. | Use the one that is there.
certificate_pair_mismatch | Not a pair | The certificate and the private key that would be used together do not belong together. | Upload the other half first; both become the default together.
certificate_unusable | Certificate unusable | With this certificate the configuration of the channel would not work. | Correct what the message names first.
changed_meanwhile | Changed meanwhile | Somebody else changed the same thing at the same moment; nothing of this request was kept. | Read it again and repeat the change. | again
channel_answer_unusable | Channel answer unusable | The channel answered, but the answer is not genuine or not about this order. | Query the order; it is kept and checked. | again
channel_disabled | Channel disabled | The channel is switched off for this project; existing orders go on. | Use another payWay or have the channel enabled.
channel_not_configured | Channel not configured | The project has no usable configuration of this channel. | Have the configuration completed; its test says what is missing.
channel_outcome_unknown | Outcome unknown | The channel gave no usable answer in time; it may have acted. | Query the order, or repeat the request with the same Idempotency-Key or merchant number. | again
channel_refused | Channel refused | The channel refused the request; \`channel\` has its code and words. | Correct what the channel names.
code_taken | Code taken | Something of this kind has this code already. | Choose another code, or change what is there.
coin_disabled | Coin disabled | The coin is switched off and cannot be spent. | Have the coin enabled.
coins_insufficient | Not enough coins | The account has fewer available coins than asked for; nothing was taken. | Take less; \`available\` says how many there are.
coins_spent | Coins spent | The coins that came with the order are spent, so it cannot be refunded in full. | Refund less, or change the claw-back rule of the coin.
configuration_broken | Configuration cannot be opened | The stored secrets of this channel configuration do not open with any master key. | Check Security.MasterKey, or write the secrets of the configuration again.
csrf_failed | Not from the console | A cookie session was used without the matching X-CSRF-Token, from another site, or with a doubled cookie. | Send the value of the csrf_token cookie as X-CSRF-Token, or use a Bearer token.
database_busy | Database busy | The row that is needed is locked or the database took too long; nothing was changed. | Wait for Retry-After and send the same request again. | again
database_unavailable | Database unavailable | The database cannot be reached; nothing was changed. | Wait for Retry-After and send the same request again. | again
debug_beside_live | Debug beside live money | Debug is on, but the database has a live channel configuration or live orders. | Set Debug = false, or use another database.
debug_refuses_live | No live configuration beside Debug | While Debug is on there are test applications with published secrets, so no live configuration is taken. | Turn Debug off.
exception_resolved | Exception resolved | The exception was resolved before. | Look at the order's timeline.
forbidden | Forbidden | The caller is known and may not do this. | Use a caller that may.
fulfilment_failed_refund_pending | Work failed, money on its way back | The paid work failed for good; the refund is open and the service goes on with it. | Ask again after Retry-After, or query the order. | again
fulfilment_in_progress | Work in progress | The paid work of a pay-per-call order is being done at this moment. | Wait for Retry-After and send the same request again. | again
fulfilment_unavailable | Work not possible yet | The paid work could not be done for now; the order stays paid. | Wait for Retry-After and send the same request again; it costs nothing. | again
idempotency_conflict | Key used for something else | The Idempotency-Key stands for a request with another body. | Use a new key for a new request.
idempotency_in_progress | Key in progress | A request with this Idempotency-Key is being worked on. | Wait for Retry-After and send the same request again. | again
in_use | In use | Something refers to it, so it cannot be deleted. | Disable it, or delete what refers to it first.
insufficient_scope | Insufficient scope | The token lacks the scope of this operation. | Ask an administrator for the scope named in WWW-Authenticate, then get a new token.
internal_error | Internal error | Something failed that should not; the log has the details under the requestId. | Ask for the order or refund before you send the request again.
invalid_client | Client unknown or secret wrong | The application does not exist, is disabled, or its secret is wrong. | Check client_id and client_secret.
invalid_request | Invalid request | A member of the path, query, headers or body breaks its rule; \`errors\` says which. | Correct what \`errors\` names.
invalid_scope | Scope not granted | The application does not have a scope that was asked for. | Leave scope out, or ask an administrator for it.
ip_not_allowed | Address not allowed | The request comes from an address that is not on the list. | Call from an allowed address or have the list changed.
last_admin | Last administrator | It is the last enabled administrator. | Create or enable another one first.
login_busy | Too many logins at once | More logins are being checked than this instance takes at a time. | Wait for Retry-After and send the same request again. | again
login_failed | Login failed | The user name or the password is wrong, or the account is disabled. | Check both; after too many attempts wait for Retry-After.
media_type_unsupported | Media type not supported | The body has a Content-Type, charset or Content-Encoding that is not taken here. | Send JSON as application/json in UTF-8, uncompressed.
merchant_number_used | Merchant number used | The merchantOrderNo or merchantRefundNo stands for another order or refund. | Use a new number, or repeat the request with the same facts.
method_not_allowed | Method not allowed | The path exists, but not for this method; \`Allow\` lists those that do. | Use one of the methods in Allow.
not_bootstrapped | No administrator yet | Nobody can log in before the first administrator is created. | Run payctl bootstrap admin (with the embedded database: stop the server before, start it afterwards).
not_found | Not found | There is no such thing, or it belongs to somebody else. | Check the path and the identifier.
not_on_sale | Not on sale | The product is disabled or outside its time of sale. | Offer another product.
order_already_paid | Order paid | The order is paid. | Refund it instead.
order_closed | Order closed | The pay-per-call order was closed on purpose. | Call the resource without X-Out-Trade-No for a new offer.
order_not_paid | Order not paid | There is nothing to give back yet. | Query the order first.
order_refunded | Order refunded | All the money went back, so the content is no longer given. | Call the resource without X-Out-Trade-No for a new offer.
out_of_stock | Out of stock | Nothing of the product is left. | Offer another product, or have the stock raised.
password_weak | Password weak | The password is shorter than 12 characters or among the common ones. | Choose a longer one.
password_wrong | Password wrong | The current password is not right. | Send the current password.
payment_expired | Offer ended | The pay-per-call offer ended without a payment. | Call the resource without X-Out-Trade-No for a new offer.
payment_required | Payment required | The resource costs money; \`data\` and the headers say how to pay. | Pay, then repeat the request with X-Out-Trade-No. | again
price_mismatch | Price mismatch | The amount is not the price of the product. | Leave the amount out, or send the price.
project_disabled | Project disabled | The project is switched off; existing orders go on. | Have the project enabled.
project_unknown | Project unknown | There is no such project. | Use the code of an existing project.
proof_invalid | Proof invalid | PAYMENT-SIGNATURE is malformed, or disagrees with the offer or with X-Out-Trade-No. | Send the proof as the x402 client made it for this order.
rate_limited | Too many requests | A limit is used up. | Wait for Retry-After. | again
refund_after_fulfilment | Not refunded after use | The product is not refunded once its content was given. | Ask the operator.
refund_exceeds_refundable | More than refundable | The amount is more than what is left of the payment. | Refund at most refundableAmount.
refund_in_progress | Refund in progress | An equal refund of this order is on its way and its outcome is not known yet. | Query it; to refund twice on purpose send a merchantRefundNo or an Idempotency-Key. | again
refund_limit_reached | Too many refunds | The channel takes no more refunds of this order. | Refund outside the channel.
refund_not_abnormal | Refund not abnormal | The refund does not wait for a decision. | Look at the refund first.
refund_not_released | Refund not released | The channel still knows the refund, so its amount cannot be released. | Sync the refund and look again.
refund_not_retryable | Refund not retryable | Only a failed or abnormal refund can be tried again. | Look at the refund first.
refund_window_over | Too late to refund | The channel no longer refunds an order of this age. | Refund outside the channel.
refunds_blocked | Refunds blocked | An open exception of the order must be resolved first. | Have an administrator resolve the exception.
resource_mismatch | Other resource or input | The pay-per-call order was made for another resource or input. | Send the same body as at first, or none.
resource_required | Resource needed | The project has no skill or more than one, so the resource must be named. | Send \`resource\`; GET /api/v2/skillpay/resources lists them.
role_insufficient | Role insufficient | A viewer may look but not change. | Ask an administrator with the role admin.
seals_left | Records left under an old key | Some sealed records do not open with any master key and could not be re-wrapped. | Add the key that sealed them to Security.MasterKey, or write those secrets again.
too_many_offers | Too many unpaid offers | As many offers of the application as allowed wait for their payers. | Pay or let expire what is open. | again
unauthenticated | Unauthenticated | The credential is missing, malformed, expired or revoked. | Get a new token and send it as Authorization: Bearer.
unauthorized_client | Application disabled | The application may not get tokens. | Have the application enabled.
unsupported_grant_type | Grant not supported | Only client_credentials is supported. | Send grant_type=client_credentials.
user_blocked | User blocked | The payer is blocked and cannot pay; refunds go on. | Have the payer unblocked.
user_limit_reached | Limit per user reached | The payer has bought as many of the product as one may. | Offer another product.
username_taken | User name taken | Another administrator has this user name. | Choose another one.
webhook_not_configured | Nowhere to send | The application has no enabled webhook, and the order has no notifyUrl of its own. | Set the webhook of the application first.
`;

/** Every code that an answer may carry; an operation that refuses with a new one adds its line above. */
export const errorCodes: Readonly<Record<string, ErrorCode>> = Object.fromEntries(
  table
    .trim()
    .split('\n')
    .map((line) => {
      const [code = '', title = '', meaning = '', remedy = '', again] = line.split(' | ');
      return [code, { title, meaning, remedy, retryable: again === 'again' }];
    }),
);
