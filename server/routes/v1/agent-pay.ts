import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import type { AgentPaySettings } from '../../skillpay/agent-settings.ts';
import { actingIn } from '../wire/audience.ts';
import { ModeName } from '../wire/credentials.ts';
import { WRITE_AGENT_PAY_ERRORS } from '../wire/errors.ts';
import { Code, Id, Timestamp } from '../wire/fields.ts';
import { InProject } from '../wire/projects.ts';

const Skills = z
  .record(Code, z.object({ id: z.string().min(1).max(128), version: z.string().min(1).max(32) }))
  .describe('By product code, the skill as SkillHub knows it.');

const Change = z
  .object({
    developerId: Id.optional().describe('Developer at SkillHub, `sh-…`.'),
    keyId: Id.optional().describe('Id of the public key at SkillHub, `PUB_KEY_…`.'),
    privateKey: z.string().max(16_384).optional().describe('RSA private key, PEM; stored encrypted and never shown.'),
    skills: Skills.optional(),
  })
  .meta({ id: 'AgentPayChange' });

const Settings = z
  .object({
    project: Code,
    mode: ModeName,
    developerId: z.string(),
    keyId: z.string(),
    fingerprint: z.string().describe('SHA-256 of the public key.'),
    skills: Skills,
    lastSuccessAt: Timestamp.nullable(),
    lastFailureAt: Timestamp.nullable(),
    lastFailure: z.string().nullable(),
    updatedBy: z.string(),
    updatedAt: Timestamp,
  })
  .meta({ id: 'AgentPay' });

const Tested = z.object({ ok: z.boolean(), message: z.string() }).meta({ id: 'AgentPayTest' });

/** WeChat agent pay of a project, for administrators. */
export function agentPayRoutes(settings: AgentPaySettings): RouteGroup {
  const router = routeGroup('/api/v1/skillpay/agent-pay');

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   get:
   *     tags: [WeChat agent pay]
   *     operationId: getAgentPay
   *     summary: Get the WeChat agent pay configuration
   *     description: Who asks WeChat for payment codes, and what became of it last. The private key is never returned.
   */
  router.get(
    '/',
    endpoint({ auth: { admin: 'viewer', reach: 'query' }, query: InProject, returns: Settings }, ({ query }) =>
      settings.show(query.project),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   put:
   *     tags: [WeChat agent pay]
   *     operationId: setAgentPay
   *     summary: Set the WeChat agent pay configuration
   *     description: >
   *       From then on the 402 of the named skills carries `WeixinPay-Required` if the order is paid with WeChat Pay. Omitted fields keep their
   *       values; the first time all but `skills` are required. In Debug, and in staging with a simulator, payment codes come from the simulator.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { developerId: sh-1A2B3C4D, keyId: PUB_KEY_408B07E79B8269FEC3D5D3E6AB8ED163, skills: { weather: { id: weather-report, version: 1.0.0 } } }
   */
  router.put(
    '/',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'query', confirmed: 'where-live' },
        query: InProject,
        body: Change,
        returns: Settings,
        errors: WRITE_AGENT_PAY_ERRORS,
      },
      (input) => settings.set(actingIn(input), input.body),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   delete:
   *     tags: [WeChat agent pay]
   *     operationId: removeAgentPay
   *     summary: Remove the WeChat agent pay configuration
   *     description: No more payment codes are requested; those that were given still pay.
   */
  router.delete(
    '/',
    endpoint(
      { auth: { admin: 'admin', reach: 'query', confirmed: 'where-live' }, query: InProject, returns: Settings },
      (input) => settings.remove(actingIn(input)),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay/test:
   *   post:
   *     tags: [WeChat agent pay]
   *     operationId: testAgentPay
   *     summary: Test the WeChat agent pay configuration
   *     description: >
   *       Requests a payment code for something that is no order, so nobody can pay by it. WeChat refuses; `ok` says whether that is all it refuses.
   */
  router.post(
    '/test',
    endpoint({ auth: { admin: 'admin', reach: 'query' }, query: InProject, returns: Tested }, ({ query }) =>
      settings.test(query.project),
    ),
  );
  return router;
}
