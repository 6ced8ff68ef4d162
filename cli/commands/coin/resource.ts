import type { Resource } from '../../resource.ts';

/** Virtual currencies. */
export const coin: Resource = {
  noun: 'coin',
  plural: 'coins',
  path: '/api/v1/coins',
  idName: 'code',
  inProject: true,
  view: {
    noun: 'coin',
    id: 'code',
    columns: [
      { field: 'code', kind: 'id' },
      { field: 'name' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'clawback', kind: 'id' },
      { field: 'project' },
      { field: 'createdAt', kind: 'time' },
    ],
  },
  createOnly: [{ name: 'code', value: 'code', help: 'letters, digits, "_" and "-"', required: true }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    {
      name: 'clawback',
      value: 'policy',
      help: 'what a refund does if the coins are already spent',
      choices: ['refuse', 'debt', 'partial'],
    },
  ],
};

/** How a balance is shown. */
export const ACCOUNT = {
  noun: 'account',
  id: 'userId',
  columns: [
    { field: 'userId', kind: 'id' },
    { field: 'balance' },
    { field: 'available' },
    { field: 'held' },
    { field: 'debt' },
  ],
} as const;

/** How a ledger entry is shown. */
export const ENTRY = {
  noun: 'entry',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'userId', kind: 'id' },
    { field: 'amount' },
    { field: 'balanceAfter', title: 'BALANCE' },
    { field: 'kind', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'memo' },
  ],
} as const;
