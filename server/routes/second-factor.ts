import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { SecondFactors } from '../identity/second-factors.ts';
import type { Sessions } from '../identity/sessions.ts';
import {
  CONFIRM_SECOND_FACTOR_ERRORS,
  REMOVE_SECOND_FACTOR_ERRORS,
  RENEW_RECOVERY_CODES_ERRORS,
  START_SECOND_FACTOR_ERRORS,
} from './schemas/errors.ts';
import { Timestamp } from './schemas/fields.ts';
import { CodeText, PasswordText, actorOf } from './schemas/identity.ts';

const State = z
  .object({
    enabled: z.boolean(),
    enabledAt: Timestamp.nullable(),
    recoveryCodesLeft: z.int(),
    required: z.boolean().describe('Whether every administrator of the service must have a second factor.'),
  })
  .meta({ id: 'SecondFactor' });

const Enrolment = z
  .object({
    secret: z.string().describe('Secret for the authenticator app, in base32; returned only once.'),
    uri: z.string().describe('The same secret as an `otpauth://` URI, to be shown as a QR code.'),
    expiresAt: Timestamp.describe('Deadline for the confirmation with the first code, RFC 3339 UTC.'),
  })
  .meta({ id: 'SecondFactorEnrolment' });

const FirstCode = z.object({ code: CodeText }).meta({ id: 'SecondFactorFirstCode' });

const RecoveryCodes = z
  .object({
    recoveryCodes: z
      .array(z.string())
      .describe('Recovery codes. Each can be used once instead of a code. They are returned only once.'),
  })
  .meta({ id: 'RecoveryCodes' });

const PresentCode = z
  .object({
    code: CodeText.optional().describe('Required if the account already has a second factor; may be a recovery code.'),
  })
  .optional()
  .meta({ id: 'SecondFactorPresentCode' });

const Removal = z.object({ password: PasswordText, code: CodeText }).meta({ id: 'SecondFactorRemoval' });

/** Administrators who must still enrol a second factor may also manage their own account. */
const OWN = { admin: 'viewer', projectScope: 'own', enrolling: true } as const;
const OWN_CONFIRMED = { ...OWN, confirmed: 'always' } as const;

interface SecondFactorOperations {
  secondFactors: SecondFactors;
  sessions: Pick<Sessions, 'removeSecondFactor'>;
  required: boolean;
}

/** The second factor of the calling administrator: one-time codes of an authenticator app (RFC 6238). */
export function secondFactorRoutes({ secondFactors, sessions, required }: SecondFactorOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/me/second-factor:
   *   get:
   *     tags: [Session]
   *     operationId: getSecondFactor
   *     summary: Get your own second factor
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data: { enabled: true, enabledAt: '2030-01-31T08:00:00.000Z', recoveryCodesLeft: 9, required: false }
   */
  router.get(
    '/api/v1/me/second-factor',
    endpoint({ auth: OWN, returns: State }, async ({ caller }) => {
      const { enabledAt, ...state } = await secondFactors.state(caller.id);
      return { ...state, enabledAt: enabledAt?.toISOString() ?? null, required };
    }),
  );

  /**
   * @openapi
   * /api/v1/me/second-factor/start:
   *   post:
   *     tags: [Session]
   *     operationId: startSecondFactor
   *     summary: Start to enrol a second factor
   *     description: >-
   *       Creates a secret for an authenticator app. The secret takes effect when `POST /api/v1/me/second-factor/confirm` receives its
   *       first code within ten minutes. Until then, an existing second factor stays valid. Replacing a second factor requires one of
   *       its codes or a recovery code. A wrong code counts as a failed login.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: '492039' }
   *     responses:
   *       201:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 secret: 6BI5AKOPL4EUFKR5HPTB4G5OG3SYI2SY
   *                 uri: otpauth://totp/pay.shop.example:alice?issuer=pay.shop.example&secret=6BI5AKOPL4EUFKR5HPTB4G5OG3SYI2SY
   *                 expiresAt: '2030-01-31T08:10:00.000Z'
   */
  router.post(
    '/api/v1/me/second-factor/start',
    endpoint(
      { auth: OWN_CONFIRMED, body: PresentCode, returns: Enrolment, status: 201, errors: START_SECOND_FACTOR_ERRORS },
      async ({ body, caller, request }) => {
        const { expiresAt, ...secret } = await secondFactors.start(caller, actorOf(caller, request), body?.code);
        return { ...secret, expiresAt: expiresAt.toISOString() };
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/me/second-factor/confirm:
   *   post:
   *     tags: [Session]
   *     operationId: confirmSecondFactor
   *     summary: Confirm the second factor with its first code
   *     description: >-
   *       From now on, a login and a password confirmation need a code. All other sessions of the account end. The recovery codes in the
   *       response are not shown again.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: '492039' }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { recoveryCodes: [3k7dqm-2xp9fw-c3hrtv-8ynbkq] } }
   */
  router.post(
    '/api/v1/me/second-factor/confirm',
    endpoint(
      { auth: OWN, body: FirstCode, returns: RecoveryCodes, errors: CONFIRM_SECOND_FACTOR_ERRORS },
      async ({ body, caller, request }) => ({
        recoveryCodes: await secondFactors.confirm(caller, actorOf(caller, request), body.code),
      }),
    ),
  );

  /**
   * @openapi
   * /api/v1/me/second-factor/recovery-codes:
   *   post:
   *     tags: [Session]
   *     operationId: replaceRecoveryCodes
   *     summary: Replace the recovery codes
   *     description: >-
   *       Requires a code. The earlier recovery codes no longer work. The new ones are not shown again. A wrong code counts as a failed
   *       login.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: '492039' }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { recoveryCodes: [3k7dqm-2xp9fw-c3hrtv-8ynbkq] } }
   */
  router.post(
    '/api/v1/me/second-factor/recovery-codes',
    endpoint(
      { auth: OWN_CONFIRMED, body: PresentCode, returns: RecoveryCodes, errors: RENEW_RECOVERY_CODES_ERRORS },
      async ({ body, caller, request }) => ({
        recoveryCodes: await secondFactors.renewCodes(caller, actorOf(caller, request), body?.code),
      }),
    ),
  );

  /**
   * @openapi
   * /api/v1/me/second-factor/remove:
   *   post:
   *     tags: [Session]
   *     operationId: removeSecondFactor
   *     summary: Remove your own second factor
   *     description: Requires the password and a code, which may be a recovery code. A wrong password or code counts as a failed login.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { password: correct-battery-7-staple, code: '492039' }
   */
  router.post(
    '/api/v1/me/second-factor/remove',
    endpoint(
      { auth: OWN, body: Removal, status: 204, errors: REMOVE_SECOND_FACTOR_ERRORS },
      ({ body, caller, request }) => sessions.removeSecondFactor(caller, actorOf(caller, request), body),
    ),
  );
  return router;
}
