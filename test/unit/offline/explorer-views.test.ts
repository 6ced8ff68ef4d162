import test from 'ava';
import { merchantScopes, scopes } from '../../../server/domain.ts';
import { mergeDocument, readWords } from '../../../server/http/openapi/document.ts';
import type { Json } from '../../../server/http/openapi/schemas.ts';
import { documentOfView } from '../../../server/offline/explorer-files.ts';
import { EXPLORER_VIEWS } from '../../../server/offline/explorer-page.ts';
import { allRoutes } from '../../support/routes.ts';

type Described = Json & {
  paths: Record<string, Record<string, { tags: string[]; security: Json[] }>>;
  tags: { name: string }[];
  components: Record<string, Json>;
};

const whole = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' }) as Described;
const [merchant, console] = EXPLORER_VIEWS.map((view) => documentOfView(whole, view) as Described) as [
  Described,
  Described,
];

test('every operation is in one view: administrator operations in the console, the rest with merchants', (t) => {
  const paths = (view: Described) => Object.keys(view.paths);
  t.deepEqual([...paths(merchant), ...paths(console)].toSorted(), paths(whole).toSorted());
  t.deepEqual(
    paths(console)
      .filter((path) => !path.startsWith('/api/v1/'))
      .toSorted(),
    ['/health', '/health/db', '/notify/{payWay}/{project}'],
  );
  const others = paths(merchant).filter((path) => !/^\/(api\/v2|oauth|\.well-known|pay|return|swagger)\//.test(path));
  t.deepEqual(others, ['/openapi.json']);
});

test('a view has exactly the groups and components of its operations', (t) => {
  for (const view of [merchant, console]) {
    const groups = Object.values(view.paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags));
    t.deepEqual(
      view.tags,
      whole.tags.filter(({ name }) => groups.includes(name)),
    );
    const text = JSON.stringify(view);
    const references = [...text.matchAll(/"#\/components\/([\w/.-]+)"/g)].map(([, name = '']) => name);
    const components = Object.entries(view.components).flatMap(([kind, named]) =>
      kind === 'securitySchemes' ? [] : Object.keys(named).map((name) => `${kind}/${name}`),
    );
    t.deepEqual(components.toSorted(), [...new Set(references)].toSorted());
    t.true(components.length < Object.keys(whole.components['schemas'] ?? {}).length);
  }
  t.deepEqual(Object.keys(merchant.components['securitySchemes'] ?? {}), ['oauth2']);
});

test('the merchant view offers exactly the scopes that every application may have', (t) => {
  const scopesOf = (view: Described) => {
    const { oauth2 } = view.components['securitySchemes'] as Record<string, Json>;
    const { clientCredentials } = oauth2!['flows'] as Record<string, { scopes: object }>;
    return Object.keys(clientCredentials!.scopes).toSorted();
  };
  t.deepEqual(scopesOf(merchant), [...merchantScopes].toSorted());
  t.deepEqual(scopesOf(whole), [...scopes].toSorted(), 'the whole document names all');
});

test('the session cookie is not offered for input, because browsers send it automatically', (t) => {
  t.deepEqual(whole.paths['/api/v1/info']?.['get']?.security, [{ adminBearer: [] }, { adminCookie: [] }]);
  t.deepEqual(console.paths['/api/v1/info']?.['get']?.security, [{ adminBearer: [] }]);
  t.deepEqual(Object.keys(console.components['securitySchemes'] ?? {}), ['adminBearer']);
});

test('events appear in the merchant view with their components', (t) => {
  const event = { post: { tags: ['Events'], requestBody: { $ref: '#/components/requestBodies/Paid' } } };
  const schema = { $ref: '#/components/schemas/Told' };
  const components = {
    ...whole.components,
    schemas: { ...whole.components['schemas'], Told: { type: 'object' }, Unused: { type: 'object' } },
    requestBodies: { Paid: { content: { 'application/json': { schema } } } },
  };
  const told = { ...whole, webhooks: { 'order.paid': event }, components };
  const seen = documentOfView(told, 'merchant') as Described;
  t.deepEqual(seen['webhooks'], { 'order.paid': event });
  t.true('Told' in (seen.components['schemas'] ?? {}) && 'Paid' in (seen.components['requestBodies'] ?? {}));
  t.false('Unused' in (seen.components['schemas'] ?? {}));
  const console = documentOfView(told, 'console') as Described;
  t.false('webhooks' in console || 'requestBodies' in console.components);
});
