/** Refusals of projects, payers, products and coins. */
export const catalogCodes = {
  biz_no_used: {
    title: 'bizNo already used',
    meaning: 'The application has already used the bizNo for a debit of another amount.',
    remedy: 'Use a new bizNo, or repeat the debit with the same amount.',
  },
  coin_disabled: {
    title: 'Coin disabled',
    meaning: 'The coin is disabled and cannot be spent.',
    remedy: 'Enable the coin.',
  },
  coins_insufficient: {
    title: 'Not enough coins',
    meaning: 'The account has fewer available coins than requested; nothing was debited.',
    remedy: 'Debit at most `available` coins.',
  },
  coins_spent: {
    title: 'Coins already spent',
    meaning: 'The coins credited with the order have been spent, so it cannot be refunded in full.',
    remedy: 'Refund less, or change the clawback rule of the coin.',
  },
  not_on_sale: {
    title: 'Not on sale',
    meaning: 'The product is disabled or outside its sale window.',
    remedy: 'Choose another product.',
  },
  out_of_stock: {
    title: 'Out of stock',
    meaning: 'The product is out of stock.',
    remedy: 'Choose another product, or increase the stock.',
  },
  price_mismatch: {
    title: 'Price mismatch',
    meaning: 'The amount differs from the price of the product.',
    remedy: 'Omit the amount, or send the price.',
  },
  project_disabled: {
    title: 'Project disabled',
    meaning: 'The project is disabled; existing orders are still processed.',
    remedy: 'Enable the project.',
  },
  project_unknown: {
    title: 'Project unknown',
    meaning: 'The project does not exist.',
    remedy: 'Use the code of an existing project.',
  },
  user_blocked: {
    title: 'User blocked',
    meaning: 'The user is blocked and cannot pay; refunds are still possible.',
    remedy: 'Unblock the user.',
  },
  user_limit_reached: {
    title: 'Purchase limit reached',
    meaning: 'The user has reached the purchase limit of the product.',
    remedy: 'Choose another product.',
  },
} as const;
