import type { View } from '../../values.ts';

/** Where the own second factor is. */
export const SECOND_FACTOR = '/api/v1/me/second-factor';

/** What is shown when there are new recovery codes, beside these. */
export const CODES_VIEW: View = {
  noun: 'second-factor',
  id: 'enabled',
  columns: [{ field: 'enabled', kind: 'yesno' }],
};

/** How it is shown. */
export const VIEW: View = {
  noun: 'second-factor',
  id: 'enabled',
  columns: [
    { field: 'enabled', kind: 'yesno' },
    { field: 'enabledAt', kind: 'time' },
    { field: 'recoveryCodesLeft' },
    { field: 'required', kind: 'yesno' },
  ],
};
