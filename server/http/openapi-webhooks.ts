import type { WebhookContract } from './contract.ts';
import type { Json, SchemaCollector } from './openapi-schemas.ts';
import type { Route } from './router.ts';

/** Headers of the Standard Webhooks 1.0. */
const HEADERS = [
  [
    'webhook-id',
    'ID of the event; the same in every delivery of it.',
    { type: 'string' },
    '0198c2f0-0000-7000-8000-000000000000',
  ],
  [
    'webhook-timestamp',
    'When it was signed, in seconds since 1970; refuse what is older than five minutes.',
    { type: 'string', pattern: '^[0-9]+$' },
    '1896163200',
  ],
  [
    'webhook-signature',
    'One or more of `v1,` and the base64 HMAC-SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}` with the signing secret, separated by blanks.',
    { type: 'string' },
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ],
] as const;

/** The `webhooks` of the document: one entry for each type that the contracts name. */
export function webhooksOf(routes: readonly Route[], schemas: SchemaCollector): Json {
  const named = routes.flatMap(({ contract }) => Object.entries(contract.webhooks ?? {}));
  return Object.fromEntries(named.map(([type, contract]) => [type, { post: describe(type, contract, schemas) }]));
}

function describe(type: string, { when, object }: WebhookContract, schemas: SchemaCollector): Json {
  const schema = {
    allOf: [
      { $ref: '#/components/schemas/Event' },
      {
        type: 'object',
        properties: {
          type: { type: 'string', const: type, description: 'Type of the event.' },
          data: {
            type: 'object',
            description: 'What the event is about.',
            required: ['object'],
            properties: { object: { ...schemas.schemaOf(object, 'output'), description: when } },
          },
        },
      },
    ],
  };
  return {
    operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: when,
    tags: ['Event log'],
    security: [],
    parameters: HEADERS.map(([name, description, shape, example]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: shape,
      example,
    })),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': {
        description: 'Received. After any other answer, or none within ten seconds, it is sent again for three days.',
      },
    },
  };
}
