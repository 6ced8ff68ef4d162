import { Conflict, type FieldError, InvalidRequest, NotAllowed } from '../errors.ts';

/** The project is disabled or does not exist, so no new orders are accepted (422). */
export class ProjectDisabled extends NotAllowed {
  constructor() {
    super('project_disabled', 'The project is disabled.');
  }
}

/** The payer is blocked (422). */
export class UserBlocked extends NotAllowed {
  constructor() {
    super('user_blocked', 'The user is blocked.');
  }
}

/** The product cannot be bought now, or not with the requested channel (422). */
export class NotOnSale extends NotAllowed {
  constructor(why: string) {
    super('not_on_sale', why);
  }
}

/** The requested amount or currency differs from the price of the product (422). */
export class PriceMismatch extends NotAllowed {
  constructor(price: number, currency: string) {
    super('price_mismatch', `The price is ${price} ${currency}.`, {
      hint: 'Omit the amount, or send the current price of the product and its currency.',
      extra: { price, currency },
    });
  }
}

/** The stock of the product is used up (422). */
export class OutOfStock extends NotAllowed {
  constructor() {
    super('out_of_stock', 'The product is out of stock.');
  }
}

/** The payer has already bought the product as often as its purchase limit allows (422). */
export class UserLimitReached extends NotAllowed {
  constructor(limit: number) {
    super('user_limit_reached', `A user may buy at most ${limit} of this product.`);
  }
}

/** The refund must take back coins that the payer has already spent (409). */
export class CoinsSpent extends Conflict {
  constructor(due: bigint, available: bigint) {
    super('coins_spent', `The refund must claw back ${due} coins, but only ${available} are available.`, {
      hint: 'Refund a smaller amount, or change the clawback rule of the coin.',
    });
  }
}

/** The account has fewer coins than requested (409). */
export class CoinsInsufficient extends Conflict {
  constructor(available: bigint) {
    super('coins_insufficient', `Only ${available} coins are available.`, { extra: { available: Number(available) } });
  }
}

/** A disabled coin cannot be spent (422). */
export class CoinDisabled extends NotAllowed {
  constructor() {
    super('coin_disabled', 'The coin is disabled.');
  }
}

/** The bizNo was already used for a debit of another amount (409). */
export class BizNoUsed extends Conflict {
  constructor(bizNo: string) {
    super('biz_no_used', 'This bizNo was already used for a debit of another amount.', { extra: { bizNo } });
  }
}

/** The code of the new object is already in use (409). */
export class CodeTaken extends Conflict {
  constructor(what: string) {
    super('code_taken', `A ${what} with this code already exists.`);
  }
}

/** The object cannot be deleted, because other rows refer to it (409). `what` says which rows. */
export class InUse extends Conflict {
  constructor(what: string) {
    super('in_use', what, { hint: 'Disable the object instead of deleting it.' });
  }
}

/** Creates a 400 error for one invalid field. */
export function invalid(pointer: string, code: string, detail: string): InvalidRequest {
  return faults([{ pointer, code, detail }]);
}

/** Creates a 400 error that lists several invalid fields. */
export function faults(errors: FieldError[]): InvalidRequest {
  return new InvalidRequest(errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' '), errors);
}
