import { listOf, type Row, type Seen } from './list.ts';

const adminRow: Row = {
  id: '01935a02-11c7-7d3e-a8b4-6c2f90e1d75a',
  username: 'bob',
  role: 'viewer',
  projects: null,
  secondFactor: false,
  enabled: true,
  createdAt: '2026-11-20T10:00:00.000Z',
  lastLoginAt: null,
};
const sessionRow: Row = {
  id: '3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44',
  current: true,
  secondFactor: true,
  ip: '192.0.2.7',
  userAgent: 'payctl (node 24.21.0)',
  createdAt: '2026-11-21T06:00:00.000Z',
  lastUsedAt: '2026-11-21T06:04:00.000Z',
  expiresAt: '2026-11-22T06:00:00.000Z',
};

/** The secret of the fake authenticator. */
export const TOTP_SECRET = '6BI5AKOPL4EUFKR5HPTB4G5OG3SYI2SY';
/** Recovery codes of the fake service. */
export const RECOVERY_CODES = ['3k7dqm-2xp9fw-c3hrtv-8ynbkq', 'h4z0ab-9qm3tn-xv72ce-5wdgjk'];

/** The session that the fake service returns for a confirmation. */
export const confirmedSession: Row = {
  confirmedUntil: '2026-11-21T06:10:00.000Z',
  token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJuZXcifQ.c2lnbmF0dXJl',
  tokenType: 'Bearer',
  expiresIn: 86_400,
};

const enrolment: Row = {
  secret: TOTP_SECRET,
  uri: `otpauth://totp/pay.example.com:alice?issuer=pay.example.com&secret=${TOTP_SECRET}`,
  expiresAt: '2026-11-21T06:15:00.000Z',
};

/** Responses for logins, accounts, sessions and second factors. */
export const identitySamples: [RegExp, (request: Seen) => unknown, boolean?][] = [
  [
    /^\/api\/v1\/login$/,
    ({ body }) => ({
      data: {
        token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl',
        tokenType: 'Bearer',
        expiresIn: 86_400,
        username: (body as Row)['username'],
        role: 'admin',
        secondFactor: (body as Row)['code'] === undefined ? 'none' : 'used',
      },
    }),
  ],
  [/^\/api\/v1\/logout$/, () => ({ data: {} })],
  [/^\/api\/v1\/me\/confirm$/, () => ({ data: confirmedSession })],
  [/^\/api\/v1\/me\/sessions$/, () => listOf(sessionRow)],
  [/^\/api\/v1\/me\/sessions\//, () => ({ data: {} })],
  [
    /^\/api\/v1\/me\/second-factor$/,
    () => ({ data: { enabled: true, enabledAt: null, recoveryCodesLeft: 9, required: false } }),
  ],
  [/^\/api\/v1\/me\/second-factor\/start$/, () => ({ data: enrolment }), true],
  [/^\/api\/v1\/me\/second-factor\/(confirm|recovery-codes)$/, () => ({ data: { recoveryCodes: RECOVERY_CODES } })],
  [/^\/api\/v1\/me\/second-factor\/remove$/, () => ({ data: {} })],
  [
    /^\/api\/v1\/me$/,
    () => ({ data: { id: 'adm_0', username: 'alice', role: 'admin', projects: null, secondFactor: 'none' } }),
  ],
  [
    /^\/api\/v1\/admins$/,
    ({ method, body }) =>
      method === 'POST' ? { data: { ...adminRow, username: (body as Row)['username'] } } : listOf(adminRow),
    true,
  ],
  [/^\/api\/v1\/admins\/[^/]+\/sessions$/, () => listOf({ ...sessionRow, current: false })],
  [/^\/api\/v1\/admins\//, () => ({ data: adminRow })],
];
